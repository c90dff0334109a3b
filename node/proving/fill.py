"""Fills the gaps (`sorry`) of a file: searches for proofs concurrently, and keeps those that pass verification.
What was found is remembered on disk, so that a second run continues after the first one.

Each search uses the file as it was read, with `sorry` in the gaps above. So searches are independent of each other,
Lean elaborates a context once, and a proof is valid whether or not the other gaps are filled.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import hashlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import msgspec

from common.files import NOT_JSON, cache_directory, write_whole
from common.lean import Place, TacticRule
from common.life.waiting import unless_stopped
from common.protocol.attempts import AttemptOutcome
from node.lean.check.files.report import FileMessage
from node.lean.gaps.gap import FileGaps, Gap
from node.lean.text.rules import names_problem, proof_problem
from node.play.attempts import ProvingFailed
from node.proving.fill_check import Checked, Edit, Fill, FillVerifier, edits_of
from node.proving.prover import Budget, Found, TheoremProver


class GapState(enum.StrEnum):
    """The outcome of a gap."""

    FILLED = "filled"
    OPEN = "open"
    """No proof was found."""
    REFUSED = "refused"
    """A proof was found, and the file could not be verified with it."""
    LEFT = "left alone"
    """No proof is missing there, or Lean cannot determine the goal."""
    WAITING = "not tried"
    """The run was interrupted before this gap was finished."""


@dataclass
class GapResult:
    """The outcome of a gap, and the reason."""

    gap: Gap
    state: GapState
    reason: str = ""
    script: tuple[str, ...] = ()
    by: str = ""
    """The source of the proof."""
    seconds: float = 0.0
    simulations: int = 0
    remembered: bool = False
    """True if the result is from an earlier run."""
    rests: str = ""
    """Unfinished declarations on which the proof depends."""
    axioms: tuple[str, ...] = ()


@dataclass
class FilledFile:
    """A file's gaps and their outcomes. `edits` contains exactly the verified proofs."""

    gaps: FileGaps
    results: list[GapResult] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    checked: Checked | None = None
    """None if there was nothing to verify."""

    @property
    def errors(self) -> list[FileMessage]:
        """Lean's errors in the file. If it has proofs in it, the errors and line numbers of the file with them."""
        return self.checked.errors if self.checked is not None and self.checked.fills else self.gaps.errors

    def count(self, *states: GapState) -> int:
        """How many gaps are in one of these states."""
        return sum(result.state in states for result in self.results)


class FillProgress(Protocol):
    """Receives progress events."""

    def began(self, gap: Gap) -> None:
        """A search starts."""

    def ended(self, result: GapResult) -> None:
        """A search has ended. Its proof is not verified yet."""

    def verifying(self, proofs: int) -> None:
        """Verification of the file with this number of proofs starts."""


@dataclass(frozen=True)
class FillOptions:
    """How gaps are filled."""

    budget: Budget
    """Limits for each gap."""
    at_once: int = 1
    """Concurrent searches."""
    way: str = ""
    """The search settings as text. A failed search is not repeated with the same settings."""
    again: bool = False
    """Repeat all searches."""
    wanted: Callable[[Gap], bool] = lambda gap: True
    """True for the gaps to fill."""
    rule: TacticRule | None = None
    """The tactics that proofs may have."""


class Filler:
    """Fills the gaps of files, one file at a time."""

    def __init__(
        self,
        prover: TheoremProver,
        verifier: FillVerifier,
        options: FillOptions,
        progress: FillProgress,
        stopping: asyncio.Event,
    ) -> None:
        """`stopping`: when it is set, searches end, and the proofs found until then are verified."""
        self._prover = prover
        self._verifier = verifier
        self._options = options
        self._progress = progress
        self._stopping = stopping

    async def fill(self, file: FileGaps, memory: FillMemory) -> FilledFile:
        """Search for proofs of a file's gaps, and verify the file with them. Raises OutOfLimits."""
        gate = asyncio.Semaphore(self._options.at_once)
        gaps = [gap for gap in file.gaps if self._options.wanted(gap)]
        results = await asyncio.gather(*(self._fill_gap(gap, file.text, memory, gate) for gap in gaps))
        filled = FilledFile(file, results)
        fills = {each.gap: Fill(each.script) for each in results if each.state is GapState.FILLED}
        if fills:
            self._progress.verifying(len(fills))
            filled.checked = await self._verifier.check(file, fills)
            filled.edits = edits_of(file, filled.checked.fills)
            self._apply_verdicts(filled, filled.checked, memory)
        return filled

    async def _fill_gap(self, gap: Gap, text: str, memory: FillMemory, gate: asyncio.Semaphore) -> GapResult:
        if gap.reason:
            return GapResult(gap, GapState.LEFT, gap.reason)
        theorem = gap.theorem(text)
        assert theorem.place is not None
        earlier = memory.recall(theorem.place)
        if earlier is not None and (self._options.again or self._refusal(earlier.script)):
            earlier = None
        if earlier is not None and earlier.spares(self._options.budget, self._options.way):
            return self._reported(_from_memory(gap, earlier))
        async with gate:
            if self._stopping.is_set():
                return GapResult(gap, GapState.WAITING, "interrupted")
            self._progress.began(gap)
            try:
                found = await unless_stopped(self._prover.find(theorem, self._options.budget), self._stopping)
            except ProvingFailed as error:
                return self._reported(GapResult(gap, GapState.OPEN, f"the search failed: {error}"))
        if found is None:
            return self._reported(GapResult(gap, GapState.WAITING, "interrupted"))
        result = _from_search(gap, found)
        if problem := self._refusal(result.script):
            result = GapResult(gap, GapState.OPEN, f"a proof was found, but it is refused: {problem}", by=found.by)
        if found.outcome is not AttemptOutcome.BAD_STATEMENT:  # the next command asks Lean again
            memory.keep(theorem.place, self._remembered(result))
        return self._reported(result)

    def _refusal(self, script: Sequence[str]) -> str:
        """Why a proof may not stand in the file; empty if it may. It may come from a prover of a mesh, which could send
        commands, or from an earlier search with another rule for tactics."""
        text = "\n".join(script)
        return (proof_problem(text, self._options.rule) or names_problem(text)) if script else ""

    def _reported(self, result: GapResult) -> GapResult:
        self._progress.ended(result)
        return result

    def _remembered(self, result: GapResult) -> Remembered:
        budget, script = self._options.budget, result.script if result.state is GapState.FILLED else ()
        return Remembered(
            script,
            result.by,
            result.simulations,
            result.seconds,
            result.reason,
            budget.seconds,
            budget.simulations,
            self._options.way,
        )

    def _apply_verdicts(self, filled: FilledFile, checked: Checked, memory: FillMemory) -> None:
        """Write the verdicts of verification into the results."""
        for result in filled.results:
            gap = result.gap
            result.axioms, result.rests = checked.axioms.get(gap, ()), checked.rests.get(gap, "")
            if gap in checked.refused:
                why = f"a proof was found, but Lean does not accept the file with it: {checked.refused[gap]}"
                result.state, result.reason = GapState.REFUSED, why
                # Replace the remembered proof, or every later run would use the refused one again.
                memory.keep(gap.place(filled.gaps.text), self._remembered(result))


def _from_memory(gap: Gap, earlier: Remembered) -> GapResult:
    state = GapState.FILLED if earlier.script else GapState.OPEN
    return GapResult(gap, state, earlier.reason, earlier.script, earlier.by, earlier.seconds, earlier.simulations, True)


def _from_search(gap: Gap, found: Found) -> GapResult:
    if found.outcome is AttemptOutcome.PROVED:
        return GapResult(gap, GapState.FILLED, "", found.script, found.by, found.seconds, found.simulations)
    reason = found.reason or "no proof was found"
    if found.outcome is AttemptOutcome.BAD_STATEMENT:
        reason = f"Lean cannot elaborate the gap in its place: {reason}"
    return GapResult(gap, GapState.OPEN, reason, (), found.by, found.seconds, found.simulations)


# ----------------------------------------------------------------------------------------------------------------------
# A cache on disk of the search results for gaps, so that a second run of `fill` continues after the first one.


FORMAT = "1"

KEPT_SECONDS = 60 * 24 * 3600.0
"""Entries that were not used for this long are removed."""


class Remembered(msgspec.Struct, frozen=True):
    """The result of a search."""

    script: tuple[str, ...] = ()
    """The proof; empty if none was found."""
    by: str = ""
    simulations: int = 0
    seconds: float = 0.0
    reason: str = ""
    """Why there is no proof."""
    budget_seconds: float = 0.0
    budget_simulations: int = 0
    way: str = ""
    """The settings of the search. A failed search only counts for the same settings."""

    def spares(self, budget: Budget, way: str) -> bool:
        """Whether a search with this budget is unnecessary."""
        if self.script:
            return True
        enough = self.budget_seconds >= budget.seconds and self.budget_simulations >= budget.simulations
        return enough and self.way == way


@dataclass(frozen=True)
class FillMemory:
    """A cache folder with one small file for each gap."""

    folder: Path
    lean: tuple[str, ...]
    """The parts of the key besides the text of a place: Lean's version, its project, its header."""

    @classmethod
    def standard(cls, lean: Sequence[str]) -> FillMemory:
        """The memory in proofmesh's cache folder."""
        return cls(cache_directory() / "fill", tuple(lean))

    def recall(self, place: Place) -> Remembered | None:
        """The result for a place; None if there is none or it cannot be read."""
        file = self._file(place)
        try:
            result = msgspec.json.decode(file.read_bytes(), type=Remembered)
            os.utime(file)
        except (OSError, *NOT_JSON):
            return None
        return result

    def keep(self, place: Place, result: Remembered) -> None:
        """Write a result to disk. If that fails, the next run searches again."""
        file = self._file(place)
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(file, msgspec.json.encode(result))

    def sweep(self) -> None:
        """Remove old entries."""
        with contextlib.suppress(OSError):
            for file in self.folder.iterdir():
                if time.time() - file.stat().st_mtime > KEPT_SECONDS:
                    file.unlink(missing_ok=True)

    def _file(self, place: Place) -> Path:
        digest = hashlib.blake2b(digest_size=20)
        digest.update(msgspec.json.encode([FORMAT, self.lean, place.key]))
        return self.folder / f"{digest.hexdigest()}.json"
