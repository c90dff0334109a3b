"""Fills the gaps of a file: looks for a proof of each, several at once, and keeps those that the file is verified with.

Every gap is searched in the file as it was read, with `sorry` still in the gaps above it. So no search waits for
another, Lean elaborates a context once, and what was found holds whatever becomes of the other gaps.
"""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from common.attempts import AttemptOutcome
from common.waiting import unless_stopped
from node.lean.files.report import FileMessage
from node.lean.holes.gaps import FileGaps, Gap
from node.proving.fill_check import Checked, FillVerifier
from node.proving.fill_memory import FillMemory, Remembered
from node.proving.fill_text import Edit, Fill, edits_of
from node.proving.prover import Budget, Found, ProvingFailed, TheoremProver


class GapState(enum.StrEnum):
    """What became of a gap."""

    FILLED = "filled"
    OPEN = "open"
    """No proof was found."""
    REFUSED = "refused"
    """A proof was found, and the file could not be verified with it."""
    LEFT = "left alone"
    """No proof is missing there, or Lean cannot say what is."""
    WAITING = "not tried"
    """The run was interrupted before it was done with this one."""


@dataclass
class GapResult:
    """What became of a gap, and why."""

    gap: Gap
    state: GapState
    reason: str = ""
    script: tuple[str, ...] = ()
    by: str = ""
    """What found the proof."""
    seconds: float = 0.0
    simulations: int = 0
    remembered: bool = False
    """Whether that is from an earlier run."""
    rests: str = ""
    """What the proof rests on that is still open."""
    axioms: tuple[str, ...] = ()


@dataclass
class FilledFile:
    """A file's gaps with what became of them. The proofs in `edits` are verified, all others are not in it."""

    gaps: FileGaps
    results: list[GapResult] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    checked: Checked | None = None
    """None where there was nothing to verify."""

    @property
    def errors(self) -> list[FileMessage]:
        """Lean's own errors in the file: with the proofs in it, if any were found (then lines are those of that)."""
        return self.checked.errors if self.checked is not None and self.checked.fills else self.gaps.errors

    def count(self, *states: GapState) -> int:
        """How many gaps are in one of these states."""
        return sum(result.state in states for result in self.results)


class FillProgress(Protocol):
    """Hears how it goes on."""

    def began(self, gap: Gap) -> None:
        """A search begins."""

    def ended(self, result: GapResult) -> None:
        """A search is over. A proof that was found is not verified yet."""

    def verifying(self, proofs: int) -> None:
        """The file is verified with so many proofs."""


@dataclass(frozen=True)
class FillOptions:
    """How gaps are filled."""

    budget: Budget
    """For each gap."""
    at_once: int = 1
    """Searches side by side."""
    way: str = ""
    """How proofs are looked for, in words: what was looked for in vain in the same way is not looked for again."""
    again: bool = False
    """Look for everything again all the same."""
    wanted: Callable[[Gap], bool] = lambda gap: True
    """Which gaps to fill."""


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
        """`stopping`: when it is set, searches end, and what was found until then is verified."""
        self._prover = prover
        self._verifier = verifier
        self._options = options
        self._progress = progress
        self._stopping = stopping

    async def fill(self, file: FileGaps, memory: FillMemory) -> FilledFile:
        """Look for the proofs that a file lacks, and verify it with them. Raises OutOfLimits."""
        gate = asyncio.Semaphore(self._options.at_once)
        wanted = [gap for gap in file.gaps if self._options.wanted(gap)]
        results = await asyncio.gather(*(self._fill_gap(gap, file.text, memory, gate) for gap in wanted))
        done = FilledFile(file, results)
        found = {each.gap: Fill(each.script) for each in results if each.state is GapState.FILLED}
        if found:
            self._progress.verifying(len(found))
            done.checked = await self._verifier.check(file, found)
            done.edits = edits_of(file, done.checked.fills)
            self._take_over(done, done.checked, memory)
        return done

    async def _fill_gap(self, gap: Gap, text: str, memory: FillMemory, gate: asyncio.Semaphore) -> GapResult:
        if gap.reason:
            return GapResult(gap, GapState.LEFT, gap.reason)
        theorem = gap.theorem(text)
        assert theorem.place is not None
        known = memory.recall(theorem.place)
        if known is not None and known.spares(self._options.budget, self._options.way) and not self._options.again:
            return self._told(_from_memory(gap, known))
        async with gate:
            if self._stopping.is_set():
                return GapResult(gap, GapState.WAITING, "interrupted")
            self._progress.began(gap)
            try:
                found = await unless_stopped(self._prover.find(theorem, self._options.budget), self._stopping)
            except ProvingFailed as error:
                return self._told(GapResult(gap, GapState.OPEN, f"the search failed: {error}"))
        if found is None:
            return self._told(GapResult(gap, GapState.WAITING, "interrupted"))
        result = _from_search(gap, found)
        memory.keep(theorem.place, self._remembered(result))
        return self._told(result)

    def _told(self, result: GapResult) -> GapResult:
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

    def _take_over(self, done: FilledFile, checked: Checked, memory: FillMemory) -> None:
        """Write what verification says into the results."""
        for result in done.results:
            gap = result.gap
            result.axioms, result.rests = checked.axioms.get(gap, ()), checked.rests.get(gap, "")
            if gap in checked.refused:
                why = f"a proof was found, but Lean does not accept the file with it: {checked.refused[gap]}"
                result.state, result.reason = GapState.REFUSED, why
                # Not remembered as a proof, or it would be found in the memory for ever.
                memory.keep(gap.place(done.gaps.text), self._remembered(result))


def _from_memory(gap: Gap, known: Remembered) -> GapResult:
    state = GapState.FILLED if known.script else GapState.OPEN
    return GapResult(gap, state, known.reason, known.script, known.by, known.seconds, known.simulations, True)


def _from_search(gap: Gap, found: Found) -> GapResult:
    if found.outcome is AttemptOutcome.PROVED:
        return GapResult(gap, GapState.FILLED, "", found.script, found.by, found.seconds, found.simulations)
    reason = found.reason or "no proof was found"
    if found.outcome is AttemptOutcome.BAD_STATEMENT:
        reason = f"Lean does not take the gap as it stands there: {reason}"
    return GapResult(gap, GapState.OPEN, reason, (), found.by, found.seconds, found.simulations)
