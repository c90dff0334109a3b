"""Compiled modules that pocket Lean has accepted are exported and checked once more, in a process of its own; and
`verify` with it: honest files are accepted, and what it has not checked is not."""

import asyncio
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from node.lean.check.files.report import FileReport
from node.lean.check.second.__main__ import Task, with_large_stack
from node.lean.check.second.calling import SecondKernel, SecondOpinion
from node.lean.check.second.export import Library
from node.lean.check.second.special import LEAN_AXIOMS
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.background import Background, Elsewhere
from tests.node.lean.files.verified import file_verifier, files_of
from tests.node.lean.olean.forging import SOURCE, compile_text
from tests.node.lean.olean.writer import Forged, common
from tests.node.lean.verify.recorded import honest

pytestmark = pytest.mark.lean

MORE = Path(__file__).with_name("more.lean").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def olean(tmp_path_factory):
    return asyncio.run(compile_text(SOURCE + MORE, tmp_path_factory.mktemp("module")))


@pytest.fixture(scope="session")
def second_kernel(background: Background) -> Iterator[Any]:
    """A second kernel that every loop may ask, one for all tests: reading the library takes it seconds. It is not
    confined, so that it may read everything."""
    kernel = SecondKernel()
    shared: Any = Elsewhere(background, kernel)
    shared.may_read = lambda folder: None
    yield shared
    background.run(kernel.close())


@pytest.fixture
def opinion(second_kernel: Any) -> Callable[..., SecondOpinion]:
    """Asks the second kernel."""
    folder = LeanToolchain.pocket().environment["LEAN_PATH"]

    def asked(olean: Path, *names: str, seconds: float = 60) -> SecondOpinion:
        return asyncio.run(second_kernel.check(["Init"], [folder], [olean], names, seconds))

    return asked


@pytest.fixture
def export(opinion: Callable[..., SecondOpinion], second_kernel: Any, tmp_path: Path) -> Callable[..., Path]:
    """The export of constants with all that they use, as the second kernel's process wrote it."""

    def exported(olean: Path, *names: str) -> Path:
        assert not opinion(olean, *names).not_checked
        return shutil.copy(second_kernel._folder / "export.ndjson", tmp_path / "export.ndjson")

    return exported


def test_every_kind_of_declaration_is_checked_with_all_that_it_uses(olean, export):
    names = ["Nat.add_comm", "List.append_assoc", "funext", "Classical.em", "Int.mul_comm", "_private.Main.0.secret"]
    names += ["Tree", "Even", "Pair", "Rose.label", "Left", "Accessible", "hidden", "label", "parity", "swap", "size"]
    names += ["numbers", "letters", "sums", "choice", "cases", "eta", "large_eq", "two_is_even"]
    result = with_large_stack(Task(export(olean, *names)))
    assert (result["refused"], result["not_checked"]) == ({}, {})
    assert {*names, "Tree.rec_1", "Rose.rec_2", "Left.rec", "Quot.lift", "Nat.rec"} <= set(result["checked"])
    axioms = result["axioms"]
    assert axioms["choice"] == ["Classical.choice"] and axioms["parity"] == ["Quot.sound"] and axioms["eta"] == []


@pytest.mark.parametrize("sample", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_no_recursor_of_the_file_is_believed(olean, export, sample):
    """Each recursor with one field changed: its type, a rule, a number, K. The whole group is refused. The sample has
    one change of each recursor, another one each time."""
    # 1. An export with many recursors, of which nothing is refused.
    file = export(olean, "Tree", "Even", "Left", "Accessible", "Pair")
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]

    def refused() -> set[str]:
        file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return set(with_large_stack(Task(file))["refused"])

    assert refused() == set()
    # 2. Each change on its own.
    recursors = [each for line in lines for each in line.get("inductive", {}).get("recs", ())]
    assert len(recursors) >= 8
    for at, recursor in enumerate(recursors):
        other = recursors[max(at - 1, 0)]
        own = recursor["name"]
        names = [line["str"]["str"] for line in lines if "str" in line and line["in"] == own]
        changes = [
            ("type", other["type"] if at else 0),
            ("k", not recursor["k"]),
            ("numMinors", recursor["numMinors"] + 1),
        ]
        if recursor["rules"]:
            wrong = [{**rule, "rhs": recursor["type"]} for rule in recursor["rules"]]
            changes += [("rules", wrong), ("rules", recursor["rules"][1:])]
        for key, value in changes[at % len(changes) :][:1] if sample else changes:
            before, recursor[key] = recursor[key], value
            assert any(name.endswith(f".{names[0]}") for name in refused()), (names, key)
            recursor[key] = before


def test_theorems_are_checked_over_a_trusted_library(olean, opinion):
    result = opinion(olean, "sums", "numbers", "swap", "wrong")
    assert result.refused == {} and result.not_checked == {}
    assert not any(result.problem(name) for name in ("sums", "numbers", "swap"))
    assert "other axioms than Lean's own: wrong" in result.problem("wrong")
    assert "Nat.add_comm" not in result.checked


def test_a_changed_proof_is_refused(olean, opinion, tmp_path):
    """`one : 1 = 1` gets the statement of another theorem, and keeps its proof."""
    forged = Forged.decode(olean.read_bytes())
    common(forged.info("one")).fields[2] = common(forged.info("large_eq")).fields[2]
    (tmp_path / "forged.olean").write_bytes(forged.encode())
    result = opinion(tmp_path / "forged.olean", "one")
    assert "another type" in result.refused["one"] and "refuses it" in result.problem("one")


def test_what_cannot_be_looked_at_is_not_checked(olean, opinion, tmp_path):
    assert "no module declares it" in opinion(olean, "missing").not_checked["missing"]
    broken = tmp_path / "broken.olean"
    broken.write_bytes(b"olean")
    assert "swap" in opinion(broken, "swap").not_checked
    late = opinion(olean, "sums", seconds=0.0)
    assert "sums" in late.not_checked and "has not checked it" in late.problem("sums")


@pytest.mark.slow
def test_the_whole_library_is_checked(tmp_path):
    library = Library(sorted(Path(LeanToolchain.pocket().environment["LEAN_PATH"]).rglob("*.olean")))
    file = tmp_path / "library.ndjson"
    with file.open("w", encoding="utf-8") as out:
        library.export([], out)
    result = with_large_stack(Task(file))
    assert result["refused"] == {} and result["not_checked"] == {} and len(result["checked"]) > 8000
    # `sorryAx` is in the library for unfinished proofs. Nothing else uses it.
    unusual = {name for name, axioms in result["axioms"].items() if not LEAN_AXIOMS.issuperset(axioms)}
    assert unusual == {"sorryAx"}


async def verified(texts: list[str], second: SecondKernel) -> list[FileReport]:
    async with file_verifier(seconds=300, memory_mb=4096, second=second) as verifier:
        return [await verifier.verify_text(text) for text in texts]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("number", [12, pytest.param(1500, marks=pytest.mark.slow)])
async def test_proofs_of_the_bank_are_accepted_by_both_kernels(second_kernel: Any, number: int) -> None:
    reports = await verified(files_of(honest(number)).texts, second_kernel)
    assert not any(report.problem for report in reports)
    verdicts = [each for report in reports for each in report.declarations]
    assert not [(each.name, each.reason) for each in verdicts if each.reason] and len(verdicts) == number
    assert all(report.rechecked == "kernel and a second kernel" for report in reports)


async def test_what_the_second_kernel_has_not_checked_is_not_accepted() -> None:
    class Silent(SecondKernel):
        async def check(self, *_: object, **__: object) -> SecondOpinion:  # type: ignore[override]
            return SecondOpinion()

    (report,) = await verified(["theorem t : 1 = 1 := rfl\n"], Silent())
    (verdict,) = report.declarations
    assert verdict.reason == "the second kernel has not checked it: it uses what is not checked"
