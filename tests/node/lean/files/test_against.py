"""Cheats against a reference: each compiles in plain Lean, none is accepted, and its honest twin is.

They stand in `cheats/*.lean`.

A file is one family. A line `--! KIND NAME` begins a section, which reaches to the next one:

    --! reference        what must be proved; the sections behind it are submissions against it
    --! cheat NAME       plain Lean compiles it without error or `sorry` warning, and it must not be accepted
    --! honest NAME      its twin, the most similar submission that proves the reference: it must be accepted
    --! refused NAME     a cheat that plain Lean refuses or warns of; it must not be accepted either
    --! file MODULE      inside a section: another file of it (a section begins with `Main`, where it does not begin so)
"""

from __future__ import annotations

import json
import re
import shutil
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from node.lean.check.files.sources import SourceFile, from_text, in_order
from node.lean.check.files.verifier import FileVerifier
from node.lean.process.fresh import Limits, run_fresh
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.lean.olean.forging import compile_text

pytestmark = pytest.mark.lean

FOLDER = Path(__file__).parent / "cheats"

_MARK = re.compile(r"--! (reference|cheat|honest|refused|file) ?(\S*)\n")


@dataclass
class Submission:
    kind: str
    name: str
    files: list[SourceFile]


@dataclass
class Reference:
    """What must be proved, and what is handed in for it."""

    family: str
    files: list[SourceFile]
    submissions: list[Submission] = field(default_factory=list)


def read() -> list[Reference]:
    """All families."""
    return [reference for file in sorted(FOLDER.glob("*.lean")) for reference in parsed(file.stem, file.read_text())]


def parsed(family: str, text: str) -> list[Reference]:
    """One family."""
    parts = _MARK.split(text)[1:]
    references: list[Reference] = []
    files: list[SourceFile] = []
    for kind, name, body in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        if kind == "file":
            files.append(from_text(body, name, name))
            continue
        files = [from_text(body, "Main", "Main")] if body.strip() else []
        if kind == "reference":
            references.append(Reference(family, files))
        else:
            references[-1].submissions.append(Submission(kind, name, files))
    return references


FEWEST = 150
AT_ONCE = 2


async def plain(toolchain: LeanToolchain, files: Sequence[SourceFile], folder: Path) -> str:
    """Plain Lean's errors and `sorry` warnings on a submission."""
    folder.mkdir(parents=True)
    environment = toolchain.with_modules([folder])
    for source, problem in in_order(files):
        if problem:
            return problem
        file = folder.joinpath(*source.module.split(".")).with_suffix(".lean")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source.text)
        command = [*toolchain.command, "--json", f"--root={folder}", "-o", str(file.with_suffix(".olean")), str(file)]
        finished = await run_fresh(command, environment=environment, folder=folder, limits=Limits())
        for line in finished.output.splitlines():
            row = json.loads(line)
            if row["severity"] == "error" or "declaration uses" in row["data"]:
                return str(row["data"])
        if finished.code:
            return f"Lean ended with code {finished.code}: {finished.errors}"
    return ""


async def outcomes(reference: Reference, verifier: FileVerifier) -> list[tuple[Submission, bool, str]]:
    """For each submission against a reference: whether it is accepted, and the reason if it is not."""
    found = []
    compared = verifier.compare_many([each.files for each in reference.submissions], reference.files)
    async for problems, verdicts, _ in compared:
        reasons = [f"{each.file}: {each.problem}" for each in problems]
        reasons += [f"{each.name}: {each.reason}" for each in verdicts if each.reason]
        submission = reference.submissions[len(found)]
        found.append((submission, bool(verdicts) and not reasons, "; ".join(reasons)))
    return found


FAMILIES = read()
NAMES = sorted({reference.family for reference in FAMILIES})
SAMPLE = ("axioms", "definitions", "files", "notation")
"""Of these families the default tests check one cheat each, with its twin; the slow tests check all."""
ALWAYS = {"reference_axiom_strengthened"}
"""In the sample because its twin rests on an axiom of the reference, which is permitted."""


def test_there_are_enough_cheats_and_each_has_its_twin():
    cheats = 0
    for reference in FAMILIES:
        names = [[each.name for each in reference.submissions if each.kind == kind] for kind in ("cheat", "honest")]
        assert names[0] == names[1], f"{reference.family}: a cheat without its twin"
        cheats += len(names[0])
    assert cheats >= FEWEST


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("family", "number"),
    [*((name, 1) for name in SAMPLE), *(pytest.param(name, 1000, marks=pytest.mark.slow) for name in NAMES)],
)
async def test_no_cheat_is_accepted_and_every_honest_twin_is(family, number):
    references = [reference for reference in FAMILIES if reference.family == family]
    names = {each.name for reference in references for each in reference.submissions}
    taken = sorted(names, key=lambda name: (name not in ALWAYS, zlib.crc32(name.encode())))[:number]
    verifier = FileVerifier(await LeanToolchain.pocket().confined(), at_once=AT_ONCE, seconds=60, memory_mb=2048)
    wrong = []
    try:
        for whole in references:
            reference = replace(whole, submissions=[each for each in whole.submissions if each.name in taken])
            for submission, accepted, reason in await outcomes(reference, verifier) if reference.submissions else ():
                if accepted is not (submission.kind == "honest"):
                    what = f"{submission.kind} {submission.name}"
                    wrong.append(f"{what} is {'accepted' if accepted else f'not accepted: {reason}'}")
    finally:
        verifier.close()
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.timeout(1200)
async def test_plain_lean_lets_every_cheat_pass(tmp_path):
    toolchain = await LeanToolchain.pocket().confined()
    cheats = [each for reference in FAMILIES for each in reference.submissions if each.kind == "cheat"]
    for number, cheat in enumerate(cheats):
        assert not await plain(toolchain, cheat.files, tmp_path / str(number)), cheat.name
        shutil.rmtree(tmp_path / str(number))


async def with_library(folder: Path, **modules: str) -> LeanToolchain:
    """Pocket Lean with more modules in its library, by name and text."""
    folder.mkdir()
    for name, text in modules.items():
        await compile_text(text, folder, name)
    pocket = LeanToolchain.pocket()
    return replace(pocket, environment=pocket.with_modules([folder]))


async def compared(toolchain: LeanToolchain, reference: str, *submissions: dict[str, str]) -> list[str]:
    """Why each submission, texts by module, does not prove a reference; empty if it does."""
    handed_in = [
        Submission("", "", [from_text(text, name, name) for name, text in files.items()]) for files in submissions
    ]
    verifier = FileVerifier(toolchain, at_once=AT_ONCE, seconds=60, memory_mb=2048)
    try:
        return [reason for *_, reason in await outcomes(Reference("", [from_text(reference)], handed_in), verifier)]
    finally:
        verifier.close()


async def test_a_name_that_two_modules_of_a_library_declare_is_not_the_same(tmp_path):
    toolchain = await with_library(tmp_path / "library", A="def limit : Nat := 6\n", B="def limit : Nat := 5\n")
    of_b, of_a = "import B\ntheorem t : limit = 5 := rfl\n", "import A\ntheorem t : limit = 6 := rfl\n"
    other, honest = await compared(
        toolchain, "import A\ntheorem t : limit = 6 := sorry\n", {"Main": of_b}, {"Main": of_a}
    )
    assert "cannot be loaded together" in other and not honest


async def test_a_planted_module_is_not_judged_by_the_file_of_its_name(tmp_path):
    toolchain = await with_library(tmp_path / "library", Planted="axiom magic : 1 = 2\n")
    main = "import Planted\ntheorem t : 1 = 2 := magic\n"
    looks_honest = {"Main": main, "Planted": "def unused := 1\ntheorem magic : 1 = 1 := rfl\n"}
    (told,) = await compared(toolchain, "theorem t : 1 = 2 := sorry\n", looks_honest)
    assert "rename the file" in told


async def test_a_reference_that_states_nothing_or_has_an_error_proves_nothing():
    submission = {"Main": "theorem t : 1 = 1 := rfl\n"}
    hidden = "theorem t : 1 = 1 := sorry\nnamespace A\ntheorem t : 1 = Nowhere.limit := sorry\nend A\n"
    for reference, told in (("def one := 1\n", "states no theorem"), (hidden, "has an error in line 3")):
        assert told in (await compared(LeanToolchain.pocket(), reference, submission))[0]


async def test_a_file_may_have_another_name_and_private_names_but_no_other_definition_and_no_error():
    reference = "private def limit : Nat := 5\ntheorem t : limit = 2 + 3 := sorry\n"
    proved = reference.replace("sorry", "rfl")
    texts = (proved, proved.replace("Nat := 5", "Nat := 4 + 1"), proved.replace("2 + 3", "Nowhere.limit"))
    right, changed, refused = await compared(LeanToolchain.pocket(), reference, *({"Other": text} for text in texts))
    assert not right and "definition of limit differs" in changed and "Nowhere.limit" in refused


async def test_two_files_of_one_module_are_a_problem():
    files = [from_text("theorem t : 1 = 1 := rfl\n", "a/Main.lean"), from_text("axiom t : 1 = 1\n", "b/Main.lean")]
    assert [problem for _, problem in in_order(files)] == ["a/Main.lean is the same module: Main", ""]
