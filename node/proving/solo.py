"""Proves theorems in this process: closing tactics, tree search with local Lean workers, and Lean's library search.

async with SoloProver(lean, settings) as prover:
    found = await prover.find(theorem, Budget(seconds=20))
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from common.lean import BadStatement, OutcomeKind, ProofTree, Theorem
from common.life.waiting import as_they_end
from common.protocol.attempts import Attempt, AttemptOutcome, Method, Purpose
from common.protocol.messages import LeanVerifyReply
from node.lean.text.script import proof_lines
from node.prover.agents.agent import Expansion
from node.prover.agents.attempt_agent import Verify
from node.prover.agents.by_method import agent_of
from node.prover.methods.by_name import ProofSearch
from node.prover.methods.turns import ByTurns, wrapped
from node.prover.policies.fixed.goal_text import read_goal
from node.prover.policies.fixed.policy import CLOSING as LIST_CLOSING
from node.prover.policies.guided import open_guide
from node.prover.policies.interactive import premises_of, with_premises
from node.prover.policies.names import HF
from node.prover.policies.policy import Policy
from node.prover.policies.premises import candidates
from node.prover.policies.retrieved import open_source
from node.proving.checkpoints import BadPolicy, of_the_demo
from node.proving.finishing import Unwritable, finished
from node.proving.local_lean import LocalEnvironment, LocalLean
from node.proving.policies import OpenedPolicy, check, open_policy, parse
from node.proving.portfolio import SEARCHING_AFTER, ClosingTactics, first_proof, stages
from node.proving.prover import Budget, Found, ProvingFailed
from node.proving.settings import ProvingSettings

Watch = Callable[[Theorem], Callable[[ProofSearch, int, Expansion], None]]
"""Gives the callback for the expansions of a theorem's searches: `on_expansion` of `Agent`."""

LEAVES = 4
"""Expansions in flight within a search."""

LONGEST_TACTIC = 0.25
"""Most time for one candidate tactic, as a share of the theorem's time."""

IS_PROOF = "show (_ : Prop)"
"""A tactic that fails if the goal is not a proposition."""


@dataclass(frozen=True)
class _Proof:
    """A proof and its source."""

    tree: ProofTree
    by: str


@dataclass
class _Task:
    """The state of one theorem in the portfolio."""

    theorem: Theorem
    environment: LocalEnvironment
    deadline: float
    budget: Budget
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


class SoloProver:
    """`TheoremProver` in this process. Use it with `async with`, or call `stop`, to unload its networks."""

    def __init__(
        self,
        lean: LocalLean,
        settings: ProvingSettings | None = None,
        *,
        note: Callable[[str], None] = lambda text: None,
        watch: Watch | None = None,
        prepare: bool = False,
    ) -> None:
        """`note` is called for damaged checkpoints. `watch` records searches. `prepare`: prepare the verification while
        the search runs, which saves time if a proof is found.

        Raises BadPolicy if the configured policy cannot be used.
        """
        self._lean = lean
        self._settings = settings or ProvingSettings()
        self._note = note
        self._watch = watch
        self._prepare = prepare
        self._closing = ClosingTactics(self._settings.closing)
        self._stack = AsyncExitStack()
        self._policies: dict[str, asyncio.Task[OpenedPolicy]] = {}
        self._network: str | None = None
        self._premises = open_source(self._settings.premises)
        self._guide = open_guide(self._settings.progress, self._settings.guidance)
        if self._settings.policy:
            how = self._settings
            check(how.policy, how.method, how.then, how.correct, note)
        elif self._settings.whole_proofs:
            raise BadPolicy(f"the method {Method.WHOLE_PROOF} needs --policy, with one that writes whole proofs")

    async def __aenter__(self) -> SoloProver:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Unload the networks."""
        for opening in self._policies.values():
            opening.cancel()
        await asyncio.gather(*self._policies.values(), return_exceptions=True)
        await self._stack.aclose()

    async def find(self, theorem: Theorem, budget: Budget) -> Found:
        """Search for a proof, without final verification. The time starts when Lean has elaborated the statement.

        Raises ProvingFailed, BadPolicy.
        """
        began = time.monotonic()
        seconds = min(self._lean.settings.tactic_seconds, max(1.0, LONGEST_TACTIC * budget.seconds))
        task = _Task(theorem, self._lean.environment(theorem, seconds), 0.0, budget)
        try:
            await _proposition(task.environment, theorem, await task.environment.open())
            if self._prepare:
                self._lean.prepare(theorem)
            task.deadline = time.monotonic() + budget.seconds
            proof = await self._portfolio(task)
        except BadStatement as error:
            return Found(AttemptOutcome.BAD_STATEMENT, reason=str(error), seconds=time.monotonic() - began)
        if proof is None and (trouble := self._trouble()):
            raise ProvingFailed(f"the search was cut short: {trouble}")
        if proof is None:
            reason = task.reason or f"no proof within {budget.seconds:g} s"
            return self._failed(task, reason, time.monotonic() - began)
        closing = self._closing.for_theorem(theorem)
        try:
            shorten = self._settings.shorten and not self._settings.whole_proofs
            left = task.left if shorten else None  # whole proofs stay as their author wrote them
            script = await finished(proof.tree, task.environment, closing, left)
        except Unwritable as error:
            return self._failed(task, str(error), time.monotonic() - began)
        return Found(
            AttemptOutcome.PROVED,
            script,
            proof=proof.tree,
            simulations=task.simulations,
            seconds=time.monotonic() - began,
            by=proof.by,
        )

    async def verify(self, theorem: Theorem, script: Sequence[str]) -> LeanVerifyReply:
        """Lean's verdict on a proof, from fresh processes. Raises ProvingFailed."""
        return await self._lean.verify(theorem, script)

    def _failed(self, task: _Task, reason: str, seconds: float) -> Found:
        return Found(AttemptOutcome.FAILED, reason=reason, simulations=task.simulations, seconds=seconds)

    async def _portfolio(self, task: _Task) -> _Proof | None:
        """Closing tactics first. Then concurrently names of the file, tree searches and a library search. The first
        proof counts. Raises ProvingFailed."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, task.left)) as task.limit:
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
        """Tactics with names of the file, for a gap in a file. Raises ProvingFailed."""
        premises = premises_of(task.theorem)
        if premises is None:
            return None
        proposed = candidates(read_goal(await task.environment.open()), premises)
        order = [tactic for tactic in proposed if not self._closing.unknown(task.theorem, tactic)]
        outcomes = await task.environment.run((), order)
        tactic = first_proof(outcomes, order)
        return _Proof(ProofTree(tactic), "the file's own names") if tactic else None

    async def _library(self, task: _Task) -> _Proof | None:
        """Lean's library search. It starts later, because easy theorems do not need it."""
        if self._settings.searching:
            await asyncio.sleep(min(SEARCHING_AFTER, task.left / 2))
        for searching in self._settings.searching:
            tactic = await self._lean.suggestion(task.theorem, searching, max(1.0, task.left))
            if tactic:
                return _Proof(ProofTree(tactic), searching)
        return None

    async def _searches(self, task: _Task) -> _Proof | None:
        """One search after the other. Raises ProvingFailed, BadPolicy."""
        for stage in stages(self._settings.policy, self._network_at_hand()):
            try:
                opened = await self._opened_for(task, stage.policy)
            except BadPolicy as error:
                if self._settings.policy:
                    raise
                self._note(f"warning: {error}")
                self._network = ""  # the user did not name this network, so go on with the list alone
                continue
            proof = await self._search(task, opened, stage.share)
            if proof is not None:
                return proof
        return None

    async def _search(self, task: _Task, opened: OpenedPolicy, share: float) -> _Proof | None:
        """One search, with a share of the remaining time and simulations. Raises ProvingFailed."""
        seconds, lean_attempts = share * task.left, task.lean_attempts_of(share)
        if lean_attempts is None:
            return None
        attempt = Attempt(
            attempt_id=task.theorem.name,
            theorem_id=task.theorem.name,
            theorem=task.theorem,
            purpose=Purpose.INTERACTIVE,
            simulations=max(1, round(share * (task.budget.simulations - task.simulations))),
            seed=0,
            samples=self._settings.samples,
            method=self._settings.method,
            lean_attempts=lean_attempts,
            correct=self._settings.correct,
            then=self._settings.then,
        )
        agent = agent_of(
            *(attempt, self._policy(opened, task.theorem), opened.proofs, task.environment),
            prover_id="solo",
            leaves=LEAVES,
            has_values=opened.network,
            parameters=opened.parameters,
            on_expansion=self._watch(task.theorem) if self._watch else None,
            verify=self._verification(task.theorem) if self._settings.whole_proofs else None,
        )
        try:
            async with asyncio.timeout(seconds):
                result = await agent.play()
        except TimeoutError:
            task.reason = ""
            return None
        finally:
            task.simulations += agent.simulations
            task.lean_attempts += agent.lean_attempts
        match result.outcome:
            case AttemptOutcome.PROVED if result.proof is not None:
                return _Proof(result.proof, opened.label)
            case AttemptOutcome.FAILED | AttemptOutcome.UNDECIDED:
                task.reason = result.message
                return None
            case AttemptOutcome.BAD_STATEMENT:
                raise BadStatement(result.message)
        raise ProvingFailed(f"the search was cut short: {result.message}")

    def _verification(self, theorem: Theorem) -> Verify:
        """Verification of whole proofs within the attempt. It also decides about proofs that workers do not finish."""

        async def verify(proof: ProofTree) -> str:
            reply = await self._lean.verify(theorem, proof_lines(proof, ""))
            return "" if reply.accepted else reply.reason or "refused"

        return verify

    def _policy(self, opened: OpenedPolicy, theorem: Theorem) -> Policy | ByTurns:
        def unknown(tactic: str) -> bool:
            return self._closing.unknown(theorem, tactic)

        def joined(policy: Policy) -> Policy:
            return with_premises(policy, theorem, has_values=opened.network, unknown=unknown)

        return wrapped(opened.policy_for(theorem), joined)

    def _network_at_hand(self) -> str:
        """The newest checkpoint of the demo as a policy's name; empty if there is none."""
        if self._network is None and not self._settings.policy:
            checkpoint = of_the_demo(self._note)
            self._network = f"own:{checkpoint}" if checkpoint else ""
        return self._network or ""

    async def _opened_for(self, task: _Task, policy: str) -> OpenedPolicy:
        """The policy, opened. Loading a model in this process may take minutes, and does not count as the theorem's
        time. Raises BadPolicy."""
        limit = task.limit
        beside = self._premises is not None or self._guide is not None
        loads = beside or any(name.kind == HF for name in parse(policy))
        if limit is None or not loads:
            return await self._opened(policy)
        began = time.monotonic()
        limit.reschedule(None)
        try:
            return await self._opened(policy)
        finally:
            task.deadline += time.monotonic() - began
            limit.reschedule(asyncio.get_running_loop().time() + task.left)

    async def _opened(self, policy: str) -> OpenedPolicy:
        """The policy, opened once for all theorems. Raises BadPolicy."""
        if policy not in self._policies:
            self._policies[policy] = asyncio.create_task(self._open(policy))
        return await asyncio.shield(self._policies[policy])

    async def _open(self, policy: str) -> OpenedPolicy:
        # Closing tactics of an imported library (grind, aesop, ...) help at every state, not only at the root.
        first = [*LIST_CLOSING, *(tactic for tactic in self._closing.known() if tactic not in (*LIST_CLOSING, "omega"))]
        opening = open_policy(
            parse(policy),
            closing=first,
            models=self._settings.models,
            premises=self._premises,
            guide=self._guide,
            note=self._note,
        )
        return await self._stack.enter_async_context(opening)

    def _trouble(self) -> str:
        """Problems with the servers of language models; empty if there are none."""
        problems = []
        for policy, opening in self._policies.items():
            if opening.done():
                problems.append(opening.result().trouble() if not opening.exception() else "")
            elif any(name.is_model for name in parse(policy)):
                problems.append(f"no answer yet from {policy}")
        return "; ".join(filter(None, problems))


async def _proposition(environment: LocalEnvironment, theorem: Theorem, state: str) -> None:
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
