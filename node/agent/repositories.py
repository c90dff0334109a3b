"""Repositories of an agent: opened at a commit, traced for theorems with their difficulty, and put in order.

The order is LeanAgent's curriculum (arXiv 2410.06209, section 3.2; lean-dojo-v2 1.0.9, utils/difficulty.py). A theorem
with a proof of S steps has the difficulty e^S. The 33rd and the 67th percentile over the theorems of all repositories
divide them into easy, medium and hard. Repositories with the most easy theorems come first. Theorems without a proof
are hard and do not count for the percentiles.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from common.life import faults
from common.machine import read_machine
from common.output.visible import without_credentials
from node.agent.settings import AgentError, AgentSettings
from node.agent.store import FileRow, TheoremRow
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.trace.formats import write
from node.lean.trace.infotree import Position
from node.lean.trace.records import TracedBlock, TracedFile, TracedTheorem
from node.lean.trace.session import Work, plan, run_all
from node.lean.trace.sources import Group, NoSource, changed, clone, groups, remote_of
from node.lean.trace.tracing import TraceLimits, Tracer

# --- opens repositories: clones of the agent, or folders of the user without uncommitted changes ----------------------

SHOWN_FILES = 3
"""Most changed files that a message names."""


@dataclass(frozen=True)
class Source:
    """A repository at a commit."""

    name: str
    source: str
    """The folder, or the URL without credentials."""
    commit: str
    group: Group
    own: bool
    """True for a folder of the user, False for a clone of the agent."""


def open_source(text: str, written: Mapping[str, str]) -> Source:
    """Opens a folder or `URL@COMMIT`. `written`: for files that the agent wrote, their digests with those before.

    Raises AgentError if nothing is there, there is no .lean file, or changes are not committed.
    """
    try:
        remote = remote_of(text)
        place = Path(text) if remote is None else clone(remote)
        lean_groups = groups([place])
    except NoSource as error:
        raise AgentError(str(error)) from error
    (group,) = lean_groups
    if remote is not None:
        url = without_credentials(remote.url)
        return Source(_last(url), url, place.name, group, own=False)
    if not group.commit:
        return Source(_last(str(group.root)), str(group.root), _contents(group, written), group, own=True)
    changes = [each for each in changed(group.root) if not _ours(group.root, each, written)]
    if changes:
        more = f" and {len(changes) - SHOWN_FILES} more" if len(changes) > SHOWN_FILES else ""
        raise AgentError(
            f"{text}: has uncommitted changes ({', '.join(changes[:SHOWN_FILES])}{more}); commit them, or name "
            f"{text}@{group.commit[:12]}... (in full), to use the commit without them"
        )
    return Source(_last(str(group.root)), str(group.root), group.commit, group, own=True)


def digest_of(content: bytes) -> str:
    """A digest of a file's content."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _ours(root: Path, name: str, written: Mapping[str, str]) -> bool:
    """Whether a changed file is exactly as the agent wrote it. `name`: its path in the worktree, as git prints it."""
    candidates = [folder / name.strip('"') for folder in (root, *root.parents)]
    file = next((each for each in candidates if each.is_file()), None)
    return file is not None and digest_of(file.read_bytes()) in written


def _contents(group: Group, written: Mapping[str, str]) -> str:
    """A digest instead of a commit, for a folder without git: of its files before the agent wrote proofs."""
    digest = hashlib.blake2b(digest_size=16)
    for file in group.files:
        content = digest_of(file.read_bytes())
        digest.update(f"{group.name(file)}\0{written.get(content, content)}".encode())
    return f"files:{digest.hexdigest()}"


def _last(text: str) -> str:
    return text.rstrip("/").removesuffix(".git").rpartition("/")[2].rpartition(":")[2] or "repository"


# --- traces a repository ----------------------------------------------------------------------------------------------

JOB_MB = 3000
"""Assumed memory of each job: Lean with a large library."""

STEPS = "steps.jsonl"
"""File with all atomic steps of the repository, as `proofmesh trace` writes it."""


@dataclass(frozen=True)
class Traced:
    """The result of tracing a repository."""

    files: list[FileRow]
    theorems: list[TheoremRow]
    seconds: float


def trace(
    source: Source,
    toolchain: LeanToolchain,
    settings: AgentSettings,
    folder: Path,
    heard: Callable[[TracedFile], None],
) -> Traced:
    """Traces a repository. Files that are traced already are skipped. `heard` is called with each file.

    Raises AgentError if no file can be traced.
    """
    started = time.monotonic()
    group = source.group
    limits = TraceLimits(seconds=settings.file_seconds, memory_mb=settings.memory_mb)
    tracer = Tracer(toolchain, Path(toolchain.project or group.root), limits, settings.split)
    works = plan(group, tracer, folder)
    files: list[FileRow] = []
    theorems: list[TheoremRow] = []

    def report(work: Work, traced: TracedFile, earlier: bool) -> None:
        faults.reach("agent:traced-file")
        files.append(FileRow(work.name, digest_of(work.file.read_bytes()), traced.error))
        theorems.extend(_rows(work.name, traced))
        heard(traced)

    run_all(works, settings.trace_jobs or _jobs(), report)
    if all(each.error for each in files):
        build = f"; run `lake build` in {group.root} first" if group.lake else ""
        raise AgentError(f"no file can be traced: {files[0].path}: {files[0].error.splitlines()[0]}{build}")
    write(works, folder, ["proofmesh"])
    files.sort(key=lambda each: each.path)
    theorems.sort(key=lambda each: (each.path, each.line))
    return Traced(files, theorems, time.monotonic() - started)


def _rows(path: str, traced: TracedFile) -> Iterator[TheoremRow]:
    for theorem in traced.theorems:
        steps = sum(len(block.steps) for block in theorem.blocks)
        yield TheoremRow(
            path,
            theorem.start[0],
            theorem.name or theorem.kind,
            theorem.kind,
            theorem.statement,
            _proof(theorem),
            steps,
            difficulty(steps) if steps and not theorem.error else None,
            theorem.error.strip().split("\n")[0],
        )


def _proof(theorem: TracedTheorem) -> str:
    """The tactics as written, without those inside other tactics, whose text includes them."""
    return "\n".join(line for block in theorem.blocks for line in _outermost(block))


def _outermost(block: TracedBlock) -> Iterator[str]:
    end: Position | None = None
    for tactic in block.tactics:
        if end is None or tactic.start >= end:
            end = tactic.end
            yield tactic.tactic


def _jobs() -> int:
    machine = read_machine()
    return max(1, min(machine.cores, machine.memory_mb // JOB_MB))


# --- the curriculum. Pure ---------------------------------------------------------------------------------------------

EASY, MEDIUM, HARD, UNPROVED = "easy", "medium", "hard", "no proof"

CLASSES = (EASY, MEDIUM, HARD, UNPROVED)

PERCENTILES = (33, 67)

MOST_STEPS = 700
"""Steps beyond this number do not increase the difficulty: e^709 is the largest power in a float."""


def difficulty(steps: int) -> float:
    """e^steps for a proof with at least one step."""
    return math.exp(min(steps, MOST_STEPS))


@dataclass(frozen=True)
class Thresholds:
    """The limits between the classes."""

    easy: float
    """Theorems of at most this difficulty are easy."""
    medium: float
    """Theorems of at most this difficulty are medium; others are hard."""

    def category(self, difficulty: float | None) -> str:
        """The class of a theorem. `difficulty` is None if it has no proof."""
        if difficulty is None:
            return UNPROVED
        if difficulty <= self.easy:
            return EASY
        return MEDIUM if difficulty <= self.medium else HARD


def thresholds(difficulties: Sequence[float]) -> Thresholds:
    """The limits for the theorems with proofs. Without such theorems every difficulty is easy."""
    if not difficulties:
        return Thresholds(math.inf, math.inf)
    # numpy interpolates between two theorems; without logarithms e^700 would dominate the other one.
    low, high = np.percentile(np.log(difficulties), PERCENTILES)
    return Thresholds(_exp(low), _exp(high))


def _exp(logarithm: float) -> float:
    # Rounds away floating-point errors, so that a theorem exactly at the limit is in the right class.
    nearest = round(logarithm)
    return difficulty(nearest) if math.isclose(logarithm, nearest, abs_tol=1e-9) else math.exp(logarithm)


def ordered(difficulties: Mapping[int, Sequence[float | None]], parts: Thresholds, order: str) -> list[int]:
    """The order in which repositories are learned. `order`: `easy`, most easy theorems first; `mean`, lowest mean
    number of steps first; `given`. Ties keep the given order."""
    if order == "easy":
        counts = {key: sum(parts.category(each) == EASY for each in found) for key, found in difficulties.items()}
        return sorted(difficulties, key=lambda key: -counts[key])
    if order == "mean":
        return sorted(difficulties, key=lambda key: _mean([each for each in difficulties[key] if each is not None]))
    return list(difficulties)


def _mean(difficulties: Sequence[float]) -> float:
    """Mean logarithm of the difficulties; infinite without proofs, so that the repository comes last."""
    return sum(map(math.log, difficulties)) / len(difficulties) if difficulties else math.inf
