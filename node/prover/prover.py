"""The main loop of a prover: leases attempts from the queue, plays them, publishes results, and acknowledges leases.

The broker stores a result before the prover acknowledges the lease. If a prover crashes in between, the lease expires,
and another prover plays the attempt again.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import math
import secrets
import time
from collections.abc import Callable, Collection, Coroutine
from typing import Any

import msgspec
import structlog

from common.bus import Bus, BusError, Lease, names, persistently
from common.lean import Outcome, OutcomeKind, outcome_values
from common.life import faults, metrics, timeline
from common.life.metrics import ATTEMPT_BUCKETS
from common.life.waiting import wait_first
from common.protocol import subjects
from common.protocol.attempts import Attempt, AttemptOutcome, AttemptResult, PlayParts, ResultPart, divide, unplayed
from common.protocol.messages import MAX_MESSAGE_BYTES, Busy, Message, SearchesAtWork, SearchesQuestion, Span
from common.records.searches import packed
from common.watch.spans import PLAY, Trace
from node.prover.agent import Account
from node.prover.player import Player
from node.prover.policies.attempt_policy import AttemptPolicies
from node.prover.policies.names import INFERENCE, parse
from node.prover.policies.sources import MeshSources
from node.prover.record import SearchRecord
from node.prover.settings import ProverSettings

log = structlog.get_logger("prover")

ACK_TRIES = 3
"""Tries to acknowledge a lease. If all fail, the lease may expire and the attempt be played again: harmless."""

HAND_BACK_DELAY = 1.0
"""Seconds before an attempt that raised an unexpected error is delivered again."""

SHOWN_EVERY = 1.0
"""Seconds between two trees of running searches that a prover packs for others: its own searches wait for it."""

MOST_SHOWN = MAX_MESSAGE_BYTES // 2
"""Bytes of such trees. The rest of the message has room for the list of searches."""

ATTEMPTS = metrics.counter("prover_attempts", "Attempts played, by purpose and outcome", ["purpose", "outcome"])
SIMULATIONS = metrics.counter("prover_simulations", "Simulations of all searches")
QUEUED = metrics.histogram(
    "prover_queue_seconds",
    "How long attempts lay in the queue until this prover took them",
    ["purpose"],
    ATTEMPT_BUCKETS,
)
PLAYED = metrics.histogram(
    "prover_attempt_seconds",
    "Time of an attempt on the prover, from its lease to its result",
    ["purpose"],
    ATTEMPT_BUCKETS,
)
PARTS = metrics.histogram(
    "prover_attempt_part_seconds",
    "What an attempt spent its time on there, each moment counted once",
    ["part"],
    ATTEMPT_BUCKETS,
)
OUTCOMES = metrics.counter("prover_outcomes", "Outcomes of tactics by kind; `lost` after all retries", ["kind"])
HANDED_BACK = metrics.counter("prover_handed_back", "Leases given back without a result")
SEARCHES = metrics.gauge("prover_searches", "Searches in progress")
SLOTS = metrics.gauge("prover_search_slots", "Searches that the prover may play at once")


class Prover:
    """Plays up to `searches` attempts at once."""

    def __init__(
        self,
        bus: Bus,
        settings: ProverSettings,
        prover_id: str,
        report: Callable[..., None] = lambda **values: None,
        spans: Callable[[Span], None] = lambda span: None,
    ) -> None:
        """`spans` gets those of traced attempts. Raises BadPolicy if the configured policy cannot be used."""
        self._spans = spans
        # 1. What plays attempts.
        self._bus = bus
        self._settings = settings
        sources = MeshSources(
            bus, parse(settings.policy, INFERENCE), settings.templates, patience=settings.policy_patience
        )
        self._player = Player(
            bus,
            settings,
            AttemptPolicies(bus, settings, sources),
            prover_id,
            on_simulation=self._count_simulation,
            on_outcomes=self._count_outcomes,
            on_account=self._count_account,
            watch=self._watch,
        )
        # 2. What is in progress, and what is counted.
        self._id = prover_id
        self._report = report
        self._searches = settings.resolved_searches()
        SLOTS.set(self._searches)
        self._running: set[asyncio.Task[None]] = set()
        self._free: collections.deque[float] = collections.deque()
        """When the slots that are free became so, the one that waits longest first. Infinite before the first attempt:
        then a slot waits for the run to begin, and nothing is wrong."""
        self._errors: dict[str, str] = {}
        self._at_work: dict[str, SearchRecord] = {}
        """The searches that go on, by attempt."""
        self._shown = 0.0
        """When trees were last packed for somebody."""
        self.counts: collections.Counter[str] = collections.Counter(
            searches_max=self._searches, attempts=0, roots_solved=0, simulations=0, expansions=0
        )
        self.outcomes: collections.Counter[OutcomeKind] = collections.Counter()
        """Number of tactics of all searches by outcome."""
        for kind in OutcomeKind:
            OUTCOMES.labels(kind)  # exports every kind from the start, with 0

    async def run(self, stopping: asyncio.Event) -> None:
        """Lease and play attempts until `stopping` is set. Then finish the running attempts or hand them back."""
        self._free.extend([math.inf] * self._searches)
        subject = subjects.searches_at_work(self._id)
        await self._bus.serve(subject, SearchesQuestion, self.at_work, queue=None, limit=1)
        try:
            while not stopping.is_set():
                self._report_counts()
                if len(self._running) >= self._searches:
                    await wait_first(stopping, *self._running)
                    continue
                for lease in await self._take(self._searches - len(self._running)):
                    self._start(lease)
        finally:
            await self._drain()

    async def _take(self, free: int) -> list[Lease[Attempt]]:
        """Lease up to `free` attempts, from the most urgent queues first. Waits `poll_seconds` if there are none."""
        leases: list[Lease[Attempt]] = []
        for queue in subjects.QUEUES:
            last = queue == subjects.QUEUES[-1]
            wait = self._settings.poll_seconds if last and not leases else 0.0
            leases += await self._bus.lease(names.TODO_PREFIX + queue, Attempt, limit=free - len(leases), wait=wait)
            if len(leases) >= free:
                break
        return leases

    def _start(self, lease: Lease[Attempt]) -> None:
        idle = max(0.0, time.monotonic() - self._free.popleft())
        task = asyncio.create_task(self._play_leased(lease, idle), name=f"attempt {lease.message.attempt_id}")
        self._running.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._free.append(time.monotonic())

    async def _drain(self) -> None:
        """Let searches finish within `drain_seconds`; hand the remaining attempts back."""
        if self._running:
            log.info("draining", searches=len(self._running), seconds=self._settings.drain_seconds)
            _, late = await asyncio.wait(self._running, timeout=self._settings.drain_seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        self._report_counts()

    async def _play_leased(self, lease: Lease[Attempt], idle: float = 0.0) -> None:
        """Play a leased attempt to its end. After an unexpected error the lease is handed back. After too many such
        errors the attempt is reported as poisoned. `idle`: seconds that its slot was free before."""
        attempt_id = lease.message.attempt_id
        if lease.subject != subjects.todo(lease.subject.split(".")[2], lease.message.client):
            # The broker lets each owner ask under its own name only. What the message says is not checked there.
            log.warning(
                "attempt for another client", attempt=attempt_id, asked=lease.subject, client=lease.message.client
            )
            await lease.terminate("it names a client of another owner than its subject")
            return
        try:
            # The attempt is bound to all that this task logs and asks for.
            QUEUED.labels(lease.message.purpose).observe(max(0.0, time.time() - self._bus.ahead - lease.stored))
            with timeline.attempting(attempt_id) as line:
                if lease.message.traced:
                    line.trace = Trace(attempt_id, self._spans)
                async with lease.kept():
                    result = await self._result(lease)
                    parts = PlayParts(asked=lease.stored, idle=idle, **line.parts("search"))
                    if line.trace is not None:
                        line.trace.span(PLAY, line.began, time.perf_counter(), left_out=line.trace.left_out)
                    statistics = msgspec.structs.replace(result.statistics, parts=parts)
                    await self._deliver(lease, msgspec.structs.replace(result, statistics=statistics))
        except asyncio.CancelledError:
            await self._hand_back(lease, 0.0)
            raise
        except Exception as error:
            self._errors[attempt_id] = f"{type(error).__name__}: {error}"
            log.exception("attempt raised an error; handed back", attempt=attempt_id, deliveries=lease.deliveries)
            await self._hand_back(lease, HAND_BACK_DELAY)
        finally:
            self._at_work.pop(attempt_id, None)

    def _watch(self, record: SearchRecord) -> None:
        self._at_work[record.attempt.attempt_id] = record

    async def at_work(self, question: SearchesQuestion) -> Message:
        """Which searches go on here, and the trees of one of them."""
        searches = tuple(record.at_work() for record in list(self._at_work.values()))
        record = self._at_work.get(question.attempt)
        if record is None:
            return SearchesAtWork(searches)
        if (left := self._shown + SHOWN_EVERY - time.monotonic()) > 0:
            return Busy(retry_after=left, reason="trees were asked for a moment ago")
        self._shown = time.monotonic()
        trees = record.trees()  # here, where the search does not change meanwhile
        return SearchesAtWork(searches, await asyncio.to_thread(packed, trees, MOST_SHOWN))

    async def _hand_back(self, lease: Lease[Attempt], delay: float) -> None:
        HANDED_BACK.inc()
        try:
            await lease.hand_back(delay)
        except BusError as error:
            log.warning("lease not handed back; it will run out", attempt=lease.message.attempt_id, error=str(error))

    async def _result(self, lease: Lease[Attempt]) -> AttemptResult:
        attempt = lease.message
        if lease.deliveries > self._settings.max_deliveries:
            cause = self._errors.get(attempt.attempt_id, "the provers that took it crashed or lost their leases")
            words = f"delivered {lease.deliveries} times without a result; {cause}"
            return unplayed(attempt, self._id, AttemptOutcome.POISONED, words)
        return await self._player.play(attempt)

    async def _deliver(self, lease: Lease[Attempt], result: AttemptResult) -> None:
        """Publish the result, wait until the broker has stored it, and then acknowledge the lease."""
        play = secrets.token_hex(8)
        for number, piece in enumerate(divide(result)):
            await self._publish(subjects.to_client(lease.message.client, piece.attempt_id, number), piece, play)
        faults.reach("prover:published-not-acked")
        with contextlib.suppress(BusError):
            await persistently(lease.ack, "lease not acknowledged yet", tries=ACK_TRIES, attempt=result.attempt_id)
        self._errors.pop(result.attempt_id, None)
        self._count_attempt(result)

    async def _publish(self, subject: str, piece: AttemptResult | ResultPart, play: str) -> None:
        """`play`: identifies this play of the attempt. The broker drops what is published again after an outage, but
        not the result of an attempt that was dispatched again. Nobody can guess it, and so use it before."""
        message_id = f"{piece.attempt_id}.{play}"
        if isinstance(piece, ResultPart):
            message_id += f".{piece.part}"

        def publish() -> Coroutine[Any, Any, None]:
            return self._bus.publish_durable(subject, piece, message_id=message_id)

        await persistently(publish, "result not stored yet", attempt=piece.attempt_id)

    def _count_simulation(self) -> None:
        SIMULATIONS.inc()
        self.counts["simulations"] += 1
        self._report_counts()

    def _count_account(self, account: Account) -> None:
        self.counts["expansions"] += account.expansions

    def _count_outcomes(self, outcomes: Collection[Outcome]) -> None:
        for outcome in outcomes:
            OUTCOMES.labels(outcome.kind).inc()
            self.outcomes[outcome.kind] += 1

    def _count_attempt(self, result: AttemptResult) -> None:
        ATTEMPTS.labels(result.purpose, result.outcome).inc()
        if result.statistics.parts is not None:
            seconds = msgspec.structs.asdict(msgspec.structs.replace(result.statistics.parts, asked=0.0))
            PLAYED.labels(result.purpose).observe(sum(seconds.values()))
            for part, spent in seconds.items():
                PARTS.labels(part).observe(spent)
        self.counts["attempts"] += 1
        self.counts["roots_solved"] += result.outcome is AttemptOutcome.PROVED
        if result.outcome is AttemptOutcome.BAD_STATEMENT or not result.outcome.decided:
            log.warning("attempt", attempt=result.attempt_id, outcome=result.outcome, message=result.message)
        self._report_counts()

    def _report_counts(self) -> None:
        SEARCHES.set(len(self._running))
        self._report(searches=len(self._running), **self.counts, **outcome_values(self.outcomes))
