"""Plays one attempt at one theorem: its budget and its costs, final verification, the result; and the tree search that
most attempts are (`Agent`). Attempts with whole proofs are in `node.prover.whole_proof`."""

from __future__ import annotations

import asyncio
import math
import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeVar

from common.bus import BusError
from common.lean import BadStatement, Outcome, ProofTree
from common.life import timeline
from common.protocol.attempts import (
    MOST_HEADS,
    Attempt,
    AttemptOutcome,
    AttemptResult,
    AttemptStatistics,
    Ended,
    Purpose,
    SampledProof,
    SearchShape,
    value_bin,
)
from common.seeds import derive_seed
from node.lean.text.lexing import first_word
from node.prover.environment import LeanEnvironment
from node.prover.policies.combined import ByTurns, Player
from node.prover.policies.policy import Advice, BadAdvice, Policy, StateTooLong
from node.prover.policies.proofs import ProofsUnavailable
from node.prover.search.methods import ProofSearch, UnknownMethod, begin, check_method
from node.prover.search.parameters import SearchParameters
from node.prover.search.simulation import Leaf, SearchStatistics
from node.prover.search.tree import StateNode, Tree
from node.prover.search.turns import TurnSearch

T = TypeVar("T")

IDLE_SIMULATIONS = 1000
"""An attempt without a limit on simulations counts as exhausted after this many in a row without a new tactic for Lean.
Otherwise a policy that repeats itself would never use up a budget of Lean attempts."""

Verify = Callable[[ProofTree], Awaitable[str]]
"""Final verification of a proof. Returns the reason why it is refused; empty if it is accepted. Raises BusError."""


@dataclass(frozen=True)
class Playing:
    """How attempts are played, and who hears of it."""

    prover_id: str
    leaves: int = 1
    """Most expansions in flight."""
    parameters: SearchParameters = field(default_factory=SearchParameters)
    has_values: bool = False
    """Whether the policy's values are learned."""
    verify: Verify | None = None
    """Checks every proof that is found; after a refusal the attempt goes on within its budget. None: the first proof is
    the result, and whole proofs that workers did not finish count as failed."""
    on_simulation: Callable[[], None] = lambda: None
    """Called after each simulation."""
    on_outcomes: Callable[[Collection[Outcome]], None] = lambda outcomes: None
    """Called with Lean's outcomes of each expansion."""
    on_expansion: Callable[[ProofSearch, int, Expansion], None] | None = None
    """Called with each expansion that is fed to a search, the search, and the state's index there."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """The replies of policy and Lean for an expansion."""

    advice: Advice
    outcomes: dict[str, Outcome]
    policy_seconds: float = 0.0
    lean_seconds: float = 0.0


class AttemptAgent(ABC):
    """One attempt at one theorem."""

    def __init__(self, attempt: Attempt, environment: LeanEnvironment, playing: Playing) -> None:
        self.attempt = attempt
        self.account = Account()
        self._budget = Budget(attempt)
        self._environment = environment
        self._playing = playing
        self._refusal = ""
        """The reason why verification refused the last proof; empty if it accepted it."""

    @property
    def simulations(self) -> int:
        """Expansions counted, or proofs sampled, so far."""
        return self._statistics().simulations

    @abstractmethod
    async def _played(self) -> tuple[AttemptOutcome, str, Ended | None]:
        """The outcome, a message, and which limit ended an attempt without a proof. Raises BadStatement, BusError,
        BadAdvice, UnknownMethod, ProofsUnavailable."""

    @abstractmethod
    def _statistics(self) -> SearchStatistics:
        """The statistics so far."""

    @abstractmethod
    def _nodes(self) -> int:
        """Number of states in the tree."""

    def _shape(self, proof: ProofTree | None) -> SearchShape | None:
        """What the tree search did, if there was one."""
        return None

    @abstractmethod
    def _proof(self) -> ProofTree | None:
        """The proof, if there is one."""

    def _proofs(self) -> tuple[SampledProof, ...]:
        """All proofs, for attempts with `every_proof`."""
        return ()

    async def play(self) -> AttemptResult:
        """The attempt's result. All expected errors become results; cancellation is raised."""
        # 1. Play.
        budget = self._budget
        budget.start()
        ended = None
        try:
            outcome, message, ended = await self._played()
        except BadStatement as error:
            outcome, message = AttemptOutcome.BAD_STATEMENT, str(error)
        except (BusError, BadAdvice, UnknownMethod, ProofsUnavailable) as error:
            outcome, message = AttemptOutcome.ERROR, f"{type(error).__name__}: {error}"
        # 2. Report.
        proved = outcome is AttemptOutcome.PROVED
        proof = self._proof() if proved else None
        return AttemptResult(
            attempt_id=self.attempt.attempt_id,
            theorem_id=self.attempt.theorem_id,
            purpose=self.attempt.purpose,
            prover_id=self._playing.prover_id,
            outcome=outcome,
            message=message,
            proof=proof,
            proofs=self._proofs() if proved else (),
            statistics=self.account.statistics(
                self._statistics(),
                proved=proved,
                nodes=self._nodes(),
                seconds=budget.seconds + self.account.seconds_verify,
                lean_attempts=budget.lean_attempts,
                ended=ended,
                shape=self._shape(proof),
            ),
        )

    async def _accepted(self, proof: ProofTree) -> bool:
        """Whether verification accepts a proof. Expansions in flight continue; the attempt's clock is paused.

        Raises BusError.
        """
        if self._playing.verify is None:
            return True
        began = time.perf_counter()
        try:
            self._refusal = await self._playing.verify(proof)
        finally:
            seconds = time.perf_counter() - began
            self.account.seconds_verify += seconds
            self._budget.pause(seconds)
        return not self._refusal

    async def _timed(self, work: Awaitable[T]) -> T:
        """Await work of Lean within the attempt's time limit. Raises TimeIsUp, and what the work raises."""
        began = time.perf_counter()
        try:
            return await self._budget.in_time(work)
        finally:
            self.account.seconds_lean += time.perf_counter() - began

    def _refusals(self, statistics: SearchStatistics) -> str:
        """The number of refused proofs, as text; empty if there are none."""
        refused = statistics.proofs_rejected
        return f"proofs refused by verification: {refused}, the last one: {self._refusal}" if refused else ""


def unsolved(statistics: SearchStatistics, ended: Ended = Ended.SIMULATIONS) -> tuple[AttemptOutcome, str]:
    """The outcome of an attempt without a proof, and a message about its limits.

    - A lost expansion: UNDECIDED, because a lost tactic might have been part of a proof.
    - More than half of the expansions lost: ERROR, because there was hardly a search.
    - The time limit is over: UNDECIDED, because a faster machine would have searched more.
    - The time limit is over before the first simulation: ERROR.
    - Otherwise: FAILED.
    """
    if ended is Ended.SECONDS and not statistics.simulations:
        return AttemptOutcome.ERROR, "over before the first simulation"
    lost = statistics.expansions_lost
    if not lost:
        return (AttemptOutcome.UNDECIDED if ended is Ended.SECONDS else AttemptOutcome.FAILED), ""
    outcome = AttemptOutcome.ERROR if 2 * lost > statistics.simulations else AttemptOutcome.UNDECIDED
    return outcome, f"{lost} of {statistics.simulations} expansions were lost by lean-proxies"


# ----------------------------------------------------------------------------------------------------------------------
# Counts the costs of an attempt: time, samples, tokens. Builds the statistics of its result.


@dataclass(slots=True)
class Account:
    """The costs of an attempt so far. `seconds_policy` and `seconds_lean` are waiting times, summed over expansions,
    which may overlap."""

    expansions: int = 0
    seconds_policy: float = 0.0
    seconds_lean: float = 0.0
    seconds_verify: float = 0.0
    """Time waiting for the final verification of proofs."""
    solved_at_seconds: float = 0.0
    """Time until the current proof was found."""
    samples: int = 0
    tokens: int = 0
    weights_first: int = 0
    weights_last: int = 0
    corrections: int = 0
    duplicates: int = 0
    without_proof: int = 0
    correct: int = 0

    def note_advice(self, advice: Advice) -> None:
        """Count the samples and tokens of one advice."""
        self.samples += advice.drawn
        self.tokens += advice.tokens or 0

    def note_weights(self, version: int) -> None:
        self.weights_first = self.weights_first or version
        self.weights_last = version or self.weights_last  # lists of tactics have version 0

    def statistics(self, search: SearchStatistics, *, proved: bool, **rest: Any) -> AttemptStatistics:
        """The statistics of the attempt's result. `rest`: what neither the account nor the search knows."""
        costs = asdict(self)
        if not proved:
            costs["solved_at_seconds"] = 0.0
        return AttemptStatistics(
            **costs,
            **rest,
            simulations=search.simulations,
            expansions_lost=search.expansions_lost,
            tactics_tried=search.tactics_tried,
            tactics_failed=search.tactics_failed,
            solved_at_simulations=search.solved_at_simulations if proved else 0,
            solved_at_lean_attempts=search.solved_at_tactics if proved else 0,
            proofs_rejected=search.proofs_rejected,
        )


# ----------------------------------------------------------------------------------------------------------------------
# The budget of an attempt: simulations, tactics sent to Lean, seconds. The attempt ends when one is used up.


SIMULATIONS_PER_LEAF = 8
"""At most one leaf in flight per this many simulations of the budget: virtual losses must not decide a small search."""


class TimeIsUp(Exception):
    """The attempt's time limit is over."""


@dataclass(slots=True)
class Turn:
    """An expansion's place in the order of selection."""

    before: asyncio.Event | None
    done: asyncio.Event = field(default_factory=asyncio.Event)


class Budget:
    """The budget of one attempt, and its use so far."""

    def __init__(self, attempt: Attempt, clock: Callable[[], float] = time.perf_counter) -> None:
        self._simulations = attempt.simulations or math.inf
        self._lean_attempts = attempt.lean_attempts or math.inf
        self._seconds = attempt.seconds or math.inf
        self._samples = max(1, attempt.samples)
        self._clock = clock
        self._began = clock()
        self._last: Turn | None = None
        self.lean_attempts = 0
        """Tactics that were granted and not given back."""

    def start(self) -> None:
        """Start the clock."""
        self._began = self._clock()

    def pause(self, seconds: float) -> None:
        """Exclude the last `seconds` from the attempt's time."""
        self._began += seconds

    @property
    def seconds(self) -> float:
        """Seconds since the start, without pauses."""
        return self._clock() - self._began

    def leaves(self, most: int, sent: float = 0.0) -> int:
        """Expansions that may be in flight at once: `most`, or fewer in a small search. `sent`: tactics that an
        expansion of this search has sent to Lean so far, on average; 0: none has, and the number of samples counts."""
        simulations = min(self._simulations, self._lean_attempts / (sent or self._samples))
        return max(1, int(min(most, simulations / SIMULATIONS_PER_LEAF)))

    def ended(self, simulations: int) -> Ended | None:
        """Which limit is reached after this number of simulations; None if no limit is."""
        if simulations >= self._simulations:
            return Ended.SIMULATIONS
        if self.lean_attempts >= self._lean_attempts:
            return Ended.LEAN_ATTEMPTS
        return Ended.SECONDS if self.seconds >= self._seconds else None

    def simulations_left(self, simulations: int, requested: int) -> int:
        """How many of the requested simulations are allowed after this number of simulations."""
        return int(max(0, min(requested, self._simulations - simulations)))

    def turn(self) -> Turn:
        """The turn of the next selected expansion in the order of grants."""
        self._last = Turn(self._last.done if self._last else None)
        return self._last

    async def grant(self, turn: Turn, requested: int) -> int:
        """How many of the requested tactics an expansion may send to Lean.

        Grants follow the order of selection, even if the policy replies in another order. So a limit cuts a search off
        at the same place, however fast the policy is.
        """
        if self._lean_attempts < math.inf:
            if turn.before is not None:
                await turn.before.wait()
            requested = int(min(requested, self._lean_attempts - self.lean_attempts))
        self.lean_attempts += requested
        turn.done.set()
        return requested

    def give_back(self, count: int) -> None:
        """Return granted tactics to the budget, because their outcomes were lost."""
        self.lean_attempts -= count

    async def in_time(self, work: Awaitable[T]) -> T:
        """Await some work; cancel it when the time is up. Raises TimeIsUp, and what the work raises."""
        if self._seconds == math.inf:
            return await work
        task = asyncio.ensure_future(work)
        try:
            if (left := self._seconds - self.seconds) > 0:
                await asyncio.wait({task}, timeout=left)
                if task.done():
                    return task.result()
            raise TimeIsUp
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    def describe(self, ended: Ended) -> str:
        """The reached limit, as text for the attempt's message."""
        match ended:
            case Ended.SIMULATIONS:
                return f"{self._simulations} simulations"
            case Ended.LEAN_ATTEMPTS:
                return f"{self._lean_attempts} Lean attempts"
            case Ended.SECONDS:
                return f"{self._seconds:g} seconds"
            case Ended.EXHAUSTED:
                return "no tactic is left to try"


# ----------------------------------------------------------------------------------------------------------------------
# Plays one attempt with a tree search: asks the policy and Lean, with several expansions in flight.
#
# Expansions are fed in the order of selection, not in the order in which replies arrive. So an attempt is determined by
# its seed and the contents of the replies, not by their timing (unless its budget has a time limit).


TOO_MANY_REFUSALS = "too many refused proofs ([prover.search] max_refusals)"


class Agent(AttemptAgent):
    """One attempt at one theorem, by tree search."""

    def __init__(
        self,
        attempt: Attempt,
        policy: Policy | ByTurns,
        environment: LeanEnvironment,
        playing: Playing,
    ) -> None:
        super().__init__(attempt, environment, playing)
        self.search: ProofSearch | None = None
        self._players = policy.players if isinstance(policy, ByTurns) else (Player(policy),)
        self._parameters = playing.parameters
        self._idle = 0

    def _statistics(self) -> SearchStatistics:
        return self.search.statistics if self.search else SearchStatistics()

    def _nodes(self) -> int:
        return sum(len(each.tree.nodes) for each in self.search.trees) if self.search else 0

    def _shape(self, proof: ProofTree | None) -> SearchShape | None:
        return shape_of((each.tree for each in self.search.trees), proof) if self.search else None

    def _proof(self) -> ProofTree | None:
        return self.search.proof() if self.search else None

    async def _played(self) -> tuple[AttemptOutcome, str, Ended | None]:
        """Raises BadStatement, BusError, BadAdvice, UnknownMethod."""
        check_method(self.attempt.method)
        try:
            root = await self._timed(self._environment.open())
            search = self.search = self._begun(root)
            ended = await self._simulate(search)
        except TimeIsUp:
            ended = Ended.SECONDS
        if ended is None:
            return AttemptOutcome.PROVED, "", None
        statistics = self._statistics()
        outcome, lost = unsolved(statistics, ended)
        too_many_refusals = statistics.proofs_rejected >= self._parameters.max_refusals
        limit = TOO_MANY_REFUSALS if too_many_refusals else self._budget.describe(ended)
        return outcome, "; ".join(filter(None, (limit, lost, self._refusals(statistics)))), ended

    def _begun(self, root: str) -> ProofSearch:
        """Start the search at this root state, with one tree for each policy that takes turns."""
        method, parameters, seed = self.attempt.method, self._parameters, search_seed(self.attempt)
        if len(self._players) == 1:
            return begin(method, root, parameters, seed)
        numbers = [parameters.beside(network=each.has_values) for each in self._players]
        return TurnSearch([begin(method, root, each, seed) for each in numbers])

    async def _simulate(self, search: ProofSearch) -> Ended | None:
        """Run simulations within the budget: keep `leaves` expansions in flight, and feed the oldest. Returns None if a
        proof was found and accepted. Raises TimeIsUp, BusError, BadAdvice."""
        window: deque[tuple[Leaf, asyncio.Task[Expansion | None]]] = deque()
        try:
            while not search.exhausted:
                self._select(search, window)
                if not window:
                    return self._budget.ended(search.statistics.simulations) or Ended.EXHAUSTED
                leaf, task = window[0]
                expansion = await self._budget.in_time(task)
                window.popleft()
                self._feed(search, leaf, expansion)
                while search.solved:
                    proof = search.proof()
                    if await self._accepted(proof):
                        return None
                    search.reject(proof)
                    if search.statistics.proofs_rejected >= self._parameters.max_refusals:
                        return Ended.EXHAUSTED
                if self._idle >= IDLE_SIMULATIONS and not self.attempt.simulations:
                    return Ended.EXHAUSTED
            return Ended.EXHAUSTED
        finally:
            for leaf, task in window:
                task.cancel()
                search.abandon(leaf)
            await asyncio.gather(*(task for _, task in window), return_exceptions=True)

    def _select(self, search: ProofSearch, window: deque[tuple[Leaf, asyncio.Task[Expansion | None]]]) -> None:
        """Start simulations until `leaves` expansions are in flight. Their number follows what was fed, and not what
        was sent, so that it does not depend on the order of replies."""
        simulations = search.statistics.simulations
        sent = search.statistics.tactics_tried / max(1, simulations)
        leaves = self._budget.leaves(self._playing.leaves, sent)
        while len(window) < leaves and self._budget.ended(simulations + len(window)) is None:
            leaf = search.select()
            if leaf is None:
                break
            window.append((leaf, asyncio.create_task(self._expand(leaf, self._budget.turn()))))

    def _feed(self, search: ProofSearch, leaf: Leaf, expansion: Expansion | None) -> None:
        """Finish a simulation with its expansion."""
        if expansion is None:
            search.abandon(leaf)
            return
        tried = search.statistics.tactics_tried
        advice, outcomes = expansion.advice, expansion.outcomes
        learned = self._players[leaf.turn].has_values if len(self._players) > 1 else self._playing.has_values
        if learned and leaf.node.estimate is None:
            leaf.node.estimate = advice.value
        counted = search.feed(leaf, advice.proposals, advice.value, outcomes, exhausted=advice.exhausted)
        self.account.note_weights(advice.weights)
        if self._playing.on_expansion is not None:
            self._playing.on_expansion(leaf.search, leaf.node.index, expansion)
        if search.solved:
            self.account.solved_at_seconds = self._budget.seconds
        if not counted:
            self._budget.give_back(len(outcomes))
            return
        self._budget.give_back(sum(not outcome.is_tactic_outcome for outcome in outcomes.values()))
        self._idle = 0 if search.statistics.tactics_tried > tried else self._idle + 1
        self._playing.on_simulation()

    async def _advice(self, leaf: Leaf, seed: int) -> Advice:
        """The policy's advice. A state that is too long for the policy gets no tactics; if it is the root state, the
        attempt fails. Raises BusError, BadAdvice."""
        try:
            with timeline.doing("policy"):
                policy = self._players[leaf.turn].policy
                return await policy.advise(leaf.state, self.attempt.samples, seed, again=leaf.round > 0)
        except StateTooLong as error:
            if not leaf.path:
                raise
            return error.advice()

    async def _expand(self, leaf: Leaf, turn: Turn) -> Expansion | None:
        """Ask the policy for tactics, and Lean for outcomes of the new ones. None if the limit on Lean attempts is
        reached."""
        began = time.perf_counter()
        seed = node_seed(self.attempt, leaf.number, leaf.round)
        advice = await self._advice(leaf, seed)
        advised = time.perf_counter()
        policy_seconds = advised - began
        self.account.seconds_policy += policy_seconds
        self.account.note_advice(advice)
        new = list(dict.fromkeys(p.tactic for p in advice.proposals if p.tactic not in leaf.tried))
        granted = await self._budget.grant(turn, len(new))
        if granted < len(new):
            if not granted:
                return None
            advice, new = cut_off(advice, set(new[granted:])), new[:granted]
        asked = time.perf_counter()
        outcomes = await self._environment.run(leaf.path, new)
        self._playing.on_outcomes(outcomes.values())
        lean_seconds = time.perf_counter() - asked
        self.account.seconds_lean += lean_seconds
        self.account.expansions += 1
        return Expansion(advice, outcomes, policy_seconds, lean_seconds)


def cut_off(advice: Advice, left_out: Collection[str]) -> Advice:
    """The advice without some of its tactics. The state does not count as exhausted."""
    proposals = [proposal for proposal in advice.proposals if proposal.tactic not in left_out]
    return replace(advice, proposals=proposals, exhausted=False)


def node_seed(attempt: Attempt, number: int, round: int) -> int:
    """The seed of a state's samples: derived from the attempt's seed and id, the state's index, and the sampling round.

    Evaluations leave out the attempt's id, so the same theorem with the same seed gets the same seeds before and after
    training.
    """
    return derive_seed(attempt.seed, identity(attempt), number, round)


def search_seed(attempt: Attempt) -> int:
    """The seed of the random choices that a search makes."""
    return derive_seed(attempt.seed, identity(attempt), "search")


def identity(attempt: Attempt) -> str:
    """The part of the seeds that identifies an attempt; empty for evaluations."""
    return "" if attempt.purpose is Purpose.EVAL else attempt.attempt_id


# ----------------------------------------------------------------------------------------------------------------------
# What a search did with its expansions, counted once at its end: dead ends, choices, depth, values, tactics.

OTHERS = "…"
"""The name under which rare heads, and tactics without one, are counted."""


def shape_of(trees: Iterable[Tree], proof: ProofTree | None = None) -> SearchShape:
    """The counts over all trees of an attempt. `proof`: the proof that the attempt reports, if it has one."""
    # 1. The states of the proof: those that its best actions lead to.
    nodes, on_proof = expanded(trees, proof)
    dead = [node for node in nodes if node.steps is None and not node.live]
    # 2. The network's values, where it gave one: how far off they are, and whether they tell solved from unsolved.
    valued = [(node, node.estimate) for node in nodes if node.estimate is not None]
    errors: tuple[list[float], list[float]] = ([], [])
    solved, unsolved = Counter[int](), Counter[int]()
    for node, estimate in valued:
        if node.steps is not None:
            errors[node in on_proof].append(abs(estimate + node.steps))
        if node not in on_proof:
            (unsolved if node.steps is None else solved)[value_bin(estimate)] += 1
    # 3. All of it.
    return SearchShape(
        expanded=len(nodes),
        expansions=sum(node.expansions for node in nodes),
        dead=len(dead),
        dead_expansions=sum(node.expansions for node in dead),
        choices=sum(sum(action.visits > 0 for action in node.actions) > 1 for node in nodes),
        depth=max((node.depth for node in nodes), default=0),
        depths=sum(node.depth * node.expansions for node in nodes),
        proof_steps=proof.remaining_steps if proof is not None else 0,
        on_proof=len(errors[True]),
        error_on_proof=round(sum(errors[True]), 3),
        off_proof=len(errors[False]),
        error_off_proof=round(sum(errors[False]), 3),
        solved=listed(solved),
        unsolved=listed(unsolved),
        **heads_of(nodes, proof),
    )


def expanded(trees: Iterable[Tree], proof: ProofTree | None) -> tuple[list[StateNode], set[StateNode]]:
    """All expanded states, and the states of the proof."""
    nodes, on_proof = [], set[StateNode]()
    for tree in trees:
        nodes += [node for node in tree.nodes if node.expansions]
        if proof is not None and tree.root.steps is not None:
            on_proof |= states_of(tree.root)
    return nodes, on_proof


def listed(counts: Counter[int]) -> tuple[int, ...]:
    """The counts by place, up to the last that is not 0."""
    return tuple(counts[place] for place in range(1 + max(counts, default=-1)))


def states_of(root: StateNode) -> set[StateNode]:
    """The states of the shortest known proof of a state."""
    found, todo = {root}, [root]
    while todo:
        best = todo.pop().best
        for child in best.children if best is not None else ():
            if child not in found:
                found.add(child)
                todo.append(child)
    return found


def heads_of(nodes: Iterable[StateNode], proof: ProofTree | None) -> dict[str, dict[str, int]]:
    """By first word, how many tactics were `tried`, were `legal`, and are `used` in the proof."""
    # 1. Tactics that failed, or led nowhere new, have no action.
    tried, legal, used = Counter[str](), Counter[str](), Counter[str]()
    for node in nodes:
        for tactic, action in node.tried.items():
            head = first_word(tactic) or OTHERS
            tried[head] += 1
            legal[head] += action is not None
    todo = [proof] if proof is not None else []
    while todo:
        step = todo.pop()
        used[first_word(step.tactic) or OTHERS] += 1
        todo += step.children
    # 2. Heads of the proof are kept, then the most frequent ones; what is rarer counts together.
    order = sorted({*tried, *used} - {OTHERS}, key=lambda head: (-used[head], -tried[head], head))
    rare = set(order[MOST_HEADS:])
    counts = {"tried": tried, "legal": legal, "used": used}
    for each in counts.values():
        each[OTHERS] += sum(each.pop(head, 0) for head in rare)
    return {name: {head: each[head] for head in (*order, OTHERS) if each[head]} for name, each in counts.items()}
