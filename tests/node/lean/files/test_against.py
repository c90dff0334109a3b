"""Cheats against a reference: each compiles in plain Lean, none is accepted, and its honest twin is.

They stand in `cheats/*.lean`.

A file is one family. A line `--! KIND NAME` begins a section, which reaches to the next one:

    --! reference        what must be proved; the sections behind it are submissions against it
    --! pair NAME        a cheat and its honest twin: lines with `- ` are the cheat's, those with `+ ` the twin's, and
                         both have the others. Plain Lean compiles the cheat without error or `sorry` warning, and it
                         must not be accepted; the twin, which proves the reference, must be accepted
    --! refused NAME     a cheat that plain Lean refuses or warns of; it must not be accepted either
    --! file MODULE      inside a section: another file of it (a section begins with `Main`, where it does not begin so)
"""

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
from tests.node.lean.files.verified import Verifying, file_verifier, own_verifying
from tests.node.lean.olean.forging import compile_text

pytestmark = pytest.mark.lean

FOLDER = Path(__file__).parent / "cheats"

_SECTION = re.compile(r"^--! (reference|pair|refused) ?(\S*)\n", re.MULTILINE)
_FILE = re.compile(r"^--! file (\S+)\n", re.MULTILINE)
_SIDES = {"cheat": re.compile(r"^(\+ .*\n|- )", re.MULTILINE), "honest": re.compile(r"^(- .*\n|\+ )", re.MULTILINE)}
"""What a pair has that does not belong to its cheat or its twin: lines of the other, and the signs of its own."""


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


def files_of(text: str) -> list[SourceFile]:
    """The files of a section."""
    main, *others = _FILE.split(text)
    modules = [("Main", main)] if main else []
    return [from_text(body, name, name) for name, body in [*modules, *zip(others[::2], others[1::2], strict=True)]]


def parsed(family: str, text: str) -> list[Reference]:
    """One family."""
    references: list[Reference] = []
    _, *parts = _SECTION.split(text)
    for kind, name, body in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        if kind == "reference":
            references.append(Reference(family, files_of(body)))
            continue
        sides = {side: sign.sub("", body) for side, sign in _SIDES.items()} if kind == "pair" else {kind: body}
        references[-1].submissions += [Submission(side, name, files_of(each)) for side, each in sides.items()]
    return references


FEWEST = 150


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


FAMILIES = [reference for file in sorted(FOLDER.glob("*.lean")) for reference in parsed(file.stem, file.read_text())]
NAMES = sorted({reference.family for reference in FAMILIES})
SAMPLE = ("axioms", "files", "notation")
"""Of these families the default tests check one cheat each, with its twin; the slow tests check all."""
ALWAYS = {"reference_axiom_strengthened"}
"""In the sample because its twin rests on an axiom of the reference, which is permitted."""


def test_there_are_enough_cheats() -> None:
    kinds = [each.kind for reference in FAMILIES for each in reference.submissions]
    assert kinds.count("honest") == kinds.count("cheat") >= FEWEST


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("families", "number"),
    [(SAMPLE, 1), *(pytest.param((name,), 1000, marks=pytest.mark.slow, id=name) for name in NAMES)],
)
async def test_no_cheat_is_accepted_and_every_honest_twin_is(families: Sequence[str], number: int) -> None:
    """`number`: of cheats of each family."""
    wrong = []
    async with file_verifier(await LeanToolchain.pocket().confined()) as verifier:
        for family in families:
            references = [reference for reference in FAMILIES if reference.family == family]
            names = {each.name for reference in references for each in reference.submissions}
            taken = sorted(names, key=lambda name: (name not in ALWAYS, zlib.crc32(name.encode())))[:number]
            for whole in references:
                reference = replace(whole, submissions=[each for each in whole.submissions if each.name in taken])
                found = await outcomes(reference, verifier) if reference.submissions else ()
                for submission, accepted, reason in found:
                    if accepted is not (submission.kind == "honest"):
                        what = f"{submission.kind} {submission.name} of {family}"
                        wrong.append(f"{what} is {'accepted' if accepted else f'not accepted: {reason}'}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.timeout(1200)
async def test_plain_lean_lets_every_cheat_pass(tmp_path):
    toolchain = await LeanToolchain.pocket().confined()
    cheats = [each for reference in FAMILIES for each in reference.submissions if each.kind == "cheat"]
    for number, cheat in enumerate(cheats):
        assert not await plain(toolchain, cheat.files, tmp_path / str(number)), cheat.name
        shutil.rmtree(tmp_path / str(number))


async def compared(verifying: Verifying, reference: str, *submissions: dict[str, str]) -> list[str]:
    """Why each submission, texts by module, does not prove a reference; empty if it does."""
    handed_in = [[from_text(text, name, name) for name, text in files.items()] for files in submissions]
    return ["".join(reasons) for reasons in await verifying.compared(handed_in, [from_text(reference)])]


async def test_modules_of_a_library_are_neither_mixed_up_nor_replaced(tmp_path):
    library = {"A": "def limit : Nat := 6\n", "B": "def limit : Nat := 5\n", "Planted": "axiom magic : 1 = 2\n"}
    for name, text in library.items():
        await compile_text(text, tmp_path, name)
    pocket = LeanToolchain.pocket()
    async with own_verifying(replace(pocket, environment=pocket.with_modules([tmp_path]))) as verifying:
        # 1. A name that two of them declare is not the same.
        of_b, of_a = "import B\ntheorem t : limit = 5 := rfl\n", "import A\ntheorem t : limit = 6 := rfl\n"
        reference = "import A\ntheorem t : limit = 6 := sorry\n"
        other, honest = await compared(verifying, reference, {"Main": of_b}, {"Main": of_a})
        assert "cannot be loaded together" in other and not honest
        # 2. A planted module is not judged by the file of its name.
        main = "import Planted\ntheorem t : 1 = 2 := magic\n"
        looks_honest = {"Main": main, "Planted": "def unused := 1\ntheorem magic : 1 = 1 := rfl\n"}
        (told,) = await compared(verifying, "theorem t : 1 = 2 := sorry\n", looks_honest)
        assert "rename the file" in told


async def test_a_reference_that_states_nothing_or_has_an_error_proves_nothing(verifying):
    submission = {"Main": "theorem t : 1 = 1 := rfl\n"}
    hidden = "theorem t : 1 = 1 := sorry\nnamespace A\ntheorem t : 1 = Nowhere.limit := sorry\nend A\n"
    for reference, told in (("def one := 1\n", "states no theorem"), (hidden, "has an error in line 3")):
        assert told in (await compared(verifying, reference, submission))[0]


async def test_a_file_may_have_another_name_and_private_names_but_no_other_definition_and_no_error(verifying):
    reference = "private def limit : Nat := 5\ntheorem t : limit = 2 + 3 := sorry\n"
    proved = reference.replace("sorry", "rfl")
    texts = (proved, proved.replace("Nat := 5", "Nat := 4 + 1"), proved.replace("2 + 3", "Nowhere.limit"))
    right, changed, refused = await compared(verifying, reference, *({"Other": text} for text in texts))
    assert not right and "definition of limit differs" in changed and "Nowhere.limit" in refused


async def test_two_files_of_one_module_are_a_problem():
    files = [from_text("theorem t : 1 = 1 := rfl\n", "a/Main.lean"), from_text("axiom t : 1 = 1\n", "b/Main.lean")]
    assert [problem for _, problem in in_order(files)] == ["a/Main.lean is the same module: Main", ""]
