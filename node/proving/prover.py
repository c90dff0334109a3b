"""Proves theorems: closing tactics, names of the file, tree searches, and Lean's library search; and the portfolio of
searches that shares their time.

async with local_prover(lean, settings) as prover:      # or mesh_prover(url, run, settings)
    found = await prover.find(theorem, Budget(seconds=20))
    verdict = await prover.verify(theorem, found.script)
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from common.bus import BusError
from common.lean import BadStatement, Outcome, OutcomeKind, ProofTree, Theorem
from common.life.waiting import as_they_end
from common.protocol.attempts import Attempt, AttemptOutcome, AttemptResult, Ended, KeptSearch, Method, Purpose
from common.protocol.messages import LeanVerifyReply, MessageError
from node.lean.text.allowed import rule_of
from node.lean.text.rules import proof_problem
from node.lean.text.script import indented
from node.lean.text.statement import imports
from node.lean.worker.reading import PARSER_MESSAGE
from node.play.attempts import Attempts, ProvingFailed
from node.play.policies import check, check_for_mesh, label_of, of_the_demo, parse
from node.prover.environment import LeanEnvironment
from node.prover.policies.fixed import CLOSING as LIST_CLOSING
from node.prover.policies.goal_tactics import read_goal
from node.prover.policies.names import HF, BadPolicy
from node.prover.policies.premises import candidates, premises_of
from node.proving.finishing import Unwritable, finished
from node.proving.settings import ProvingSettings

if TYPE_CHECKING:
    from common.bus import BusSettings
    from node.lean.opened import OpenedLean
    from node.prover.player import Watch

LONGEST_TACTIC = 0.25
"""Most time for one candidate tactic, as a share of the theorem's time."""

IS_PROOF = "show (_ : Prop)"
"""A tactic that fails if the goal is not a proposition."""

OPEN_PATIENCE = 600.0
"""Seconds to wait until Lean has elaborated a theorem. A cold import of Mathlib can take minutes."""

FINISHING_PATIENCE = 5.0
"""Seconds of retries with busy lean-proxies when a proof is shortened. It is short, because a long proof is fine."""

VERIFY_PATIENCE = 120.0
"""Seconds to wait for a mesh's verdict. Fresh processes take about 0.4 s, on a busy proxy longer."""

CONNECT_SECONDS = 3.0
"""Seconds to wait for the broker that was named on the command line."""

OUTAGE_SECONDS = 30.0
"""Seconds to wait for a broker that was lost meanwhile; a restart takes one to three."""

MESH_AT_ONCE = 8
"""Theorems that are sent to a mesh at once. Its provers queue them."""


@dataclass(frozen=True)
class Budget:
    """The limits for one theorem. The first limit that is reached ends the search."""

    seconds: float = 20.0
    simulations: int = 2000
    """Expansions of proof states."""
    lean_attempts: int = 0
    """Most tactics that searches may send to Lean; 0: no limit. Closing tactics, names of the file and library searches
    are not counted."""


@dataclass(frozen=True)
class Found:
    """The result of a search."""

    outcome: AttemptOutcome
    """`proved`, `failed` or `bad-statement`. Failures of infrastructure are raised."""
    script: tuple[str, ...] = ()
    """The proof, line by line; the first line begins in column 0."""
    reason: str = ""
    """Why there is no proof; or Lean's error about the statement."""
    proof: ProofTree | None = None
    """The proof that the search found, before shortening. `script` may differ."""
    simulations: int = 0
    seconds: float = 0.0
    by: str = ""
    """The source of the proof: `closing tactics`, `list of tactics`, `network`, `network and list`, `the mesh`, or the
    name of a tactic that searched the library."""


@dataclass(frozen=True)
class _Proof:
    """A proof and its source."""

    tree: ProofTree
    by: str


@dataclass
class _Task:
    """The state of one theorem in the portfolio."""

    theorem: Theorem
    budget: Budget
    tactic_seconds: float
    environment: LeanEnvironment
    deadline: float = 0.0
    limit: asyncio.Timeout | None = None
    """The timeout that ends the portfolio at the deadline."""
    simulations: int = 0
    lean_attempts: int = 0
    reason: str = ""

    @property
    def left(self) -> float:
        """Seconds that remain."""
        return self.deadline - time.monotonic()

    def lean_attempts_of(self, share: float) -> int | None:
        """Tactics that a search may send to Lean, as a share of the remaining ones. 0: no limit; None: none remain."""
        if not self.budget.lean_attempts:
            return 0
        left = self.budget.lean_attempts - self.lean_attempts
        return max(1, round(share * left)) if left > 0 else None


Kept = Callable[[KeptSearch], None]
"""Gets the search of an attempt."""


class TheoremProver:
    """Finds proofs, and has Lean verify them. Several theorems may be searched concurrently."""

    def __init__(
        self,
        attempts: Attempts,
        settings: ProvingSettings,
        closing: ClosingTactics,
        *,
        lean: OpenedLean | None = None,
        prepare: bool = False,
        note: Callable[[str], None] = lambda text: None,
        kept: Kept | None = None,
    ) -> None:
        """`lean`: the Lean of this process, for searches of its library; None on a mesh, which has none. `prepare`:
        prepare the verification while the search runs, which saves time if a proof is found. `note` is called for
        damaged checkpoints. `kept` gets the search of each attempt."""
        self._attempts = attempts
        self._settings = settings
        self._rule = rule_of(settings.allow, settings.ban)
        self._closing = closing
        self._lean = lean
        self._prepare = prepare
        self._note = note
        self._kept = kept
        self._network: str | None = None

    async def find(self, theorem: Theorem, budget: Budget) -> Found:
        """Search for a proof, without final verification. The time starts when Lean has elaborated the statement.

        Raises ProvingFailed, BadPolicy.
        """
        try:
            return await self._find(self._ruled(theorem), budget)
        except (BusError, MessageError) as error:  # too large a theorem is a MessageError
            raise ProvingFailed(f"the search was cut short: {error}") from error

    async def _find(self, theorem: Theorem, budget: Budget) -> Found:
        # 1. Elaborate the statement.
        began = time.monotonic()
        longest = self._lean.settings.resolved_tactic_seconds() if self._lean else budget.seconds
        seconds = min(longest, max(1.0, LONGEST_TACTIC * budget.seconds))
        task = _Task(theorem, budget, seconds, self._environment(theorem, seconds, OPEN_PATIENCE))
        try:
            if self._prepare and self._lean:  # with a large library, its import takes most of the time
                self._lean.prepare(theorem)
            await _proposition(self._unruled(theorem, seconds), theorem, await task.environment.open())
            # 2. Search.
            task.deadline = time.monotonic() + budget.seconds
            proof = await self._portfolio(task)
        except BadStatement as error:
            return Found(AttemptOutcome.BAD_STATEMENT, reason=str(error), seconds=time.monotonic() - began)
        if proof is None:
            if trouble := await self._attempts.trouble(self._settings.policy):
                raise ProvingFailed(f"the search was cut short: {trouble}")
            reason = task.reason or f"no proof within {budget.seconds:g} s"
            return self._failed(task, reason, time.monotonic() - began)
        # 3. Make the proof readable. Whole proofs stay as their author wrote them.
        shorten = self._settings.shorten and not self._settings.whole_proofs
        environment = self._environment(theorem, seconds, FINISHING_PATIENCE)
        closing = self._closing.for_theorem(theorem)
        try:
            script = await finished(proof.tree, environment, closing, task.left if shorten else None)
        except Unwritable as error:
            return self._failed(task, str(error), time.monotonic() - began)
        if self._rule is not None and (problem := proof_problem("\n".join(script), self._rule)):
            return self._failed(task, f"the proof that was found is refused: {problem}", time.monotonic() - began)
        return Found(
            AttemptOutcome.PROVED,
            script,
            proof=proof.tree,
            simulations=task.simulations,
            seconds=time.monotonic() - began,
            by=proof.by,
        )

    async def verify(self, theorem: Theorem, script: Sequence[str]) -> LeanVerifyReply:
        """Lean's verdict on a proof (its lines, the first in column 0), from fresh processes. Raises ProvingFailed."""
        try:
            return await self._attempts.verify(self._ruled(theorem), indented(script))
        except (BusError, MessageError) as error:
            raise ProvingFailed(f"the proof that was found could not be verified: {error}") from error

    async def keep_header(self, theorem: Theorem) -> None:
        """Keep Lean's state after the imports of a theorem that was searched, for later commands, if they take long."""
        if self._prepare and self._lean:
            saving = "saving Lean's state after the imports for later commands (Ctrl-C skips this)"
            await self._lean.verifier.statements.single.keep_header(theorem, lambda: self._note(saving))

    def _ruled(self, theorem: Theorem) -> Theorem:
        """The theorem with the rule for tactics of the settings."""
        return theorem if self._rule is None else msgspec.structs.replace(theorem, rule=self._rule)

    def _environment(self, theorem: Theorem, tactic_seconds: float, patience: float) -> LeanEnvironment:
        return LeanEnvironment(self._attempts.asking, theorem, tactic_timeout=tactic_seconds, patience=patience)

    def _unruled(self, theorem: Theorem, tactic_seconds: float) -> LeanEnvironment:
        """For questions of ours about the goal, which are no part of a proof."""
        return self._environment(msgspec.structs.replace(theorem, rule=None), tactic_seconds, OPEN_PATIENCE)

    def _failed(self, task: _Task, reason: str, seconds: float) -> Found:
        return Found(AttemptOutcome.FAILED, reason=reason, simulations=task.simulations, seconds=seconds)

    async def _portfolio(self, task: _Task) -> _Proof | None:
        """Closing tactics first. Then concurrently names of the file, tree searches and a library search. The first
        proof counts. Raises ProvingFailed, BusError."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, task.left) + self._attempts.late) as task.limit:
                return await self._close(task) or await _first(
                    self._neighbours(task), self._searches(task), self._library(task)
                )
        return None

    async def _close(self, task: _Task) -> _Proof | None:
        """All closing tactics in one batch."""
        order = self._closing.for_theorem(task.theorem)
        outcomes = await task.environment.run((), order)
        self._closing.learn(task.theorem, outcomes)
        tactic = first_proof(outcomes, order)
        return _Proof(ProofTree(tactic), "closing tactics") if tactic else None

    async def _neighbours(self, task: _Task) -> _Proof | None:
        """Tactics with names of the file, for a gap in a file. Raises BusError."""
        premises = premises_of(task.theorem)
        if premises is None:
            return None
        proposed = candidates(read_goal(await task.environment.open()), premises)
        order = [tactic for tactic in proposed if not self._closing.unknown(task.theorem, tactic)]
        outcomes = await task.environment.run((), order)
        tactic = first_proof(outcomes, order)
        return _Proof(ProofTree(tactic), "the file's own names") if tactic else None

    async def _library(self, task: _Task) -> _Proof | None:
        """Lean's library search. It starts later, because easy theorems do not need it. Raises BusError."""
        if self._lean is None or not self._settings.searching:
            return None
        await asyncio.sleep(min(SEARCHING_AFTER, task.left / 2))
        for searching in self._settings.searching:
            tactic = await self._lean.suggestion(task.theorem, searching, max(1.0, task.left))
            if tactic:
                return _Proof(ProofTree(tactic), searching)
        return None

    async def _searches(self, task: _Task) -> _Proof | None:
        """One search after the other. Raises ProvingFailed, BadPolicy, BusError."""
        for stage in self._stages():
            try:
                await self._open(task, stage.policy)
            except BadPolicy as error:
                if self._settings.policy:
                    raise
                self._note(f"warning: {error}")
                self._network = ""  # the user did not name this network, so go on with the list alone
                continue
            proof = await self._search(task, stage)
            if proof is not None:
                return proof
        return None

    def _stages(self) -> list[Stage]:
        if self._lean is None:
            return [Stage(self._settings.policy, 1.0)]
        if self._network is None and not self._settings.policy:
            checkpoint = of_the_demo(self._note)
            self._network = f"own:{checkpoint}" if checkpoint else ""
        return stages(self._settings.policy, self._network or "")

    async def _search(self, task: _Task, stage: Stage) -> _Proof | None:
        """One search, with its share of the remaining time and simulations. Raises ProvingFailed, BadStatement,
        BusError."""
        # 1. The attempt.
        lean_attempts = task.lean_attempts_of(stage.share)
        if lean_attempts is None:
            return None
        # In this process the name seeds the search; on a mesh an id must be unique among everybody's attempts.
        attempt_id = task.theorem.name if self._lean else f"interactive-{secrets.token_hex(8)}"
        attempt = Attempt(
            attempt_id=attempt_id,
            theorem_id=attempt_id,
            theorem=task.theorem,
            purpose=Purpose.INTERACTIVE,
            simulations=max(1, round(stage.share * (task.budget.simulations - task.simulations))),
            seed=0,
            samples=self._settings.samples,
            method=self._settings.method,
            lean_attempts=lean_attempts,
            seconds=max(0.001, stage.share * task.left),
            correct=self._settings.correct,
            then=self._settings.then,
            policy=stage.policy,
            # Verification also decides about whole proofs that workers do not finish.
            verify=self._settings.whole_proofs,
            tactic_seconds=task.tactic_seconds,
            keep_search=self._kept is not None,
        )
        # 2. Its result, and what it cost.
        result = await self._attempts.play(attempt)
        task.simulations += result.statistics.simulations
        task.lean_attempts += result.statistics.lean_attempts
        if self._kept is not None and result.search is not None:
            self._kept(result.search)
        match result.outcome:
            case AttemptOutcome.PROVED if result.proof is not None:
                return _Proof(result.proof, label_of(parse(stage.policy)) if self._lean else "the mesh")
            case _ if result.statistics.ended is Ended.SECONDS:
                task.reason = ""
                return None
            case AttemptOutcome.FAILED | AttemptOutcome.UNDECIDED:
                task.reason = result.message
                return None
            case AttemptOutcome.BAD_STATEMENT:
                raise BadStatement(result.message)
        raise ProvingFailed(f"the search was cut short: {await self._cause(result)}")

    async def _cause(self, result: AttemptResult) -> str:
        """Why there is no result about the theorem. Raises BusError."""
        trouble = await self._attempts.trouble(self._settings.policy)
        return f"{trouble} ({result.message})" if trouble and result.message else trouble or result.message

    async def _open(self, task: _Task, policy: str) -> None:
        """Make the policy ready. Loading a model in this process may take minutes, and does not count as the theorem's
        time. Raises BadPolicy, ProvingFailed, BusError."""
        # Closing tactics of an imported library (grind, aesop, ...) help at every state, not only at the root.
        closing = [*LIST_CLOSING, *(each for each in self._closing.known() if each not in (*LIST_CLOSING, "omega"))]
        limit, settings = task.limit, self._settings
        loads = self._lean is not None and (settings.premises or any(name.kind == HF for name in parse(policy)))
        if limit is None or not loads:
            await self._attempts.open(policy, closing)
            return
        began = time.monotonic()
        limit.reschedule(None)
        try:
            await self._attempts.open(policy, closing)
        finally:
            task.deadline += time.monotonic() - began
            limit.reschedule(asyncio.get_running_loop().time() + task.left + self._attempts.late)


async def _proposition(environment: LeanEnvironment, theorem: Theorem, state: str) -> None:
    """Raises BadStatement if a gap in a file needs a value, not a proof."""
    if theorem.place is None:
        return
    if (await environment.run((), [IS_PROOF]))[IS_PROOF].kind is OutcomeKind.ERROR:
        raise BadStatement(f"a value is missing here, not a proof: {state.partition('⊢')[2].strip()}")


async def _first(*attempts: Coroutine[Any, Any, _Proof | None]) -> _Proof | None:
    """The first proof of several concurrent attempts; None if none finds a proof."""
    tasks = [asyncio.ensure_future(attempt) for attempt in attempts]
    try:
        async for task in as_they_end(*tasks):
            if proof := task.result():
                return proof
        return None
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def local_prover(
    lean: OpenedLean,
    settings: ProvingSettings | None = None,
    *,
    note: Callable[[str], None] = lambda text: None,
    watch: Watch | None = None,
    prepare: bool = False,
) -> AsyncIterator[TheoremProver]:
    """A prover in this process for the block. `watch` records searches (`node.prover.player`). For `prepare` and `note`
    see `TheoremProver`.

    Raises BadPolicy if the configured policy cannot be used.
    """
    from node.play.here import LocalAttempts
    from node.prover.settings import ProverSettings

    settings = settings or ProvingSettings()
    if settings.policy:
        check(settings.policy, settings.method, settings.then, settings.correct, note)
    elif settings.whole_proofs:
        raise BadPolicy(f"the method {Method.WHOLE_PROOF} needs --policy, with one that writes whole proofs")
    closing = ClosingTactics(settings.closing)
    prover = ProverSettings(
        policy="",
        premises=settings.premises,
    )
    async with LocalAttempts(
        lean, prover, models=settings.models, unknown=closing.unknown, watch=watch, note=note
    ) as attempts:
        yield TheoremProver(attempts, settings, closing, lean=lean, prepare=prepare, note=note)


@asynccontextmanager
async def mesh_prover(
    broker: str | BusSettings, run: str, settings: ProvingSettings | None = None, *, kept: Kept | None = None
) -> AsyncIterator[TheoremProver]:
    """A prover on a running mesh for the block. `broker`: its address, or how to connect. `kept` gets the search of
    each attempt.

    Raises BadPolicy if the mesh cannot use the configured policy, and ProvingFailed if its broker cannot be reached.
    """
    from common.bus import Bus, BusSettings
    from node.play.mesh import MeshAttempts

    where = BusSettings(url=broker) if isinstance(broker, str) else broker
    settings = settings or ProvingSettings()
    check_for_mesh(settings.policy, settings.method, settings.then, settings.correct)
    try:
        bus = await Bus.connect(where, run=run, name="prove", wait=CONNECT_SECONDS, outage=OUTAGE_SECONDS)
    except BusError as error:
        raise ProvingFailed(str(error)) from error
    try:
        async with contextlib.AsyncExitStack() as stack:
            try:
                attempts = MeshAttempts(bus, bus.new_client("prove"), verify_patience=VERIFY_PATIENCE)
                await stack.enter_async_context(attempts)
                await attempts.open(settings.policy)
            except BusError as error:
                raise ProvingFailed(str(error)) from error
            yield TheoremProver(attempts, settings, ClosingTactics(settings.closing), kept=kept)
    finally:
        await bus.close()


# ----------------------------------------------------------------------------------------------------------------------
# The portfolio of an interactive proof: closing tactics in one batch, then a sequence of searches. Pure.
#
# Files differ in their imports, so tactics that Lean cannot parse are remembered for each set of imports.


FIRST_PART = 0.4
"""Share of the budget for the list of tactics alone. Then a network joins, which takes seconds to load."""

SEARCHING_AFTER = 2.0
"""Seconds of search before the library search starts. Easy theorems are proved by then."""


@dataclass(frozen=True)
class Stage:
    """One search: its policy, and its share of the remaining time and simulations."""

    policy: str
    share: float


def stages(policy: str, network: str) -> list[Stage]:
    """The searches for a theorem. `policy`: the configured one, or empty; `network`: the default network, or empty."""
    if policy:
        return [Stage(policy, 1.0)]
    if not network:
        return [Stage("tactics", 1.0)]
    return [Stage("tactics", FIRST_PART), Stage(f"{network}+tactics", 1.0)]


class ClosingTactics:
    """The configured closing tactics, without those that Lean cannot parse."""

    def __init__(self, tactics: Sequence[str]) -> None:
        self._all = tuple(dict.fromkeys(tactics))
        self._unknown: dict[tuple[str, ...], set[str]] = {}

    def for_theorem(self, theorem: Theorem) -> list[str]:
        """The tactics to try on a theorem, in order."""
        unknown = self._unknown.get(_imports(theorem), set())
        return [tactic for tactic in self._all if tactic not in unknown]

    def known(self) -> list[str]:
        """The tactics that Lean has parsed wherever they were tried."""
        unknown = set().union(*self._unknown.values())
        return [tactic for tactic in self._all if tactic not in unknown]

    def unknown(self, theorem: Theorem, tactic: str) -> bool:
        """Whether a tactic contains one that Lean could not parse, such as `grind` in `induction n <;> grind`."""
        unknown = self._unknown.get(_imports(theorem), set())
        return bool(unknown) and not unknown.isdisjoint(re.findall(r"\w+", tactic))

    def learn(self, theorem: Theorem, outcomes: Mapping[str, Outcome]) -> None:
        """Remember the tactics that do not parse. Parsing does not depend on the goal."""
        unparsable = {tactic for tactic, outcome in outcomes.items() if is_unparsable(outcome)}
        self._unknown.setdefault(_imports(theorem), set()).update(unparsable)


def is_unparsable(outcome: Outcome) -> bool:
    """Whether Lean's parser refused a tactic."""
    return outcome.kind is OutcomeKind.ERROR and bool(PARSER_MESSAGE.match(outcome.message))


def first_proof(outcomes: Mapping[str, Outcome], order: Sequence[str]) -> str:
    """The first tactic that closes the goal; empty if none does."""
    return next((tactic for tactic in order if outcomes[tactic].kind is OutcomeKind.PROVED), "")


def _imports(theorem: Theorem) -> tuple[str, ...]:
    return tuple(imports(theorem.place.context.text if theorem.place is not None else theorem.header))
