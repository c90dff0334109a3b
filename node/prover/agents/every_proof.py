"""Plays a whole-proof attempt that collects every proof: it tries all samples of its budget, not only until the first.

    source --drafts--> text rules, duplicates removed --scripts--> Lean workers --> all distinct proofs, with counts

Self-play needs the proofs, and the share of samples that are proofs. Lean checks each distinct script once; samples
that repeat a proof count as proofs, too. Proofs are not verified here: the caller verifies many of them at once. A
script that a worker does not finish within its limits counts as no proof.
"""

from __future__ import annotations

from collections.abc import Sequence

from common.lean import Outcome, OutcomeKind
from common.protocol.attempts import AttemptOutcome, Ended, Method, SampledProof
from node.prover.agents.whole_proof import Sample, WholeProofAgent, words
from node.prover.policies.proofs import Draft, Failed
from node.prover.search.methods import UnknownMethod

MOST_PROOFS = 1024
"""Most distinct proofs in a result; the first ones are taken."""

MOST_BYTES = 8 * 2**20
"""Most bytes of all their scripts: sixteen messages. `AttemptStatistics.correct` also counts proofs beyond it."""


class EveryProofAgent(WholeProofAgent):
    """One attempt at one theorem, which tries all whole proofs that its budget allows."""

    _written: dict[str, list[int]]
    """From each script to the numbers of its samples."""
    _proved: set[str]

    async def _played(self) -> tuple[AttemptOutcome, str, Ended | None]:
        """Raises BadStatement, BusError, ProofsUnavailable, and UnknownMethod if the attempt has other options that
        exclude this one."""
        self._written, self._proved = {}, set()
        if problem := self._problem():
            raise UnknownMethod(problem)
        outcome, message, ended = await super()._played()
        self.account.correct = sum(len(self._written[script]) for script in self._proved)
        return (AttemptOutcome.PROVED, "", ended) if self._proved else (outcome, message, ended)

    def _problem(self) -> str:
        """The reason why the attempt cannot be played; empty if it can."""
        attempt = self.attempt
        if attempt.method != Method.WHOLE_PROOF:
            return f"every_proof needs the method {Method.WHOLE_PROOF}, and the attempt has {attempt.method}"
        excluded = [name for name in ("verify", "correct", "then") if getattr(attempt, name)]
        return f"every_proof cannot be combined with {' and '.join(excluded)}: leave it out" if excluded else ""

    def _proofs(self) -> tuple[SampledProof, ...]:
        """The proofs in the order of their first samples, up to the limits of a result."""
        proofs: list[SampledProof] = []
        room = MOST_BYTES
        for script, numbers in self._written.items():
            if script not in self._proved:
                continue
            room -= len(script.encode())
            if room < 0 or len(proofs) == MOST_PROOFS:
                break
            proofs.append(SampledProof(script, count=len(numbers), first=numbers[0]))
        return tuple(proofs)

    async def _try(self, given: Sequence[tuple[Draft, tuple[Failed, ...]]]) -> list[Sample]:
        """Try all new scripts. Returns no samples, because this agent corrects none. Raises TimeIsUp, BusError."""
        samples = [Sample(*each, self.simulations + number) for number, each in enumerate(given, 1)]
        new = self._new(samples)
        for sample in samples:
            if sample.script:
                self._written.setdefault(sample.script, []).append(sample.number)
        new = new[: await self._budget.grant(self._budget.turn(), len(new))]
        outcomes = await self._timed(self._run([sample.script for sample in new]))
        for position, sample in enumerate(new, 1):
            self._judge(sample, position, outcomes[sample.script])
        self._count(new, outcomes)
        return []

    def _judge(self, sample: Sample, position: int, outcome: Outcome) -> None:
        """Record Lean's outcome for a sample. `position`: its place in the batch that was sent to Lean, from 1."""
        if outcome.kind is not OutcomeKind.PROVED:
            sample.errors = words(outcome) if outcome.is_tactic_outcome else ""
            return
        if not self._proved:
            self._note_solved(sample, position)
            self._found = self._tree(sample)
        self._proved.add(sample.script)
