"""The forging tool writes what Lean writes: files go through it unchanged, and Lean imports those made with it."""

import asyncio
from pathlib import Path

import pytest

from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.lean.olean import writer
from tests.node.lean.olean.forging import SOURCE, compile_text
from tests.node.lean.olean.writer import Forged, Maker

pytestmark = pytest.mark.lean

LIBRARY_FILES = 6


@pytest.fixture(scope="module")
def olean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return asyncio.run(compile_text(SOURCE, tmp_path_factory.mktemp("writer")))


def library_files() -> list[Path]:
    """Small files of pocket Lean's library."""
    files = Path(LeanToolchain.pocket().environment["LEAN_PATH"]).rglob("*.olean")
    return sorted(files, key=lambda file: file.stat().st_size)[:LIBRARY_FILES]


def test_a_file_is_decoded_and_encoded_to_the_same_bytes(olean: Path) -> None:
    for file in (olean, *library_files()):
        content = file.read_bytes()
        assert Forged.decode(content).encode() == content, file.name


def test_all_hashes_and_summaries_are_computed_as_lean_computes_them(olean: Path) -> None:
    for file in (olean, *library_files()):
        forged = Forged.decode(file.read_bytes())
        assert sum(1 for _ in forged.terms()) > 10
        forged.repair()
        assert forged.encode() == file.read_bytes(), file.name


async def test_lean_imports_a_file_made_from_nothing(olean: Path, tmp_path: Path) -> None:
    make = Maker()
    one, two, seven = (f"(OfNat.ofNat.{{0}} Nat {number} (instOfNatNat {number}))" for number in (1, 2, 7))
    constants = [
        make.theorem("seven", f"Eq.{{1}} Nat {seven} {seven}", f"Eq.refl.{{1}} Nat {seven}"),
        make.theorem("identity", "∀ p : Prop, ∀ h : p, p", "λ p : Prop, λ h : p, h"),
        make.definition("nine", "Nat", "9"),
        make.axiom("wrong", f"Eq.{{1}} Nat {one} {two}"),
    ]
    made = writer.module(olean.read_bytes()[: writer.HEADER_BYTES], ["Init"], constants, make)
    (tmp_path / "Made.olean").write_bytes(made.encode())
    text = (
        "import Made\ntheorem a : 7 = 7 := seven\ntheorem b (p : Prop) (h : p) : p := identity p h\n"
        "theorem c : nine = 9 := rfl\ntheorem d : 1 = 2 := wrong\n"
    )
    await compile_text(text, tmp_path, "B")
