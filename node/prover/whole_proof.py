"""Plays one attempt by whole-proof generation: samples whole proofs, and Lean tries each (`Method.WHOLE_PROOF`).

    source --drafts--> text rules, duplicates removed --scripts--> Lean workers --> final verification
      ^                                                                 |
      +-------------------- corrections: draft and errors -------------+

Proofs are sampled in batches. While Lean tries one batch, the source writes the next one. Everything is counted in the
order of requests, so an attempt is determined by its seed and the contents of the replies, not by their timing.

A worker runs a proof as one tactic on the theorem's root state, many in one document: 8 proofs in 20 ms, while a
verification takes a second. A proof that a worker does not finish within the limits of a tactic may still be correct.
If no other proof of its batch is accepted, verification decides. So a proof that hangs costs the time limit of a
verification, which counts as time of the attempt.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields

import msgspec

from common.lean import Outcome, OutcomeKind, ProofTree
from common.life import timeline
from common.life.waiting import all_results
from common.protocol.attempts import (
    Attempt,
    AttemptOutcome,
    AttemptResult,
    AttemptStatistics,
    Ended,
    Method,
    SampledProof,
)
from common.seeds import derive_seed
from node.lean.text.rules import MAX_TACTIC_BYTES
from node.prover.agent import (
    IDLE_SIMULATIONS,
    Account,
    Agent,
    AttemptAgent,
    Playing,
    TimeIsUp,
    Verify,
    identity,
    unsolved,
)
from node.prover.environment import LeanEnvironment
from node.prover.policies.combined import ByTurns, MixturePolicy, Part, wrapped
from node.prover.policies.fixed import value
from node.prover.policies.policy import Advice, Policy, Proposal
from node.prover.policies.proofs import Draft, Failed, ProofRequest, ProofSource, beginning, script_of
from node.prover.search.methods import UnknownMethod
from node.prover.search.simulation import SearchStatistics

AT_ONCE = 8
"""Proofs in one request to Lean. The number is small, so that a proof that crashes the document affects few others, and
the parts of a batch reach several workers."""

MOST_LOSSES = 3
"""How often a proof with a lost outcome is tried again."""

_UNFINISHED = frozenset({OutcomeKind.TIMEOUT, OutcomeKind.MEMORY, OutcomeKind.CRASHED})
"""Outcomes that come from a worker's limits and do not refute a proof."""

_TOO_LONG = Outcome(OutcomeKind.TIMEOUT, message="longer than the limit of a worker")


@dataclass(slots=True)
class Sample:
    """A sampled proof and its state in the attempt."""

    draft: Draft
    before: tuple[Failed, ...]
    """The drafts that it corrects."""
    number: int
    """Its place among the attempt's samples, from 1."""
    script: str = ""
    """The script for Lean, which tries each script once; empty if there is none."""
    errors: str = ""
    """Why it is not a proof; empty if there is no error that the source could correct."""
    line: int | None = None
    """The script's line with the errors."""


class WholeProofAgent(AttemptAgent):
    """One attempt at one theorem, by whole proofs."""

    def __init__(
        self,
        attempt: Attempt,
        source: ProofSource,
        environment: LeanEnvironment,
        playing: Playing,
    ) -> None:
        super().__init__(attempt, environment, playing)
        self.statistics = SearchStatistics()
        self.beginnings: dict[str, None] = {}
        """The distinct beginnings of failed proofs: all tactics above the first error."""
        self._source = source
        self._asked = 0
        """First proofs requested so far."""
        self._ahead: asyncio.Task[Sequence[Draft]] | None = None
        """The next batch, which is sampled while Lean tries the current one."""
        self._forbidden = ""
        """Why the rules forbid the last proof that they forbid."""
        self._seen: set[str] = set()
        self._last_new = 0
        """Number of the last sample with a new script."""
        self._found: ProofTree | None = None
        self._state = ""

    def _statistics(self) -> SearchStatistics:
        return self.statistics

    def _nodes(self) -> int:
        return 1 if self._state else 0

    def _proof(self) -> ProofTree | None:
        return self._found

    async def _played(self) -> tuple[AttemptOutcome, str, Ended | None]:
        """Raises BadStatement, BusError, ProofsUnavailable."""
        try:
            self._state = await self._timed(self._environment.open())
            ended = await self._batches()
        except TimeIsUp:
            ended = Ended.SECONDS
        finally:
            await self._drop_ahead()
        if ended is None:
            return AttemptOutcome.PROVED, "", None
        outcome, lost = unsolved(self.statistics, ended)
        return outcome, "; ".join(filter(None, [self._ending(ended), lost, *self._tally()])), ended

    def _ending(self, ended: Ended) -> str:
        if ended is Ended.EXHAUSTED:
            return f"no more proofs were to be had after {self.simulations}"
        return self._budget.describe(ended)

    def _tally(self) -> list[str]:
        """The numbers of unused proofs, duplicates, corrections and refusals, as text."""
        account = self.account
        counts = {
            "proofs without use (no proof in them, or one that the rules forbid)": account.without_proof,
            "duplicates": account.duplicates,
            "corrections": account.corrections,
        }
        parts = [f"{label}: {count}" for label, count in counts.items() if count]
        forbidden = f"the last proof that the rules forbid: {self._forbidden}" if self._forbidden else ""
        return [*parts, forbidden, self._refusals(self.statistics)]

    async def _batches(self) -> Ended | None:
        """Try batches within the budget, each with its corrections. Returns None if a proof was found and accepted.

        Raises TimeIsUp, BusError, ProofsUnavailable.
        """
        while (ended := self._budget.ended(self.simulations)) is None:
            if self._idle():
                return Ended.EXHAUSTED
            requested = self._budget.simulations_left(self.simulations, self.attempt.samples)
            asking = self._ahead or self._ask(requested)
            self._ahead = None
            drafts = (await self._sampled(asking))[:requested]
            # With corrections, which count as simulations, the size of the next batch is not known yet.
            if not self.attempt.correct and len(drafts) == requested:
                self._look_ahead(self.simulations + requested)
            failed = await self._try([(draft, ()) for draft in drafts])
            for round in range(1, self.attempt.correct + 1):
                if failed is None or self._budget.ended(self.simulations) is not None:
                    break
                failed = await self._try(await self._corrections(failed, round))
            if failed is None:
                return None
            if len(drafts) < requested:
                return self._budget.ended(self.simulations) or Ended.EXHAUSTED
        return ended

    def _idle(self) -> bool:
        """True after many samples without a new script, if the budget does not limit samples. The attempt might never
        end otherwise."""
        return not self.attempt.simulations and self.simulations - self._last_new >= IDLE_SIMULATIONS

    # --- asking the source ------------------------------------------------------------------------------------------

    def _ask(self, count: int) -> asyncio.Task[Sequence[Draft]]:
        """Start to sample the next first proofs. The source may give fewer."""
        seed = self._seed("proofs", self._asked)
        request = self._request(count=count, first=self.attempt.first + self._asked, seed=seed)
        self._asked += count
        return asyncio.create_task(self._propose(request))

    def _look_ahead(self, simulations: int) -> None:
        """Start to sample the batch that follows after this number of simulations, if the budget allows one."""
        if count := self._budget.simulations_left(simulations, self.attempt.samples):
            self._ahead = self._ask(count)

    async def _sampled(self, asking: asyncio.Task[Sequence[Draft]]) -> Sequence[Draft]:
        """Raises TimeIsUp, BusError, ProofsUnavailable."""
        try:
            return await self._budget.in_time(asking)
        finally:
            if not asking.done():
                asking.cancel()
                await asyncio.gather(asking, return_exceptions=True)

    async def _corrections(self, failed: Sequence[Sample], round: int) -> list[tuple[Draft, tuple[Failed, ...]]]:
        """New versions of failed drafts, as many as the budget allows. Empty if the source cannot correct proofs.

        Raises TimeIsUp, BusError, ProofsUnavailable.
        """
        failed = failed[: self._budget.simulations_left(self.simulations, len(failed))]
        requests = [
            self._request(
                count=1,
                first=0,
                seed=self._seed("correction", each.number, round),
                correct=(*each.before, Failed(each.draft, each.script, each.errors, each.line)),
            )
            for each in failed
        ]
        replies = await self._budget.in_time(all_results(self._propose(request) for request in requests))
        return [
            (draft, request.correct) for request, drafts in zip(requests, replies, strict=True) for draft in drafts[:1]
        ]

    def _seed(self, *words: str | int) -> int:
        """Each request to the source has its own seed."""
        return derive_seed(self.attempt.seed, identity(self.attempt), *words)

    def _request(self, *, count: int, first: int, seed: int, correct: tuple[Failed, ...] = ()) -> ProofRequest:
        return ProofRequest(self.attempt.theorem, self.attempt.theorem_id, count, first, seed, correct)

    async def _propose(self, request: ProofRequest) -> Sequence[Draft]:
        """Drafts of the source, whose costs are counted. Raises ProofsUnavailable, BusError."""
        began = time.perf_counter()
        with timeline.doing("policy"):
            drafts = await self._source.propose(request)
        self.account.seconds_policy += time.perf_counter() - began
        self.account.samples += len(drafts)
        self.account.tokens += sum(draft.tokens for draft in drafts)
        return drafts

    async def _drop_ahead(self) -> None:
        """Cancel the next batch."""
        if self._ahead is not None:
            self._ahead.cancel()
            await asyncio.gather(self._ahead, return_exceptions=True)

    # --- trying what it gave ----------------------------------------------------------------------------------------

    async def _try(self, given: Sequence[tuple[Draft, tuple[Failed, ...]]]) -> list[Sample] | None:
        """Try drafts. Returns the failed samples that their source may correct, or None if a proof was accepted.

        Raises TimeIsUp, BusError.
        """
        samples = [Sample(*each, self.simulations + number) for number, each in enumerate(given, 1)]
        new = self._new(samples)
        new = new[: await self._budget.grant(self._budget.turn(), len(new))]
        outcomes = await self._timed(self._run([sample.script for sample in new]))
        solved = await self._first_accepted(new, outcomes)
        if solved:
            self.statistics.simulations = solved.number
            new = [sample for sample in new if sample.number <= solved.number]
        self._count(new, outcomes)
        if solved:
            self._found = self._tree(solved)
            return None
        return [sample for sample in samples if sample.errors]

    def _new(self, samples: Sequence[Sample]) -> list[Sample]:
        """The samples with a script that Lean has not tried. Counts all samples."""
        new, account = [], self.account
        for sample in samples:
            script = script_of(sample.draft, self.attempt.theorem.rule)
            if script.refused:
                sample.errors = self._forbidden = script.problem
            sample.script = script.text
            if not script.text:
                account.without_proof += 1
            elif script.text in self._seen:
                account.duplicates += 1
            else:
                self._seen.add(script.text)
                self._last_new = sample.number
                new.append(sample)
            account.corrections += bool(sample.before)
            self.statistics.simulations += 1
            self._playing.on_simulation()
        return new

    async def _run(self, scripts: Sequence[str]) -> dict[str, Outcome]:
        """Lean's outcome for each script. Scripts with lost outcomes are tried again."""
        outcomes = {each: _TOO_LONG for each in scripts if len(each.encode()) > MAX_TACTIC_BYTES}
        todo = [script for script in scripts if script not in outcomes]
        for _ in range(1 + MOST_LOSSES):
            parts = [todo[start : start + AT_ONCE] for start in range(0, len(todo), AT_ONCE)]
            for part in await asyncio.gather(*(self._environment.run((), part) for part in parts)):
                self._playing.on_outcomes(part.values())
                outcomes |= part
            todo = [script for script in todo if not outcomes[script].is_tactic_outcome]
            if not todo:
                break
            self.statistics.losses += len(todo)
        return outcomes

    async def _first_accepted(self, new: Sequence[Sample], outcomes: dict[str, Outcome]) -> Sample | None:
        """The first sample that Lean's workers and verification accept, or else the first unfinished one that
        verification accepts. Raises TimeIsUp, BusError."""
        for position, sample in enumerate(new, 1):
            outcome = outcomes[sample.script]
            if outcome.kind is OutcomeKind.PROVED:
                self._note_solved(sample, position)
                if await self._accepted(self._tree(sample)):
                    return sample
                sample.errors = self._refusal
                self.statistics.proofs_rejected += 1
            elif outcome.is_tactic_outcome:
                sample.errors, sample.line = words(outcome), outcome.line
                self._note_beginning(sample.script, outcome)
        verify = self._playing.verify
        if verify is None:
            return None
        for position, sample in enumerate(new, 1):
            if outcomes[sample.script].kind in _UNFINISHED and await self._accepted_in_time(sample, verify):
                self._note_solved(sample, position)
                return sample
        return None

    def _note_beginning(self, script: str, outcome: Outcome) -> None:
        if outcome.kind is OutcomeKind.GOALS:
            self.beginnings[script] = None
        elif outcome.line is not None and (text := beginning(script, outcome.line)):
            self.beginnings[text] = None

    def _note_solved(self, sample: Sample, position: int) -> None:
        """Record the cost until this proof. `position`: its place in the batch that was sent to Lean, from 1."""
        self.statistics.solved_at_simulations = sample.number
        self.statistics.solved_at_tactics = self.statistics.tactics_tried + position
        self.account.solved_at_seconds = self._budget.seconds

    def _tree(self, sample: Sample) -> ProofTree:
        """The proof as a tree: one tactic on the root state."""
        return ProofTree(sample.script, state=self._state)

    async def _accepted_in_time(self, sample: Sample, verify: Verify) -> bool:
        """Whether verification accepts a proof that workers did not finish. The attempt's clock is not paused.

        Raises TimeIsUp, BusError.
        """
        sample.errors = await self._timed(verify(self._tree(sample)))
        return not sample.errors

    def _count(self, new: Sequence[Sample], outcomes: dict[str, Outcome]) -> None:
        """Add the outcomes to the statistics."""
        statistics = self.statistics
        self.account.expansions += 1
        lost = sum(not outcomes[sample.script].is_tactic_outcome for sample in new)
        statistics.expansions_lost += lost
        self._budget.give_back(lost)
        statistics.tactics_tried += len(new)
        statistics.tactics_failed += sum(bool(sample.errors) for sample in new)


def words(outcome: Outcome) -> str:
    """Lean's error for a failed proof, in the form for corrections."""
    if outcome.kind is OutcomeKind.GOALS:
        return "unsolved goals\n" + "\n\n".join(branch.state for branch in outcome.branches)
    return outcome.message or f"Lean did not finish it: {outcome.kind}"


# ----------------------------------------------------------------------------------------------------------------------
# Plays a whole-proof attempt that collects every proof: it tries all samples of its budget, not only until the first.
#
#     source --drafts--> text rules, duplicates removed --scripts--> Lean workers --> all distinct proofs, with counts
#
# Self-play needs the proofs, and the share of samples that are proofs. Lean checks each distinct script once; samples
# that repeat a proof count as proofs, too. Proofs are not verified here: the caller verifies many of them at once. A
# script that a worker does not finish within its limits counts as no proof.


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


# ----------------------------------------------------------------------------------------------------------------------
# Plays an attempt in two phases: whole proofs first, then a tree search that starts from their correct beginnings.
#
# Whole proofs get the first half of each budget. The part of a failed proof above its first error (its beginning)
# becomes one tactic at the theorem's root state, which the search's policy proposes in addition to its own tactics. If
# it runs, the search continues from the state after it. The search gets the remaining budget.


MOST_BEGINNINGS = 16
"""Most beginnings that are proposed, all at the root state. The longest are taken."""


BEGINNINGS = "failed whole proofs"
"""The source of these tactics in results."""


class Beginnings:
    """A policy that proposes beginnings of failed proofs at the root state, and nothing at other states."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._proposals = [Proposal(text, 1.0) for text in texts]
        self._first = ""

    async def advise(self, state: str, samples: int, seed: int, again: bool = False) -> Advice:
        """The beginnings at the root state. A search's first request is for its root state."""
        self._first = self._first or state
        return Advice(list(self._proposals) if state == self._first else [], value(state), exhausted=True, samples=0)


class HybridAgent:
    """One attempt at one theorem: it has `play` and `account`, as an `AttemptAgent`."""

    def __init__(
        self,
        attempt: Attempt,
        policy: Policy | ByTurns,
        source: ProofSource,
        environment: LeanEnvironment,
        playing: Playing,
    ) -> None:
        """`source`: writes the whole proofs of the first phase. `policy`: proposes the tactics of the second."""
        self.attempt = attempt
        self.account = Account()
        self._proofs = WholeProofAgent(halved(attempt), source, environment, playing)
        self._policy = policy
        self._environment = environment
        self._playing = playing

    async def play(self) -> AttemptResult:
        """The attempt's result. All errors become results; only cancellation is raised."""
        first = await self._proofs.play()
        left = remaining(self.attempt, first.statistics)
        if first.outcome not in (AttemptOutcome.FAILED, AttemptOutcome.UNDECIDED) or left is None:
            self.account = self._proofs.account
            return first
        longest = sorted(self._proofs.beginnings, key=lambda text: -text.count("\n"))[:MOST_BEGINNINGS]
        beginnings = Part(Beginnings(longest), name=BEGINNINGS)

        def beside(policy: Policy) -> Policy:
            return MixturePolicy([Part(policy, has_values=self._playing.has_values), beginnings], strict=True)

        tree = Agent(left, wrapped(self._policy, beside), self._environment, self._playing)
        second = await tree.play()
        self.account = both_accounts(self._proofs.account, tree.account)
        outcome, words = second.outcome, f"whole proofs: {first.message}"
        if outcome is AttemptOutcome.FAILED and first.statistics.expansions_lost:
            outcome = AttemptOutcome.UNDECIDED
        return msgspec.structs.replace(
            second,
            outcome=outcome,
            message=f"{second.message}; {words}" if second.message else "",
            statistics=both(first.statistics, second.statistics),
        )


def halved(attempt: Attempt) -> Attempt:
    """The attempt with half of each budget, rounded up."""
    return msgspec.structs.replace(
        attempt,
        simulations=(attempt.simulations + 1) // 2,
        lean_attempts=(attempt.lean_attempts + 1) // 2,
        seconds=attempt.seconds / 2,
    )


def remaining(attempt: Attempt, spent: AttemptStatistics) -> Attempt | None:
    """The search's attempt with the remaining budgets; None if one is used up."""
    simulations = attempt.simulations - spent.simulations
    lean_attempts = attempt.lean_attempts - spent.lean_attempts
    seconds = attempt.seconds - (spent.seconds - spent.seconds_verify)
    budgets = (attempt.simulations, simulations), (attempt.lean_attempts, lean_attempts), (attempt.seconds, seconds)
    if any(limit and left <= 0 for limit, left in budgets):
        return None
    return msgspec.structs.replace(
        attempt,
        method=attempt.then,
        simulations=simulations if attempt.simulations else 0,
        lean_attempts=lean_attempts if attempt.lean_attempts else 0,
        seconds=seconds if attempt.seconds else 0.0,
    )


_SOLVED_AT = {
    "solved_at_simulations": "simulations",
    "solved_at_lean_attempts": "tactics_tried",
    "solved_at_seconds": "seconds",
}
"""From a statistic of the search's proof to the cost of the whole proofs that is added to it."""


def both(first: AttemptStatistics, second: AttemptStatistics) -> AttemptStatistics:
    """The sum of the statistics of whole proofs and search. End and weights are those of `second`."""
    proofs, search = msgspec.structs.asdict(first), msgspec.structs.asdict(second)
    from_search = {"ended", "weights_first", "weights_last", "shape", "parts", *_SOLVED_AT}
    total = {name: number if name in from_search else proofs[name] + number for name, number in search.items()}
    if second.solved_at_simulations:
        total |= {name: search[name] + proofs[cost] for name, cost in _SOLVED_AT.items()}
        total["solved_at_seconds"] -= first.seconds_verify
    return AttemptStatistics(**total)


def both_accounts(first: Account, second: Account) -> Account:
    """The sum of both accounts. Weights are those of `second`."""
    sums = {each.name: getattr(first, each.name) + getattr(second, each.name) for each in fields(Account)}
    return Account(**sums | {"weights_first": second.weights_first, "weights_last": second.weights_last})
