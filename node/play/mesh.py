"""Plays attempts on a running mesh: its provers search, its lean-proxies verify.

async with MeshAttempts(bus, bus.new_client("prove")) as attempts:
    result = await attempts.play(attempt)

At most as many attempts are outstanding as the mesh's provers can play. The results of a durable client are leased from
its queue, and acknowledged after the caller has stored them: a run that is killed gets the results that it has not
stored when it resumes. The results of other clients are kept by the broker for an hour.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
import structlog

from common.bus import ACK_WAIT, Bus, BusError, Lease, names, persistently
from common.lean import ProofTree, Theorem
from common.life.waiting import Overdue, wait_first
from common.protocol import subjects
from common.protocol.attempts import (
    HELD_SECONDS,
    Attempt,
    AttemptOutcome,
    AttemptResult,
    PartialResults,
    ResultPart,
    unplayed,
)
from common.protocol.messages import LeanVerifyReply, MessageError, ModelFacts, NodeInfo, ProverFacts, facts_of
from node.llm.models import served_name
from node.play.attempts import Capacity, is_inconclusive
from node.prover.environment import Verification
from node.prover.policies.fixed import CLOSING
from node.prover.policies.names import INFERENCE, BadPolicy, PolicyName, has_network, parse
from node.prover.policies.sources import (
    ABSENT_SECONDS,
    MeshSampler,
    address_of,
    serve_network,
    served_in_words,
    served_models,
)

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from common.bus.stored import Answers
    from node.llm.address import HubAddress, ModelAddress
    from node.llm.sampling import Sampler

AHEAD = 1.25
"""Outstanding attempts for each search slot of the mesh, so that no slot is idle."""

LOOK_EVERY = 1.0
"""Seconds between checks of the registry, and before failed attempts are dispatched again."""

LOST_AFTER = 20.0
"""Seconds without a result after which the broker's queues are checked for the outstanding attempts."""

LEASED_AT_ONCE = 64
"""Maximum results leased in one request."""

BATCH = 64
"""Attempts published concurrently."""

VERIFY_SECONDS = 120.0
"""Seconds after which an unanswered verification is retried: enough for two batches, one with a proof that hangs."""

VERIFY_PATIENCE = 600.0
"""Seconds to keep asking busy or absent lean-proxies for one verdict; time without a broker does not count."""

log = structlog.get_logger("attempts")

Ended = asyncio.Queue["Expected"]


@dataclass(eq=False)
class Expected:
    """An attempt whose result a caller waits for."""

    attempt: Attempt
    ended: Ended
    """The queue to put it on once it has a result."""
    tries: int = 1
    parts: PartialResults = field(default_factory=PartialResults)
    leases: list[Lease[Any]] = field(default_factory=list)
    """Leases of its messages that are not acknowledged yet."""
    result: AttemptResult | None = None


class MeshAttempts:
    """`Attempts` on a mesh. Use it with `async with`."""

    late = 3.0

    def __init__(
        self, bus: Bus, client: str, *, searches: int = 0, tries: int = 1, verify_patience: float = VERIFY_PATIENCE
    ) -> None:
        """`client`: names the results' owner (`Bus.new_client`, or a durable client). `searches`: most outstanding
        attempts; 0: as many as the provers have slots for. `tries`: how often an attempt is played whose infrastructure
        fails. `verify_patience`: see VERIFY_PATIENCE."""
        self.asking = bus
        self._bus = bus
        self._client = client
        self._durable = client in subjects.DURABLE_CLIENTS
        self._searches = searches
        self._tries = tries
        self._verify_patience = verify_patience
        self._opened: set[str] = set()
        self._expected: dict[str, Expected] = {}
        self._todo: deque[Expected] = deque()
        self._played: set[str] = set()
        """Ids of dispatched attempts without a result."""
        self._held = Overdue()
        """Attempts that provers have."""
        self._again: list[Expected] = []
        """Attempts to dispatch again."""
        self._stack = AsyncExitStack()
        self._tasks: list[asyncio.Task[None]] = []
        self._waited_for = asyncio.Event()
        self._room = asyncio.Event()
        self._answers: Answers | None = None
        """What this client hears, unless it is durable."""
        self._heard = time.monotonic()
        self._ack_wait = ACK_WAIT
        self._provers = True

    async def __aenter__(self) -> MeshAttempts:
        """Raises BusError if the run's streams do not exist."""
        works = [self._dispatch]
        if self._durable:
            works += [self._collect, self._renew]
        else:
            self._answers = await self._bus.watch_results(
                self._client, (AttemptResult, ResultPart), self._watched, lambda: list(self._played)
            )
            self._stack.push_async_callback(self._answers.unsubscribe)
        self._tasks = [asyncio.create_task(work()) for work in works]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Outstanding attempts continue on the mesh, which keeps their results."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._stack.aclose()

    async def open(self, policy: str, closing: Sequence[str] = CLOSING) -> None:
        """Check, once for all attempts, that inference nodes serve the policy's models. Raises BadPolicy, BusError."""
        if policy not in self._opened:
            await check_served(self._bus, policy)
            self._opened.add(policy)

    async def play(self, attempt: Attempt) -> AttemptResult:
        """The attempt's result. If this is cancelled, its result is not waited for. Raises BusError."""
        results = self.results([attempt])
        async with contextlib.aclosing(results):
            async for result in results:
                # The next one is asked for, so that a durable client's result is acknowledged.
                await anext(results, None)
                return result
        raise AssertionError("one attempt has one result")

    async def results(self, attempts: Sequence[Attempt]) -> AsyncGenerator[AttemptResult, None]:
        """The result of each attempt, as they arrive. Raises BusError, and ValueError for two attempts with one id."""
        ended: Ended = asyncio.Queue()
        own = [msgspec.structs.replace(attempt, client=self._client, traced=not self._durable) for attempt in attempts]
        expected = {attempt.attempt_id: Expected(attempt, ended) for attempt in own}
        if len(expected) < len(attempts) or not expected.keys().isdisjoint(self._expected):
            raise ValueError("two attempts have the same id; give each attempt a different id")
        self._expected |= expected
        self._todo.extend(expected.values())
        self._heard = time.monotonic()
        self._waited_for.set()
        self._room.set()
        try:
            for _ in range(len(expected)):
                each = await self._next(ended)
                assert each.result is not None  # set before it is put on the queue
                yield each.result  # the caller stores the result before it asks for the next one
                await self._release(each)
                del self._expected[each.attempt.attempt_id]
        finally:
            await self._forget(expected)

    async def verify(self, theorem: Theorem, proof: ProofTree | str) -> LeanVerifyReply:
        """Lean's verdict by a lean-proxy. Raises BusError if there is none in time."""
        verification = Verification(self._bus, theorem, timeout=VERIFY_SECONDS, patience=self._verify_patience)
        return await verification.verdict(proof)

    async def capacity(self) -> Capacity:
        """The capacity of the registered nodes. Raises BusError."""
        return capacity_of(await self._bus.nodes(), self._searches)

    async def trouble(self, policy: str) -> str:
        """The problem of the policy's models and network, or of the run's queues. Raises BusError."""
        queues = [f"{queue}: {problem}" for queue, problem in self._bus.troubles.items()]
        return "; ".join(filter(None, [trouble_of(await self._bus.nodes(), policy), *queues]))

    async def serve_network(self, checkpoint: Path, version: int) -> None:
        """See `node.play.serving`."""
        from node.play.serving import publish

        await publish(self._bus, checkpoint, version)

    async def serve_model(self, address: ModelAddress, checkpoint: HubAddress, version: int) -> str:
        """See `node.play.serving`."""
        from node.play.serving import announce

        return await announce(self._bus, address, checkpoint, version)

    def sampler(self, policy: str, patience: float) -> Sampler:
        """Samples by inference nodes."""
        (name,) = parse(policy, INFERENCE)
        return MeshSampler(self._bus, served_name(address_of(name)), patience=patience, expected=True)

    async def _next(self, ended: Ended) -> Expected:
        """The next attempt with a result. Raises BusError if a background task has failed with it."""
        getting = asyncio.ensure_future(ended.get())
        try:
            await wait_first(getting, *self._tasks)
            for task in self._tasks:
                if task.done() and not getting.done():
                    task.result()
            return getting.result()
        finally:
            getting.cancel()

    async def _forget(self, expected: dict[str, Expected]) -> None:
        """Stop waiting for these attempts. Their leases are handed back, so that their results can be leased later."""
        abandoned = [each for name, each in expected.items() if self._expected.pop(name, None)]
        abandoned_ids = {each.attempt.attempt_id for each in abandoned}
        self._played -= abandoned_ids
        self._todo = deque(each for each in self._todo if each.attempt.attempt_id not in abandoned_ids)
        self._room.set()
        if not self._expected:
            self._waited_for.clear()
        for lease in [lease for each in abandoned for lease in each.leases]:
            with contextlib.suppress(BusError):
                await lease.hand_back()

    # --- dispatching attempts ---------------------------------------------------------------------------------------

    async def _dispatch(self) -> None:
        """Dispatch attempts until cancelled. Raises BusError if the broker has been away for too long."""
        looked, slots = -LOOK_EVERY, 1
        while True:
            self._room.clear()
            if (self._todo or self._played) and time.monotonic() - looked >= LOOK_EVERY:
                looked = time.monotonic()
                again, self._again = [each for each in self._again if each.attempt.attempt_id in self._played], []
                await asyncio.gather(*(self._publish_again(each) for each in again))
                with contextlib.suppress(BusError):  # the broker is away
                    slots = await self._slots()
                    await self._send_lost_again()
            await self._top_up(slots)
            await wait_first(self._room, timeout=LOOK_EVERY)

    async def _slots(self) -> int:
        """Maximum number of outstanding attempts. Raises BusError."""
        nodes = await self._bus.nodes()
        provers = any(node.role == "prover" for node in nodes)
        if self._todo and provers != self._provers:
            log.warning("provers are back" if provers else "no prover is registered; attempts wait for one")
            self._provers = provers
        return capacity_of(nodes, self._searches).searches

    async def _top_up(self, slots: int) -> None:
        """Dispatch attempts until `slots` are outstanding. Raises BusError."""
        while self._todo and len(self._played) < slots:
            batch: list[Expected] = []
            while self._todo and len(batch) < min(BATCH, slots - len(self._played)):
                each = self._todo.popleft()
                if each.result is None:  # otherwise an earlier process dispatched it, and its result has arrived
                    batch.append(each)
            self._played |= {each.attempt.attempt_id for each in batch}
            await asyncio.gather(*(self._publish(each, each.attempt.attempt_id) for each in batch))

    async def _publish(self, expected: Expected, message_id: str) -> None:
        """Raises BusError if the broker has been away for too long."""
        attempt = expected.attempt
        subject = subjects.todo(attempt.purpose, attempt.client)
        try:
            await persistently(
                lambda: self._bus.publish_durable(subject, attempt, message_id=message_id),
                "attempt not dispatched yet",
                until=self._bus.given_up.is_set,
                attempt=attempt.attempt_id,
            )
        except MessageError as error:  # the theorem is too large for a message
            await self._ended(expected, unplayed(attempt, "", AttemptOutcome.ERROR, str(error)))

    async def _publish_again(self, expected: Expected) -> None:
        """Publish under a new message id, because the broker drops ids that it has seen. Raises BusError."""
        await self._publish(expected, f"{expected.attempt.attempt_id}.{secrets.token_hex(4)}")

    async def _send_lost_again(self) -> None:
        """Dispatch outstanding attempts again if no results arrive and the broker's queues do not have them any more.
        Raises BusError."""
        if not self._played or time.monotonic() - self._heard < LOST_AFTER:
            return
        self._heard = time.monotonic()
        if self._answers is not None:
            await self._answers.look_up()
        queues = await self._bus.queues()
        held = sum(len(each.leases) for each in self._expected.values())
        asked = {self._expected[name].attempt.purpose for name in self._played}
        own = {subjects.queue(purpose, self._client) for purpose in asked}
        todo = [queues[names.TODO_PREFIX + each] for each in own]
        if any(each.waiting or each.leased for each in todo):
            await self._send_held_again(sum(each.waiting for each in todo))
            return
        if self._durable and (queues[self._results].waiting or queues[self._results].leased > held):
            return
        log.warning("the mesh has lost attempts; they are dispatched again", attempts=len(self._played))
        await asyncio.gather(*(self._publish_again(self._expected[name]) for name in list(self._played)))

    async def _send_held_again(self, waiting: int) -> None:
        """Dispatch attempts again that provers have had for too long. `waiting`: attempts in the queue, which are
        the newest ones. Raises BusError."""
        sent = [name for name in self._expected if name in self._played]
        if held := self._held.look(sent[: max(0, len(sent) - waiting)], HELD_SECONDS):
            log.warning("provers have had attempts for too long; they are dispatched again", attempts=len(held))
            await asyncio.gather(*(self._publish_again(self._expected[name]) for name in held))

    # --- collecting results -----------------------------------------------------------------------------------------

    @property
    def _results(self) -> str:
        """The durable queue of the client's results."""
        return names.RESULTS_PREFIX + self._client

    async def _collect(self) -> None:
        """Collect results until cancelled. While no caller waits, results stay in the queue."""
        while True:
            await self._waited_for.wait()
            try:
                leases = await self._bus.lease(
                    self._results, (AttemptResult, ResultPart), limit=LEASED_AT_ONCE, wait=LOOK_EVERY
                )
            except BusError:  # the broker is away
                await asyncio.sleep(LOOK_EVERY)
                continue
            for lease in leases:
                await self._leased(lease)

    async def _leased(self, lease: Lease[Any]) -> None:
        self._ack_wait = lease.ack_wait
        message: AttemptResult | ResultPart = lease.message
        expected = self._expected.get(message.attempt_id)
        if expected is None or expected.result is not None:
            # Of an earlier run on this mesh, or the second of an attempt that was played twice.
            await _acknowledge(lease)
            return
        expected.leases.append(lease)
        if (result := _whole(expected, message)) is not None:
            await self._ended(expected, result)

    def _watched(self, message: AttemptResult | ResultPart) -> None:
        """Handle a result or a part of one, which may come more than once."""
        expected = self._expected.get(message.attempt_id)
        if expected is None or expected.result is not None:
            return
        if (result := _whole(expected, message)) is not None:
            self._settle(expected, result)

    async def _ended(self, expected: Expected, result: AttemptResult) -> None:
        if not self._settle(expected, result):
            await self._release(expected)

    def _settle(self, expected: Expected, result: AttemptResult) -> bool:
        """Take the result of an attempt, or have the attempt played again. Returns False in that case."""
        self._heard = time.monotonic()
        # A result that came in parts may name anything: whose it is does not depend on what a prover writes into it.
        attempt = expected.attempt
        whose = {"attempt_id": attempt.attempt_id, "theorem_id": attempt.theorem_id, "purpose": attempt.purpose}
        result = msgspec.structs.replace(result, **whose)
        if is_inconclusive(result) and expected.tries < self._tries:
            log.warning("attempt is played again", attempt=result.attempt_id, tries=expected.tries, why=result.message)
            expected.tries += 1
            expected.parts = PartialResults()
            self._again.append(expected)
            return False
        expected.result = result
        self._played.discard(result.attempt_id)
        expected.ended.put_nowait(expected)
        self._room.set()
        return True

    async def _release(self, expected: Expected) -> None:
        """Acknowledge the messages of an attempt: its result is stored, or useless."""
        leases, expected.leases = expected.leases, []
        for lease in leases:
            await _acknowledge(lease)

    async def _renew(self) -> None:
        """Renew the leases of results until their callers have stored them."""
        while True:
            await asyncio.sleep(self._ack_wait / 3)
            for lease in [lease for each in self._expected.values() for lease in each.leases]:
                await lease.in_progress()


async def _acknowledge(lease: Lease[Any]) -> None:
    """Acknowledge a message. If this fails, the message is delivered again and acknowledged then."""
    with contextlib.suppress(BusError):
        await lease.ack()


def _whole(expected: Expected, message: AttemptResult | ResultPart) -> AttemptResult | None:
    """The attempt's result with this message; None if parts are missing."""
    try:
        return expected.parts.add(message) if isinstance(message, ResultPart) else message
    except MessageError as error:
        log.warning("invalid result parts", attempt=message.attempt_id, reason=str(error))
        problem = f"a prover's result cannot be read: {error}"
        return unplayed(expected.attempt, message.prover_id, AttemptOutcome.ERROR, problem)


def capacity_of(nodes: Sequence[NodeInfo], searches: int = 0) -> Capacity:
    """The capacity that nodes report. `searches`: used in place of what provers report, unless 0."""

    def total(role: str, resource: str) -> int:
        return sum(node.capacity.get(resource, 0) for node in nodes if node.role == role)

    return Capacity(
        max(1, searches or round(AHEAD * total("prover", "searches"))),
        max(1, total("lean-proxy", "workers")),
        max(1, total("lean-proxy", "verifications")),
    )


# ----------------------------------------------------------------------------------------------------------------------
# Checks whether a running mesh serves the language models and the network of a policy, and reports their problems.


LOOK_FOR_MODELS = 0.5
"""Seconds between queries of the node registry."""


async def check_served(bus: Bus, policy: str) -> None:
    """Check that inference nodes serve the language models of a policy. Waits a few seconds for the nodes of a mesh
    that is starting. Raises BadPolicy, BusError."""
    models = _models(parse(policy, INFERENCE) if policy else ())
    end = time.monotonic() + ABSENT_SECONDS
    while models:
        nodes = await bus.nodes()
        missing = sorted(models - served_models(nodes))
        if not missing:
            return
        if time.monotonic() > end:
            raise BadPolicy(
                f"no inference node of run {bus.run!r} serves `{missing[0]}`; {served_in_words(nodes)}. "
                "[inference] model, or `proofmesh up --policy`, serves one"
            )
        await asyncio.sleep(LOOK_FOR_MODELS)


def policies_of(nodes: Iterable[NodeInfo]) -> set[str]:
    """The policies of the provers, which they use for attempts that name none."""
    return {facts.policy for facts in facts_of(nodes, ProverFacts).values()}


def trouble_of(nodes: Sequence[NodeInfo], policy: str) -> str:
    """Problems with the language models and the network of a policy: not served, or the problem that all their nodes
    report. Empty if each has a healthy node. Raises BadPolicy."""
    policies = [policy] if policy else policies_of(nodes)
    names = [name for each in policies for name in parse(each, INFERENCE)]
    problems = []
    if policy and has_network(names) and not serve_network(nodes):
        problems.append("no inference node serves a network")
    for model in sorted(_models(names)):
        troubles = [facts.trouble for facts in facts_of(nodes, ModelFacts).values() if facts.model == model]
        if not troubles:
            problems.append(f"no inference node serves `{model}`")
        elif all(troubles):
            problems.append(troubles[0])
    return "; ".join(problems)


def _models(names: Iterable[PolicyName]) -> set[str]:
    """Raises BadPolicy."""
    return {served_name(address_of(name)) for name in names if name.is_model}
