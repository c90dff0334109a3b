"""A project whose build or download was interrupted: what is wrong and what to do, and nothing of it is kept."""

import asyncio
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from node.command.cli import main
from node.lean.toolchain.advice import damaged_module
from tests.commands import Run
from tests.files import truncate
from tests.node.lean.olean.forging import compile_text

pytestmark = pytest.mark.lean

LIBRARY = "theorem three (n : Nat) (h : n < 3) : n = 0 ∨ n = 1 ∨ n = 2 := by omega\n"
USING = "import Using\ntheorem t (n : Nat) (h : n < 3) : n = 0 ∨ n = 1 ∨ n = 2 := three n h\n"

DAMAGE: dict[str, tuple[Callable[[Path], None], str, Sequence[str]]] = {
    "missing": (Path.unlink, "Library", ("verify", "serve")),
    "cut off": (truncate, "is damaged", ("verify", "prove", "serve", "eval")),
    "empty": (lambda olean: truncate(olean, 0), "the file is damaged", ("verify", "prove")),
}
"""By kind: the damage, what is said of it, and the commands that are tried. At a file that is cut off Lean crashes; the
others it refuses."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of two compiled modules, one of which imports the other."""
    folder = tmp_path_factory.mktemp("built")
    for name, text in (("Library", LIBRARY), ("Using", "import Library\n")):
        asyncio.run(compile_text(text, folder, name))
    return folder


@pytest.mark.parametrize("kind", DAMAGE)
def test_every_command_says_what_is_wrong_and_goes_on_once_it_is_mended(
    kind: str, built: Path, tmp_path: Path, called: Run
) -> None:
    damage, said, tried = DAMAGE[kind]
    modules, statements, file = tmp_path / "modules", tmp_path / "statements.jsonl", tmp_path / "File.lean"
    shutil.copytree(built, modules)
    damage(modules / "Library.olean")
    statements.write_text('{"name": "t", "statement": "theorem t (p : Prop) (h : p) : p"}\n')
    file.write_text(USING)
    lean = ("--lean.modules", modules, "--lean.imports", "Using")
    searching = 3 if kind == "cut off" else 2
    evaluation = ("--bench", statements, "--policy", "fixed", "--lean-attempts", 30, "--searches", 1)
    commands = {
        "verify": ((*lean, "--", file), 2),
        "prove": (("theorem t (p : Prop) (h : p) : p", "--fixed", *lean), searching),
        "serve": (("--port", 0, *lean), 2),
        "eval": ((*evaluation, "--out", tmp_path / "evaluation", *lean), searching),
    }
    for name in tried:
        arguments, code = commands[name]
        answer = called(main, name, *arguments)
        told = "".join((answer.out + answer.err).split())
        assert answer.code == code, (name, answer)
        assert said.replace(" ", "") in told and "lakebuild" in told, (name, told)

    shutil.copy(built / "Library.olean", modules)
    assert called(main, "verify", *commands["verify"][0]).code == 0
    if "eval" in tried:
        again = called(main, "eval", *commands["eval"][0])
        assert again.code == 0 and "solved 1 of 1 statement" in again.out, again


async def test_the_newest_damaged_module_is_named_and_whole_ones_are_not(built: Path, tmp_path: Path) -> None:
    assert await damaged_module([str(built)]) == ""
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    truncate(tmp_path / "Using.olean")
    assert str(tmp_path / "Using.olean") in await damaged_module([str(tmp_path), str(built)])
