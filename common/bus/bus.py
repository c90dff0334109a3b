"""The class Bus: everything that a node sends and receives over the broker."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from common.bus import admin, names, stored
from common.bus.asking import (
    BadKey,
    BusError,
    BusyError,
    NotThere,
    RemoteFailure,
    RetryDelay,
    TooManyWaiting,
    Unanswered,
)
from common.bus.connection import (
    DRAIN_SECONDS,
    REQUEST_SECONDS,
    TRAFFIC,
    TRANSIT_SECONDS,
    UNSIGNED,
    UNTRUSTED,
    Connection,
    Replies,
    RequestServer,
    ServedSubscription,
    Subscription,
    count_malformed,
    count_untrusted,
    log,
    message_callback,
    warn_sometimes,
)
from common.bus.credentials import find_key, learner_keys, own_verifiers
from common.bus.permissions import Role
from common.bus.signing import SIGNATURE_HEADER, Announcements, KnownKeys, Names, Order, Signer, own_identity
from common.bus.stored import Lease, Puller
from common.life import timeline
from common.protocol.messages import (
    AnyMessage,
    Busy,
    Failure,
    FailureKind,
    Message,
    MessageError,
    NodeInfo,
    VerifierKeys,
    decode,
    encode,
)
from common.protocol.subjects import (
    ANNOUNCED,
    NO_CHANNEL,
    PAUSE,
    RESUME,
    SIGNED,
    VERIFIERS,
    channel_name,
    check_run_name,
    new_client,
)
from common.settings import BusSettings

R = TypeVar("R", bound=Message)

UNKNOWN_WEIGHTS_PAUSE = 0.5
"""Seconds before a request is sent again to a node that does not have the requested weights yet."""

UNKNOWN_WEIGHTS_SECONDS = 60.0
"""Seconds until weights that no node has count as missing. A client may ask for a version that never was, and its
attempt must not keep a search slot for as long as a mesh without inference nodes is waited for."""


@dataclass(frozen=True)
class Queue:
    """What a consumer of a work queue has to do."""

    waiting: int
    """Messages that nobody has taken."""
    leased: int
    """Messages that were delivered and not acknowledged."""
    pulls: int
    """Requests for messages that wait."""


class Bus:
    """A node's connection to the broker, for one run. Arguments are subjects without the run's name, which Bus adds.

    Nothing here blocks the event loop. Methods that wait for the broker raise Unanswered if the connection is lost
    meanwhile; the caller may retry.
    """

    def __init__(self, connection: Connection, run: str, outage: float | None = None) -> None:
        """Raises BadKey for [bus] verifiers and [bus] learners."""
        self.run = run
        self._outage = outage
        self._prefix = f"{run}."
        self._connection = connection
        self._replies = Replies(connection)
        self._jetstream = connection.client.jetstream(timeout=stored.API_TIMEOUT)
        self._pullers: dict[str, Puller] = {}
        self._puller_lock = asyncio.Lock()
        self._served: list[ServedSubscription] = []
        self._verifiers = KnownKeys(connection.settings.verifier_keys())
        """Those of the settings; if there are none, later those that the run lists."""
        key = connection.key
        self._announcements = Announcements(
            key.signer if key else None, lambda: learner_keys(connection.settings, key, connection.role)
        )
        self._stamped: set[str] = set()
        self.ahead = 0.0
        """Seconds that this machine's clock is ahead of the broker's, as its latest answer about a queue told it."""
        self._names, self._registered = Names(), Order()
        self._entries: dict[str, tuple[str, bytes]] = {}
        """Signature and content of registry entries that were judged: most are the same again."""
        self.troubles: dict[str, str] = {}
        """Work queues that the broker refuses to this node, with the reason: a stream or consumer is missing, or the
        stream or the broker's disk is full; and announcements that do not count. A success removes the entry. The node
        is unhealthy meanwhile."""

    @classmethod
    async def connect(
        cls,
        settings: BusSettings,
        *,
        run: str,
        name: str,
        role: str = Role.CLIENT,
        wait: float | None = None,
        outage: float | None = None,
    ) -> Bus:
        """Connect, and reconnect for ever after later losses of the connection.

        `wait`: most seconds for the first connection; None: for ever. `outage`: most seconds that `ask` waits for a
        connection that was lost; None: for ever. `role`: whose key it takes of those that the settings name. Raises
        BusUnavailable, BadKey and BadRunName.
        """
        check_run_name(run)
        connection = Connection(settings, name, role, find_key(settings, run, role))
        bus = cls(connection, run, outage)
        await connection.open(wait)
        try:
            await bus._replies.start()
        except BadKey:
            await connection.close()
            raise
        TRAFFIC.follow(connection.client)
        return bus

    @property
    def connected(self) -> bool:
        """False while there is no connection."""
        return self._connection.connected

    @property
    def broker_host(self) -> str:
        """The host of the broker that it is connected to; empty without a connection."""
        url = self._connection.client.connected_url
        return (url.hostname or "") if url else ""

    async def wait_connected(self) -> None:
        """Wait for a connection, without a time limit."""
        await self._connection.wait_connected()

    def connected_seconds(self) -> float:
        """Total seconds with a connection: a clock that stands still during outages."""
        return self._connection.connected_seconds()

    @property
    def given_up(self) -> asyncio.Event:
        """Set when the client library closed the connection for good, without a call of `close`. The node must then end
        and be restarted."""
        return self._connection.given_up

    async def close(self) -> None:
        """Finish and answer open requests, hand back leases that were delivered but not taken, flush, disconnect."""
        patience = DRAIN_SECONDS if self.connected else 0  # without a broker, replies cannot be sent
        await asyncio.gather(*(served.drain(patience) for served in self._served))
        for puller in self._pullers.values():
            await puller.close()
        await self._connection.close()
        TRAFFIC.forget(self._connection.client)

    # --- plain messages and requests ---------------------------------------------------------------------------------

    async def publish(self, subject: str, message: Message) -> None:
        """Publish to all current subscribers; telemetry is signed. During an outage messages are buffered; when the
        buffer is full, they are dropped and counted.

        Raises OversizedMessage.
        """
        full, payload = self._prefix + subject, encode(message)
        headers = self._signed(full, payload) if subject.startswith("telemetry.") else None
        await self._connection.publish(full, payload, headers=headers)

    def _signed(self, subject: str, payload: bytes) -> dict[str, str]:
        return own_identity().headers(subject, payload)

    async def subscribe(
        self,
        subject: str,
        types: type[AnyMessage] | tuple[type[Message], ...],
        callback: Callable[[str, Any], None],
    ) -> Subscription:
        """Call `callback(subject, message)` for each message. It must not block; longer work belongs in a task.

        Telemetry that its own node has not signed, or that comes again, is counted and logged in place of that.
        """
        accepted = types if isinstance(types, tuple) else (types,)
        order = Order()

        def counts(subject: str, raw: Any, message: Message) -> bool:
            if not subject.startswith("telemetry.") or channel_name(subject) == NO_CHANNEL:
                return True
            problem = self._not_of_its_node(subject, message, raw.headers, raw.data)
            if not problem and not order.follows(subject, raw.headers):
                problem = "it was sent before"
            return not (problem and count_untrusted(raw.subject, channel_name(subject), problem))

        inner = await self._connection.subscribe(
            self._prefix + subject, message_callback(accepted, self._prefix, callback, counts)
        )
        return Subscription(inner, subject)

    def _not_of_its_node(self, subject: str, message: Message, headers: Any, payload: bytes) -> str:
        """Why a message is not telemetry of the node that its subject names; empty: it is."""
        _, role, node_id, _ = subject.split(".")
        said = getattr(message, "role", role), getattr(message, "node_id", node_id)
        if said != (role, node_id) or not node_id.startswith(f"{role}-"):
            return "it says another name or role than its subject"
        return self._names.problem(node_id, self._prefix + subject, headers, payload)

    async def request(self, subject: str, message: Message, reply: type[R], *, timeout: float) -> R:
        """Send a request once. `timeout` in seconds. Raises Unanswered, BusyError, RemoteFailure, OversizedMessage.

        On a subject of `subjects.SIGNED`, replies without the signature of a verifier do not end the wait.
        """
        payload = encode(message)
        doing, sent = timeline.requesting(), time.perf_counter()
        with REQUEST_SECONDS.labels(channel_name(subject)).time():
            if subject in SIGNED:
                answer = await self._signed_reply(subject, payload, timeout)
            else:
                answer = await self._replies.ask(
                    self._prefix + subject, payload, timeout=timeout, headers=timeline.request_headers()
                )
        if doing is not None and (under_way := doing.answered(time.perf_counter() - sent, answer.headers)) is not None:
            TRANSIT_SECONDS.labels(channel_name(subject)).observe(under_way)
        return _decoded_reply(answer, reply)

    async def _signed_reply(self, subject: str, payload: bytes, timeout: float) -> Any:
        """The first reply that a verifier of the run has signed. Raises Unanswered."""
        verifiers = await self.verifiers()
        if not verifiers:
            raise Unanswered(
                f"{subject}: run {self.run!r} lists no verifier, so no verdict counts; start a lean-proxy with "
                "[lean_proxy] key, or a whole mesh with `proofmesh up`"
            )
        unsigned = 0

        def counts(answer: Any) -> bool:
            nonlocal unsigned
            problem = verifiers.problem(answer.headers, self._prefix + subject, payload, answer.data)
            if problem:
                unsigned += 1
                UNSIGNED.inc()
                warn_sometimes("a verdict does not count", subject, reason=problem)
            return not problem

        answer = await self._replies.collect(
            self._prefix + subject, payload, timeout=timeout, done=counts, headers=timeline.request_headers()
        )
        if answer is None:
            ignored = f", and {unsigned} without a verifier's signature, which do not count" if unsigned else ""
            raise Unanswered(f"{subject}: no answer within {timeout:g} s{ignored}")
        return answer

    async def verifiers(self) -> KnownKeys:
        """The keys whose verdicts count: those of [bus] verifiers. If there are none, those that the run lists when
        they are first needed; later changes of that list are ignored. Raises Unanswered."""
        if not self._verifiers:
            listed = await self.get_state(VERIFIERS, VerifierKeys)
            if listed is not None:
                try:
                    self._verifiers = KnownKeys(listed.keys)
                except BadKey as error:
                    raise Unanswered(f"run {self.run!r} lists a verifier that cannot be used: {error}") from error
        return self._verifiers

    def new_client(self, command: str) -> str:
        """A name for the attempts of a command (`eval`, `prove`), which no other process has."""
        return new_client(command, self._connection.owner)

    @property
    def signer(self) -> Signer | None:
        """This node's key for the broker, to sign with; None: it has none."""
        return self._connection.key.signer if self._connection.key else None

    def follows_anybody(self) -> bool:
        """Whether this node has a key, and takes announcements from everybody who can write the state: it knows no
        learner's key. Raises BadKey."""
        connection = self._connection
        return connection.key is not None and not learner_keys(connection.settings, connection.key, connection.role)

    def own_verifiers(self) -> tuple[str, ...]:
        """The keys of the run's verifiers for the broker, where this node has the folder of the run's keys. Raises
        BadKey."""
        return own_verifiers(self._connection.settings, self.run)

    async def list_verifiers(self, keys: Sequence[str]) -> None:
        """Let the run list these keys, for nodes that are not configured with them. Raises Unanswered."""
        await self.put_state(VERIFIERS, VerifierKeys(keys=tuple(keys)))

    async def request_patiently(
        self,
        subject: str,
        message: Message,
        reply: type[R],
        *,
        timeout: float,
        deadline: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> R:
        """Send a request, and retry with back-off while there is no reply or a Busy reply, for at most `deadline`
        seconds in total.

        `clock` measures the deadline: with `connected_seconds`, time without a connection does not count. After the
        deadline it raises the last Unanswered or BusyError. It raises RemoteFailure at once.
        """
        end = clock() + deadline
        delay = RetryDelay()
        busy: BusyError | None = None
        while True:
            remaining = max(0.001, end - clock())
            try:
                return await self.request(subject, message, reply, timeout=min(timeout, remaining))
            except (Unanswered, BusyError) as error:
                if isinstance(error, BusyError):
                    busy = error
                elif busy is not None and remaining < timeout:
                    # The deadline cut this request short, so the missing reply says nothing. Busy was the last reply.
                    raise busy from error
                pause = delay.after(getattr(error, "retry_after", None), random.random())
                if clock() + pause >= end:
                    raise
            await asyncio.sleep(pause)

    async def ask(self, subject: str, message: Message, reply: type[R], *, timeout: float, patience: float) -> R:
        """`common.bus.asking.Asking.ask`. A node without the requested weights does not end it: another node may have
        them, or this one has them soon."""
        end = self.connected_seconds() + patience
        unknown_until = math.inf
        while True:
            asked = self.connected_seconds()
            left = end - asked
            try:
                return await self.request_patiently(
                    subject, message, reply, timeout=timeout, deadline=left, clock=self.connected_seconds
                )
            except RemoteFailure as failure:
                if failure.kind is not FailureKind.UNKNOWN_WEIGHTS:
                    raise
                now = self.connected_seconds()
                if now - asked > timeout:  # in between nodes were busy or away
                    unknown_until = math.inf
                unknown_until = min(unknown_until, now + UNKNOWN_WEIGHTS_SECONDS)
                if min(end, unknown_until) - now < UNKNOWN_WEIGHTS_PAUSE:
                    raise
                await asyncio.sleep(UNKNOWN_WEIGHTS_PAUSE)
            except Unanswered:
                # Without a connection no node can be reached, and the clock stands still.
                if self.connected or not await self._connection.wait_connected(self._outage):
                    raise

    async def serve(
        self,
        subject: str,
        request: type[R],
        handler: Callable[[R], Awaitable[Message]],
        *,
        queue: str | None,
        limit: int,
        signer: Signer | None = None,
        room: int | None = None,
    ) -> ServedSubscription:
        """Serve requests with at most `limit` concurrent handlers. Further requests get Busy.

        `room`: the requests that the handlers can take before they answer Busy themselves, if it is less than `limit`.
        While others ask, no sender may hold more than half of it.

        `queue`: the group that shares the subject's requests; None: every server gets every request. An exception of
        the handler becomes a Failure (BusyError becomes Busy). The handler may also return Busy or Failure itself.
        `signer`: signs all replies; required for the subjects of `subjects.SIGNED`. Requests on those of
        `subjects.ANNOUNCED` that no learner has signed get no reply.
        """
        assert signer is not None or subject not in SIGNED, f"replies on {subject} must be signed"
        server = RequestServer(self._connection, subject, request, handler, limit, signer, room)

        async def received(message: Any) -> None:
            if self._counts(subject, message.subject, message):
                await server.received(message)

        inner = await self._connection.subscribe(self._prefix + subject, received, queue=queue or "")
        served = ServedSubscription(inner, subject, server)
        self._served.append(served)
        return served

    async def gather_acks(
        self, subject: str, message: Message, reply: type[R], *, expected: int, timeout: float
    ) -> list[R]:
        """Send a request to all servers of a subject, signed if it is one of `subjects.ANNOUNCED`. Returns when
        `expected` of them have replied, or after `timeout` seconds with the replies so far, perhaps none."""
        if expected <= 0:
            return []
        replies: list[R] = []
        full, payload = self._prefix + subject, encode(message)
        headers = self._announcements.headers(full, payload) if subject in ANNOUNCED else None

        def complete(answer: Any) -> bool:
            try:
                replies.append(_decoded_reply(answer, reply))
            except (BusyError, RemoteFailure) as error:
                log.warning("refused", subject=subject, error=str(error))
            return len(replies) >= expected

        try:
            await self._replies.collect(full, payload, timeout=timeout, done=complete, headers=headers)
        except Unanswered as error:
            log.warning("not acknowledged", subject=subject, error=str(error))
        return replies

    # --- durable work ------------------------------------------------------------------------------------------------

    async def publish_durable(self, subject: str, message: Message, *, message_id: str, timeout: float = 5.0) -> None:
        """Publish into a work queue, and wait until the broker confirms that it is stored. Equal ids are stored once.

        Raises Unanswered (the caller retries with the same id), BusError (the broker refuses it: a full stream),
        TooManyWaiting, OversizedMessage.
        """
        stream = names.stream_that_stores(self.run, subject)
        try:
            await stored.publish_durable(self._replies, self._prefix + subject, encode(message), message_id, timeout)
        except TooManyWaiting:
            raise  # no trouble of the queue: the sender is ahead of the provers
        except BusError as error:
            self._note_trouble(f"writing to {stream}", str(error))
            raise
        self.troubles.pop(f"writing to {stream}", None)

    async def lease(
        self, consumer: str, types: type[R] | tuple[type[R], ...], *, limit: int, wait: float
    ) -> list[Lease[R]]:
        """Lease up to `limit` queued messages. If there are none, wait up to `wait` seconds for the first one.

        Consumers: `todo-<purpose>`, `results-<client>`. `wait=0` does not wait. Malformed messages are terminated and
        not returned.
        """
        puller = await self._puller(consumer, wait)
        if puller is None or limit < 1:
            return []
        found = await puller.lease(types if isinstance(types, tuple) else (types,), limit, wait)
        if puller.refusal:
            self._note_trouble(f"reading {consumer}", puller.refusal)
        else:
            self.troubles.pop(f"reading {consumer}", None)
        return found

    async def queues(self) -> dict[str, Queue]:
        """The state of each consumer's queue. Raises Unanswered, NotThere."""
        infos = {consumer: await self._consumer_info(consumer) for consumer in names.CONSUMERS}
        return {
            consumer: Queue(info["num_pending"], info["num_ack_pending"], info["num_waiting"])
            for consumer, info in infos.items()
        }

    async def backlog(self) -> dict[str, int]:
        """The number of messages that wait for delivery, for each consumer. Raises Unanswered, NotThere."""
        return {consumer: queue.waiting for consumer, queue in (await self.queues()).items()}

    async def leased(self) -> dict[str, int]:
        """The number of leased messages (delivered, not acknowledged), for each consumer. Raises Unanswered,
        NotThere."""
        return {consumer: queue.leased for consumer, queue in (await self.queues()).items()}

    async def drop(self, consumer: str) -> None:
        """Delete a consumer with its leases and waiting requests; `ensure` makes it again, and its messages are
        delivered again. Raises BusError."""
        await stored.api(self._replies, f"CONSUMER.DELETE.{names.stream_of(self.run, consumer)}.{consumer}")

    async def _consumer_info(self, consumer: str) -> dict[str, Any]:
        stream, asked = names.stream_of(self.run, consumer), time.time()
        info: dict[str, Any] = await stored.api(self._replies, f"CONSUMER.INFO.{stream}.{consumer}")
        if "ts" in info:
            self.ahead = (asked + time.time()) / 2 - datetime.fromisoformat(info["ts"]).timestamp()
        return info

    async def _puller(self, consumer: str, wait: float) -> Puller | None:
        """The puller of a consumer. If the broker does not have the consumer yet: logs it, pauses, returns None."""
        stream = names.stream_of(self.run, consumer)
        async with self._puller_lock:
            if consumer in self._pullers:
                return self._pullers[consumer]
            try:
                info = await self._consumer_info(consumer)
            except (NotThere, Unanswered) as error:
                warn_sometimes("pull refused", consumer, reason=stored.MISSING, error=str(error))
                self._note_trouble(f"reading {consumer}", stored.MISSING)
                await asyncio.sleep(min(wait, stored.REFUSED_PAUSE))
                return None
            puller = Puller(self._connection, self._replies, stream, consumer, info["config"]["ack_wait"] / 1e9)
            await puller.start()
            self._pullers[consumer] = puller
            return puller

    def _note_trouble(self, what: str, reason: str) -> None:
        if self.connected:  # without a connection, that is the trouble
            self.troubles[what] = reason

    # --- state and registry ------------------------------------------------------------------------------------------

    async def get_state(self, key: str, type: type[R], *, from_anybody: bool = False) -> R | None:
        """The value of a key of the run's state; None if there is none, if it cannot be decoded, or if no learner has
        announced it (both counted, logged). `from_anybody`: the last one is not asked."""
        answer = await stored.get_key(self._replies, names.state_bucket(self.run), key)
        subject = stored.key_subject(names.state_bucket(self.run), key)
        if answer is None or not (from_anybody or self._counts(key, subject, answer)):
            return None
        return stored.decoded(answer, type)

    async def put_state(self, key: str, message: Message) -> None:
        """Set a key of the run's state, signed if this node has a key and it is one of `subjects.ANNOUNCED`. Raises
        Unanswered."""
        bucket, payload, headers = names.state_bucket(self.run), encode(message), None
        if key in ANNOUNCED and self._announcements.signs():
            subject = stored.key_subject(bucket, key)
            if subject not in self._stamped:
                # Another process, perhaps with a clock that is ahead, may have announced before: times only grow.
                before = await stored.get_key(self._replies, bucket, key)
                if before is not None:
                    self._announcements.problem(subject, before.headers, before.data)
                self._stamped.add(subject)
            headers = self._announcements.headers(subject, payload)
        await stored.put_key(self._replies, bucket, key, payload, headers)

    def _counts(self, key: str, subject: str, message: Any) -> bool:
        """Whether a value of the state, or a request, may be believed. What may not be is counted, and named in
        `troubles`."""
        if key not in ANNOUNCED:
            return True
        try:
            problem = self._announcements.problem(subject, message.headers, message.data)
        except BadKey as error:
            problem = str(error)
        trouble = f"announcement of {key}"
        if not problem:
            self.troubles.pop(trouble, None)
            return True
        UNTRUSTED.labels(channel_name(key)).inc()
        text = (
            f"{problem}; it is ignored. A learner with a new key is known after a new invite (`proofmesh broker "
            "invite`), or from [bus] learners"
        )
        if key in (PAUSE, RESUME):
            # A request holds nothing up that is not done, and nobody takes it back: it is no lasting trouble.
            warn_sometimes("a request does not count", key, reason=problem)
        elif self.troubles.get(trouble) != text:
            self.troubles[trouble] = text
            log.warning("an announcement does not count", key=key, reason=text)
        return False

    async def watch_state(self, key: str, type: type[R], callback: Callable[[R | None], None]) -> stored.Watch[R]:
        """Call `callback` with the current value, with every change, and with the current value again after a
        reconnect.

        None means that there is no value. Values that cannot be decoded are skipped. Raises NotThere if the run's
        buckets do not exist.
        """
        return await self.watch_aged(key, type, lambda value, _: callback(value))

    async def watch_aged(self, key: str, type: type[R], callback: Callable[[R | None, float], None]) -> stored.Watch[R]:
        """Like `watch_state`; the callback also gets the value's age in seconds, as the broker's clock has it."""
        watch = stored.Watch(
            *(self._connection, self._replies, names.state_bucket(self.run), key, type, callback),
            counts=lambda message: self._counts(key, (message.headers or {})["Nats-Subject"], message),
        )
        await watch.start()
        return watch

    async def watch_results(
        self,
        client: str,
        types: tuple[type[Message], ...],
        callback: Callable[[Any], None],
        outstanding: Callable[[], Iterable[str]],
    ) -> stored.Answers:
        """Call `callback` with each result of a client's attempts, and after a reconnect with those of `outstanding`
        attempts (their ids) that the broker has: some come twice. For clients other than `subjects.DURABLE_CLIENTS`,
        which lease theirs.

        Raises NotThere, Unanswered if the run's streams do not exist.
        """
        received = message_callback(types, self._prefix, lambda _, message: callback(message), lambda *_: True)
        answers = stored.Answers(self._connection, self._replies, self.run, client, received, outstanding)
        await answers.start()
        return answers

    async def register(self, info: NodeInfo) -> None:
        """Put a node into the registry, signed, for NODE_TTL seconds. Raises Unanswered."""
        bucket, key, payload = names.nodes_bucket(self.run), names.node_key(info.role, info.node_id), encode(info)
        headers = self._signed(stored.key_subject(bucket, key), payload)
        await stored.put_key(self._replies, bucket, key, payload, headers)

    async def unregister(self, role: str, node_id: str) -> None:
        """Remove a node from the registry. Raises Unanswered."""
        await stored.delete_key(self._replies, names.nodes_bucket(self.run), names.node_key(role, node_id))

    async def nodes(self, run: str = "") -> list[NodeInfo]:
        """All registered nodes of a run; empty: of this one. What their entries say is not checked, except that each
        node has signed its own (others are counted, logged).

        Raises Unanswered, NotThere, BusError.
        """
        bucket = names.nodes_bucket(run or self.run)
        found, entries = [], {}
        for key, value in (await stored.all_values(self._replies, bucket)).items():
            info = stored.decoded(value, NodeInfo)
            if info is None or key != names.node_key(info.role, info.node_id):
                continue
            subject = stored.key_subject(bucket, key)
            entry = ((value.headers or {}).get(SIGNATURE_HEADER, ""), value.data)
            if self._entries.get(subject) != entry and (problem := self._not_registered_by(info, subject, value)):
                count_untrusted(subject, "<role>.<node id>", problem)
                continue
            entries[subject] = entry
            found.append(info)
        self._entries = entries
        return found

    def _not_registered_by(self, info: NodeInfo, subject: str, value: Any) -> str:
        """Why an entry of the registry is not the node's own; empty: it is."""
        if not info.node_id.startswith(f"{info.role}-"):
            return "its name is of another role"
        if problem := self._names.problem(info.node_id, subject, value.headers, value.data):
            return problem
        return "" if self._registered.follows(subject, value.headers, repeated=True) else "it was sent before"

    async def history(self, types: type[R] | tuple[type[R], ...]) -> list[R]:
        """Stored telemetry of the run (points and proofs), oldest first. The broker keeps only the newest.

        Messages that cannot be decoded, or that their own node has not signed, are counted and left out. Raises
        Unanswered, NotThere, BusError.
        """
        accepted = types if isinstance(types, tuple) else (types,)
        found: list[R] = []
        for raw in await stored.all_messages(self._replies, names.history_stream(self.run)):
            if (message := stored.decoded(raw, *accepted)) is None:
                continue
            full = (raw.headers or {})["Nats-Subject"]
            subject = full.removeprefix(self._prefix)
            if problem := self._not_of_its_node(subject, message, raw.headers, raw.data):
                count_untrusted(full, channel_name(subject), problem)
            else:
                found.append(message)
        return found

    # --- objects -----------------------------------------------------------------------------------------------------

    async def grow_objects(self, files: int, size: int) -> None:
        """Let the run's object store hold at least `files` files of `size` bytes each. It never shrinks.

        Raises NotThere, NoRoom (the broker's own limit is lower), Unanswered.
        """
        max_bytes = int(files * size * stored.OVERHEAD)
        await admin.grow(self._replies, f"OBJ_{names.weights_bucket(self.run)}", max_bytes)

    async def put_object(self, name: str, path: Path) -> str:
        """Store a file for all nodes of the run; returns its blake2b digest. Raises NotThere, Unanswered, OSError."""
        return await stored.put_object(self._jetstream, names.weights_bucket(self.run), name, path)

    async def get_object(self, name: str, path: Path, *, digest: str) -> None:
        """Download a file. `path` appears complete and with a checked digest, or not at all.

        Raises NotThere, DigestMismatch, Unanswered, OSError.
        """
        await stored.get_object(self._replies, names.weights_bucket(self.run), name, path, digest)

    async def has_object(self, name: str) -> bool:
        """Whether the run's object store has an object of this name. Raises Unanswered."""
        return await stored.has_object(self._replies, names.weights_bucket(self.run), name)

    async def delete_object(self, name: str) -> None:
        """Remove an object if it exists. Raises Unanswered."""
        await stored.delete_object(self._jetstream, names.weights_bucket(self.run), name)

    # --- streams and buckets of the run ------------------------------------------------------------------------------

    async def ensure(self, spec: admin.RunSpec) -> list[str]:
        """Create or raise streams, consumers and buckets (listed in `broker.streams`); nothing is lowered. Returns the
        names of the created ones. Raises StreamConflict, Unanswered."""
        return await admin.ensure(self._replies, spec)

    async def streams(self) -> list[admin.StreamState]:
        """The state of the run's streams that exist. Raises BusError."""
        return await admin.states(self._replies, names.streams_of(self.run))

    async def grow(self, stream: str, max_bytes: int) -> None:
        """Let a stream hold at least `max_bytes` bytes. Raises NotThere, NoRoom, Unanswered."""
        await admin.grow(self._replies, stream, max_bytes)

    async def runs(self) -> dict[str, list[admin.StreamState]]:
        """The streams of all runs on this broker, by run. Raises BusError."""
        return await admin.runs(self._replies)

    async def clock_ahead(self) -> float | None:
        """Seconds that this machine's clock is ahead of the broker's; None if the broker has no stream. Raises
        BusError."""
        return await admin.clock_ahead(self._replies)

    async def remove(self, run: str = "") -> None:
        """Delete all streams and buckets of a run with their content; empty: of this one. Raises BusError."""
        await admin.remove(self._replies, names.streams_of(run or self.run))


def _decoded_reply(answer: Any, reply: type[R]) -> R:
    """The reply as a message of type `reply`. Raises BusyError, RemoteFailure."""
    try:
        message: Message = decode(answer.data, reply, Busy, Failure)
    except MessageError as error:
        failure = count_malformed(answer, error)
        raise RemoteFailure(f"the reply cannot be decoded: {failure.reason}", failure.kind) from error
    if isinstance(message, Busy):
        raise BusyError(message.retry_after, message.reason)
    if isinstance(message, Failure):
        raise RemoteFailure(message.reason, message.kind)
    assert isinstance(message, reply)
    return message
