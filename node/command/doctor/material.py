"""What the checks of Lean are made of: differences between versions, texts of our own, files and proofs of a project;
and the projects that must be left alone."""

from __future__ import annotations

import json
import os
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from common.lean import Context, Place, Step, Theorem
from common.protocol.messages import LeanRunRequest
from common.settings import LeanSettings
from node.lean.gaps.gap import Lines
from node.lean.text.rules import proof_problem
from node.lean.text.statement import imports
from node.lean.toolchain import lake
from node.lean.toolchain.lean_toolchain import LeanProblem, LeanToolchain, head
from node.lean.trace.records import TracedBlock, TracedFile, TracedTheorem
from node.lean.trace.sources import Group

# --- what differs between versions of Lean ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """Something that newer versions of Lean have."""

    since: tuple[int, int]
    what: str
    before: str
    """What is done with older versions."""
    source: str


DIFFERENCES = (
    Difference(
        (4, 17), "an environment of the kernel's own", "the judge uses the elaborator's environment", "lean4#5145"
    ),
    Difference(
        (4, 20), "imports without extensions", "the judge's imports run initializers of Lean's library", "lean4#6325"
    ),
    Difference(
        (4, 22),
        "`options` in the answer of `lake setup-file`",
        "the key `setupOptions` is read",
        "Lake's SetupFile.lean",
    ),
    Difference(
        (4, 27), "the module system, by default", "files that begin with `module` need an option", "lean4#11637"
    ),
    Difference((4, 28), "`leanchecker` in the toolchain", "our own kernels check alone", "lean4#11887"),
    Difference(
        (4, 34),
        "a limit on the kernel's recursion",
        "the kernel is asked without one",
        "Lean.Kernel.Environment.addDeclCore",
    ),
)
"""What proofmesh does differently by version, with the source that says so."""

MET = (4, 35)
"""The version that our tests run. Others are known by their sources alone."""


def version_of(text: str) -> tuple[int, int] | None:
    """Major and minor of a version such as `4.35.0-rc1`; None for a nightly or a build of one's own."""
    match = re.match(r"v?(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else None


def dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))


# --- texts of our own -------------------------------------------------------------------------------------------------

OWN_TEXT = """theorem swapped (p q : Prop) (h : p ∧ q) : q ∧ p := by
  constructor
  exact h.2
  exact h.1

theorem either (p q : Prop) (h : p ∨ q) : q ∨ p := by
  cases h with
  | inl hp => exact Or.inr hp
  | inr hq => exact Or.inl hq
"""
"""Traced and filled where there is no file of a project."""

OWN_TACTICS = (
    ("(p q : Prop)", "p ∧ q → q ∧ p", "intro h"),
    ("(p q : Prop) (hp : p) (hq : q)", "p ∧ q", "exact ⟨hp, hq⟩"),
    ("(p q : Prop) (hp : p) (hq : q)", "p ∧ q", "constructor <;> assumption"),
    ("(p q : Prop) (h : p ∨ q)", "q ∨ p", "cases h"),
    ("(a b : Nat) (h : a = b)", "b = a", "rw [h]"),
    ("(n : Nat)", "n + 0 = n", "simp"),
    ("(n : Nat)", "0 + n = n", "induction n"),
    ("(a b c : Nat) (h : a ≤ b)", "a ≤ b + c", "omega"),
    ("", "2 + 2 = 4", "rfl"),
    ("", "7 < 10", "decide"),
)
"""Ten statements and a first tactic for each, which every Lean since 4.7 knows."""

TEN = len(OWN_TACTICS)

HONEST = "theorem honest (p q : Prop) (h : p ∧ q) : q ∧ p := ⟨h.2, h.1⟩\n"

CHEATS = """axiom wrong : False
theorem by_axiom : 1 = 2 := wrong.elim
theorem by_sorry : 1 = 2 := by sorry
set_option debug.skipKernelTC true in
theorem by_looking_away : 1 = 2 := by decide +kernel
"""
"""Three proofs of what has none: by an axiom, by `sorry`, and with Lean's kernel switched off."""

# --- files and proofs of a project ------------------------------------------------------------------------------------

SAMPLE_BYTES = (40, 40_000)
"""Sizes of files that are tried: a file that takes minutes says no more than a small one."""

SAMPLES = 3
"""Most files of a project that are traced until one has a tactic proof that can be filled."""

READ_FILES = 3000
"""Most files of which the beginning is read, to count those of the module system."""


@dataclass(frozen=True)
class Sample:
    """A Lean file to try things on."""

    name: str
    text: str
    module: str = ""
    """Its module, if it is compiled."""


@dataclass(frozen=True)
class Proof:
    """A tactic proof of a traced file."""

    theorem: TracedTheorem
    block: TracedBlock
    start: int
    """Offset of its `by`."""
    end: int
    script: str
    """The tactics behind `by`."""


def samples(group: Group | None, lean: LeanToolchain) -> Iterator[Sample]:
    """Small compiled files of a project that have tactic proofs, the smallest first; at most SAMPLES."""
    found = 0
    sizes = sorted((file.stat().st_size, file) for file in group.files) if group is not None else []
    for size, file in sizes:
        assert group is not None
        module = ".".join(Path(group.name(file)).with_suffix("").parts)
        if found == SAMPLES:
            return
        if not SAMPLE_BYTES[0] <= size <= SAMPLE_BYTES[1] or lean.compiled(module) is None:
            continue
        text = file.read_text(encoding="utf-8", errors="replace")
        if re.search(r":=\s*by\b", text) and not is_module(file):
            yield Sample(group.name(file), text, module)
            found += 1


def is_module(file: Path) -> bool:
    """Whether a file begins with `module`."""
    with file.open(encoding="utf-8", errors="replace") as lines:
        begin = lines.read(4000)
    return "module" in [line.strip() for line in imports(begin)]


def proofs_of(text: str, traced: TracedFile) -> Iterator[Proof]:
    """The tactic proofs of a file that can be taken out and filled in again, those with most steps first."""
    lines = Lines(text)
    found = []
    for theorem in traced.theorems:
        for block in theorem.blocks:
            start, end = lines.offset(*block.start), lines.offset(*block.end)
            script = textwrap.dedent(text[start + len("by") : end]).strip("\n")
            script = script if script.startswith(("\n", " ")) else script.lstrip()
            whole = theorem.kind in ("theorem", "lemma", "example") and len(theorem.blocks) == 1
            if whole and not theorem.error and block.steps and not proof_problem(script):
                found.append(Proof(theorem, block, start, end, script))
    return iter(sorted(found, key=lambda proof: -len(proof.block.steps)))


def requests_of(text: str, proofs: Sequence[Proof]) -> Iterator[LeanRunRequest]:
    """Each step of the proofs as a request: the state that the steps before it lead to, and its tactic; a tactic that
    occurs twice is asked once."""
    asked: set[str] = set()
    lines = Lines(text)
    for proof in proofs:
        above = proof.theorem.context_end
        after = text[proof.end : lines.offset(*proof.theorem.end)] + "\n"
        place = Place(Context.of(text[:above]), text[above : proof.start], after, tactic=False)
        theorem = Theorem(proof.theorem.name or "t", "", "", place=place)
        steps = proof.block.steps
        for step in steps:
            if step.tactic in asked:
                continue
            asked.add(step.tactic)
            path, at = [], step
            while at.parent >= 0:
                above_step = steps[at.parent]
                path.append(Step(above_step.tactic, at.branch, above_step.layout))
                at = above_step
            yield LeanRunRequest(theorem=theorem, path=tuple(reversed(path)), tactics=(step.tactic,))


# --- projects that must be left alone ---------------------------------------------------------------------------------


MANIFEST = "lake-manifest.json"
"""Lake writes it where it is missing (Lake's `loadWorkspace`)."""


def packages_of(project: Path) -> list[tuple[Path, str, str]]:
    """The git packages of a project's manifest: folder, name, commit. Empty if Lake could not read it either."""
    try:
        content = json.loads((project / MANIFEST).read_text(encoding="utf-8"))
        folder = project / str(content.get("packagesDir") or ".lake/packages")
        listed = [each for each in content.get("packages") or [] if each.get("type") == "git"]
        return [(folder / each["name"], str(each["name"]), str(each["rev"])) for each in listed]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []


def would_change(lean: LeanSettings) -> LeanProblem | None:
    """Why asking Lake or elan about this Lean would download or change something; None if it would not."""
    environ = lake.without_toolchain(os.environ)
    # 1. A channel: elan looks up its latest release, and downloads it.
    project = lake.project_folder(lean.project) if lean.project else None
    pinned = lake.pinned_toolchain(project) if project else None
    name = lean.toolchain or (pinned[0] if pinned else "")
    if lake.is_channel(name) and lake.toolchain_folder(name, environ) is None:
        return LeanProblem(
            f"{name!r} is a channel: elan would look up its latest release and download it; name a version, such as "
            "leanprover/lean4:v4.20.0"
        )
    # 2. A project that was never built: Lake writes the manifest and compiles the configuration before it answers.
    build = f"run `lake build` in {project} (with Mathlib, first `lake exe cache get`)"
    if project and not (project / MANIFEST).is_file():
        return LeanProblem(f"the project {project} has no {MANIFEST}, and Lake would resolve its packages; {build}")
    compiled = ("lakefile.olean", "config/*/lakefile.olean")
    if (
        project
        and (project / "lakefile.lean").is_file()
        and not any(any((project / ".lake").glob(e)) for e in compiled)
    ):
        return LeanProblem(f"the lakefile.lean of {project} is not compiled, and Lake would compile it; {build}")
    # 3. Packages that are missing, or at another commit than the manifest says: Lake fetches them.
    for folder, package, commit in packages_of(project) if project else ():
        if not folder.is_dir():
            return LeanProblem(
                f"the package {package} of {project} is not there ({folder}), and Lake would download it; {build}"
            )
        at = head(folder / ".git")
        if at and at != commit:
            return LeanProblem(
                f"the package {package} is at {at[:12]}, the project's lake-manifest.json says {commit[:12]}, and Lake "
                f"would check that out; {build}"
            )
    # 4. Pocket Lean compiles its library on first use.
    if lean.is_pocket:
        from node.lean.toolchain.pocket.build import is_built

        if not is_built():
            return LeanProblem(
                "pocket Lean's library is not compiled yet; `./start setup`, or the first command that needs it, "
                "compiles it once, in some seconds"
            )
    return None
