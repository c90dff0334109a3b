"""Keeps a run's streams: makes those again that have vanished, lets them grow, restarts a nats-server that refuses
writes, and warns of limits that could silently slow down a mesh."""

from __future__ import annotations

import asyncio
import functools
import operator
import re
import shlex
import shutil
import time
from collections import Counter, deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from broker import keys, streams
from broker.errors import BrokerError
from broker.launcher import Server
from broker.settings import BrokerSettings
from broker.streams import MAX_ACK_PENDING, MIB
from common.bus import ACK_WAIT, BadKey, BusError, NoRoom, Queue, StreamState, names
from common.bus.connection import warn_sometimes
from common.life.logging import keep_small
from common.life.metrics import Followed, counter, gauge
from common.life.node import NodeContext, NodeFailure
from common.output.visible import visible
from common.protocol.messages import BrokerFacts, VerifierKeys
from common.protocol.subjects import OWNER, VERIFIERS

EVERY_SECONDS = 5.0
ALARM_SHARE = 0.8
"""Warn when this share of a consumer's possible leases is in use: beyond the limit, provers wait in vain."""

GROW_SHARE, GROWTH = 0.5, 4
"""A stream that is filled to this share grows by this factor, up to its limit: publishers should not wait for it."""

FULL_SHARE = 0.9
"""A queue or bucket that is filled to this share and cannot grow makes the node unhealthy."""

ROOM_BYTES = 64 * MIB
"""Free disk that a nats-server needs. With less, the node is unhealthy."""

RESTART_PAUSE = 60.0
"""Least seconds between two restarts of a nats-server that refuses writes, in case a restart does not help."""

_backlog = gauge("backlog", "Messages that nobody has taken yet", ["consumer"])
_leased = gauge("leased", "Messages taken and not yet acknowledged", ["consumer"])
_server = {
    "connections": gauge("server_connections", "Connections to nats-server").set,
    "subscriptions": gauge("server_subscriptions", "Subscriptions on nats-server").set,
    "mem": gauge("server_resident_memory_bytes", "Resident memory of nats-server").set,
    "jetstream.stats.storage": gauge("server_store_bytes", "Bytes in the streams of all runs").set,
    "jetstream.stats.reserved_storage": gauge("server_store_reserved_bytes", "Bytes that these may grow to").set,
    "jetstream.config.max_storage": gauge("server_store_limit_bytes", "Bytes that all streams may take").set,
    "in_msgs": Followed(counter("server_received_messages", "Messages that nats-server has received")).follow,
    "out_msgs": Followed(counter("server_sent_messages", "Messages that nats-server has sent")).follow,
    "in_bytes": Followed(counter("server_received_bytes", "Bytes of messages that nats-server has received")).follow,
    "out_bytes": Followed(counter("server_sent_bytes", "Bytes of messages that nats-server has sent")).follow,
    "slow_consumers": Followed(
        counter("server_slow_consumers", "Connections that nats-server dropped because they did not read")
    ).follow,
    "jetstream.stats.api.total": Followed(
        counter("server_stream_requests", "Requests about streams and consumers that nats-server has answered")
    ).follow,
    "jetstream.stats.api.errors": Followed(
        counter("server_stream_errors", "Of these, the ones that it has refused")
    ).follow,
}
"""What nats-server says of itself (its page `/varz`), by the path to the number there."""

_cpu = gauge("server_cpu_ratio", "Processors that nats-server keeps busy; 1 is one of them")
_bytes = gauge("stream_bytes", "Bytes in a stream", ["stream"])
_limit = gauge("stream_limit_bytes", "Bytes that a stream may hold now", ["stream"])
_made_again = counter("streams_made_again", "Streams and consumers that had vanished and were made again")
_dropped = counter("queues_made_again", "Queues of attempts that were made again to drop requests that nobody answers")
_restarts = counter("server_restarts", "Restarts of a nats-server that refused writes")


async def watch(ctx: NodeContext, server: Server | None) -> None:
    """Look at the streams and the server every few seconds. `server`: the nats-server of this node, if it has one."""
    keeper = StreamKeeper(ctx)
    server_watch = ServerWatch(ctx, server) if server else None
    while True:
        # The server first: if it refuses writes, the streams cannot be mended.
        if server_watch is not None:
            await server_watch.look()
        await keeper.look()
        await asyncio.sleep(EVERY_SECONDS)


async def list_verifiers(ctx: NodeContext) -> None:
    """Let the run list the verifiers of [bus] verifiers. If there are none and the run has keys: those who have a
    verifier's key; nobody else may list them then. Raises BusError."""
    configured = ctx.settings.bus.verifier_keys()
    wanted = configured or ctx.bus.own_verifiers()
    listed = await ctx.bus.get_state(VERIFIERS, VerifierKeys) if wanted else None
    if wanted and (listed is None or (not configured and listed.keys != wanted)):
        await ctx.bus.list_verifiers(wanted)


def note(ctx: NodeContext, **changes: Any) -> None:
    """Change what the node tells others of the broker."""
    before = ctx.facts if isinstance(ctx.facts, BrokerFacts) else BrokerFacts()
    ctx.facts = msgspec.structs.replace(before, **changes)


class StreamKeeper:
    """The streams of the node's run."""

    def __init__(self, ctx: NodeContext) -> None:
        self._ctx = ctx
        self._spec = streams.run_spec(ctx.bus.run)
        self._ghosts: Counter[str] = Counter()
        """In how many looks in a row each queue had more requests for attempts than there are provers to send them."""

    async def look(self) -> None:
        """Make vanished streams again, let full ones grow, and report what cannot be mended."""
        try:
            await self._mend()
            await self._grow()
            await self._look_at_queues()
        except BusError as error:
            if self._ctx.bus.connected:
                self._ctx.health("streams", f"the run's streams cannot be kept: {error}")
        else:
            self._ctx.health("streams", None)

    async def _mend(self) -> None:
        made = await streams.ensure(self._ctx.bus)
        if made:
            _made_again.inc(len(made))
            listed = ", ".join(made)
            when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
            note(self._ctx, lost=f"{listed} had vanished and was made again, empty, at {when}")
            self._ctx.log.error("streams had vanished and were made again; what they held is lost", streams=listed)
        # A state that was made again, or overwritten with nonsense, lists no verifier: then no verdict would count.
        await list_verifiers(self._ctx)

    async def _grow(self) -> None:
        # Only these streams refuse writes when they are full. The others drop their oldest messages, which is as meant.
        most, may_refuse = self._spec.most_bytes(), {stream.name for stream in self._spec.streams}
        may_refuse |= {f"KV_{bucket.name}" for bucket in self._spec.buckets}
        full, seen = [], dict[str, float]()
        for stream in await self._ctx.bus.streams():
            _bytes.labels(stream.name).set(stream.bytes)
            _limit.labels(stream.name).set(stream.max_bytes)
            seen |= {f"stream.{stream.name}.bytes": stream.bytes, f"stream.{stream.name}.limit": stream.max_bytes}
            seen[f"stream.{stream.name}.messages"] = stream.messages
            # A stream that cannot grow any more is full because nobody takes its messages.
            if stream.share > GROW_SHARE and stream.max_bytes < most.get(stream.name, 0):
                problem = await self._grown(stream, most[stream.name])
            else:
                problem = "its readers are too slow, or gone"
            if problem and stream.share > FULL_SHARE and stream.name in may_refuse:
                full.append(
                    f"{stream.name} is full ({stream.bytes / MIB:.0f} of {stream.max_bytes / MIB:.0f} MiB): {problem}"
                )
        self._ctx.report(**seen)
        self._ctx.health("full", "; ".join(full) or None)

    async def _grown(self, stream: StreamState, most: int) -> str:
        """Let a stream grow. Returns why it cannot; empty if it can."""
        size = min(most, GROWTH * stream.max_bytes)
        try:
            await self._ctx.bus.grow(stream.name, size)
        except NoRoom as error:
            return f"{error}; remove runs that are over (`proofmesh runs list`), or raise [broker] max_store_mb"
        self._ctx.log.info("stream grows", stream=stream.name, mib=size // MIB)
        return ""

    async def _look_at_queues(self) -> None:
        ctx, queues = self._ctx, await self._ctx.bus.queues()
        for consumer, queue in queues.items():
            _backlog.labels(consumer).set(queue.waiting)
            _leased.labels(consumer).set(queue.leased)
            if queue.leased > ALARM_SHARE * MAX_ACK_PENDING:
                ctx.log.warning(
                    "nearly all leases are out", consumer=consumer, leased=queue.leased, limit=MAX_ACK_PENDING
                )
        todo = {name: queue for name, queue in queues.items() if name.startswith(names.TODO_PREFIX)}
        waiting, all_waiting = (sum(each.waiting for each in some.values()) for some in (todo, queues))
        leased = sum(queue.leased for queue in queues.values())
        ctx.report(attempts_waiting=waiting, results_waiting=all_waiting - waiting, leased=leased)
        for name, queue in queues.items():
            ctx.report(**{f"queue.{name}.waiting": queue.waiting, f"queue.{name}.leased": queue.leased})
        await self._drop_ghosts(todo)

    async def _drop_ghosts(self, queues: Mapping[str, Queue]) -> None:
        """Make queues of attempts again that somebody with a prover's key has blocked. A request for attempts may name
        any subject for them: where that is no inbox, the broker keeps the request when its sender has left, and gives
        it attempts that nobody plays. And an attempt may be handed back for a hundred years. Making a consumer again
        drops its requests and leases; what was leased is delivered again."""
        bus = self._ctx.bus
        provers = [node for node in await bus.nodes() if node.role == "prover"]
        searches = sum(node.capacity.get("searches", 1) for node in provers)
        # 1. Provers send one request at a time, and take no more attempts than they have free searches.
        asks = [name for name, queue in queues.items() if queue.pulls > len(provers)]
        holds = [name for name, queue in queues.items() if queue.leased]
        held = sum(queue.leased for queue in queues.values()) > searches
        blocked = {name: LEASE_LOOKS for name in holds if held} | dict.fromkeys(asks, GHOST_LOOKS)
        # 2. A prover that was killed has its leases for as long as they last.
        self._ghosts = Counter({each: self._ghosts[each] + 1 for each in blocked})
        for consumer in [each for each, looks in blocked.items() if self._ghosts[each] >= looks]:
            del self._ghosts[consumer]
            self._ctx.log.error(
                "somebody takes attempts and does not play them: the queue is made again. If it happens again, revoke "
                "the provers' keys (`proofmesh broker revoke`) one after the other",
                queue=consumer, requests=queues[consumer].pulls, leased=queues[consumer].leased, provers=len(provers),
            )  # fmt: skip
            await bus.drop(consumer)
            await streams.ensure(bus)
            _dropped.inc()


class ServerWatch:
    """The nats-server of this node.

    After a failed write, as on a full disk, nats-server refuses all writes to that stream until it is restarted, also
    when there is room again (2.15). So it is restarted as soon as there is room.
    """

    def __init__(self, ctx: NodeContext, server: Server) -> None:
        self._ctx = ctx
        self._server = server
        self._restarted = float("-inf")
        self._offenders = Offenders(server)

    async def look(self) -> None:
        """Read the server's statistics and health, name who misbehaves, restart it if it must be, and truncate its log
        if it is large."""
        # 1. Keys first. A server that is too busy to answer needs those revoked that keep it busy.
        await self._take_keys()
        # 2. What the server says of itself. One that does not answer is no reason to restart it: it may be busy.
        free = await asyncio.to_thread(_free_bytes, self._server.store)
        try:
            async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=EVERY_SECONDS)) as session:
                await self._statistics(session)
                refusal = await self._refusal(session)
                await self._name_offenders(session)
        except (aiohttp.ClientError, TimeoutError) as error:
            self._ctx.log.warning("nats-server not seen", error=str(error))
            return
        # 3. A server that ran out of disk goes on refusing when there is room again: only a restart helps. With a
        # pause, since it may refuse for another reason.
        self._report(refusal, free)
        if refusal and free >= ROOM_BYTES and time.monotonic() - self._restarted > RESTART_PAUSE:
            self._ctx.log.error("nats-server is restarted: it refuses writes, and there is room", free_mib=free // MIB)
            _restarts.inc()
            try:
                await self._server.restart()
            except BrokerError as error:
                raise NodeFailure(f"nats-server does not start again: {error}") from error
            self._restarted = time.monotonic()
        await asyncio.to_thread(keep_small, self._server.log_file)

    async def _name_offenders(self, session: aiohttp.ClientSession) -> None:
        """Not a problem of this node: whoever restarts unhealthy nodes would do the offender's work."""
        before = self._ctx.facts.offenders if isinstance(self._ctx.facts, BrokerFacts) else ()
        found = await self._offenders.look(session)
        texts = tuple(f"{who} {does}" for who, does in found)
        if texts != before:
            note(self._ctx, offenders=texts)
        for who, does in found:
            warn_sometimes("a connection misbehaves", who, does=does)

    async def _take_keys(self) -> None:
        try:
            if await self._server.take_keys():
                self._ctx.log.info(
                    "keys have changed; nats-server has them", runs=keys.runs_with_keys(self._server.store)
                )
            self._ctx.health("keys", None)
        except BrokerError as error:
            self._ctx.health("keys", str(error))

    def _report(self, refusal: str, free: int) -> None:
        problem = f"nats-server refuses writes: {refusal}; it is restarted when there is room" if refusal else None
        self._ctx.health("nats-server", problem)
        full = f"less than {ROOM_BYTES // MIB} MiB of disk are free for the broker's store: free some"
        self._ctx.health("disk", full if free < ROOM_BYTES else None)

    async def _refusal(self, session: aiohttp.ClientSession) -> str:
        """What the server says is wrong with it; empty: nothing."""
        async with session.get(f"{self._server.monitor_url}/healthz") as answer:
            content = await answer.json(content_type=None)
        return "" if answer.status == 200 else str(content.get("error") or content)

    async def _statistics(self, session: aiohttp.ClientSession) -> None:
        async with session.get(f"{self._server.monitor_url}/varz") as answer:
            numbers = await answer.json(content_type=None)
        for path, take in _server.items():
            take(functools.reduce(operator.getitem, path.split("."), numbers))
        _cpu.set(numbers["cpu"] / 100)
        self._ctx.report(**{name: float(numbers[path]) for name, path in _REPORTED.items()})


_REPORTED = {
    "connections": "connections",
    "slow_consumers": "slow_consumers",
    "subscriptions": "subscriptions",
    "server_cpu_percent": "cpu",
    "server_memory_bytes": "mem",
    "messages_in": "in_msgs",
    "messages_out": "out_msgs",
    "bytes_in": "in_bytes",
    "bytes_out": "out_bytes",
}
"""What heartbeats say of the server, and its names for them."""

GHOST_LOOKS = 3
"""A queue is made again if in so many looks it has more requests for attempts than provers are registered."""

LEASE_LOOKS = 2 + int(ACK_WAIT / EVERY_SECONDS)
"""So too if for longer than a lease lasts more attempts are leased than all provers have searches."""

REFUSALS, REFUSALS_SECONDS = 10, 60.0
"""A key that is refused so often within so many seconds is named. Our nodes ask for nothing that they may not."""

MOST_NAMED = 8
"""Offenders that are named at a time."""

_VIOLATION = re.compile(r'"[^"/]*/nkey:(\w+)" - (?:Publish|Subscription) Violation')
_refused = counter("server_refusals", "What nodes have asked nats-server for and may not")


class Offenders:
    """Who misbehaves on a nats-server: sends more than a node needs to, or asks for what its role may not."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._sent: dict[int, int] = {}
        """Messages of each connection, sent or got, whichever are more, when it was last looked at."""
        self._looked = time.monotonic()
        self._read = 0
        """Bytes of the server's log that were read."""
        self._refusals: deque[tuple[float, str]] = deque(maxlen=10_000)
        """Times, and public keys."""

    async def look(self, session: aiohttp.ClientSession) -> list[tuple[str, str]]:
        """Those of now: who they are, and what they do, with what cuts them off."""
        async with session.get(f"{self._server.monitor_url}/connz?auth=1&limit=100000") as answer:
            connections = (await answer.json(content_type=None))["connections"] or []
        await asyncio.to_thread(self._read_log)
        does = [(each, f"sends or gets {rate:,.0f} messages a second") for each, rate in self._busy(connections)]
        refused = self._refused_lately()
        does += [({"authorized_user": key}, f"was refused {number} times within a minute") for key, number in refused]
        if not does:
            return []
        known = await asyncio.to_thread(self._known)
        store = str(self._server.settings.store)
        named = "" if store == BrokerSettings().store else f" --store {shlex.quote(store)}"
        return sorted(_told(known, each, what, named) for each, what in does)[:MOST_NAMED]

    def _busy(self, connections: list[dict[str, Any]]) -> list[tuple[dict[str, Any], float]]:
        """The connections that have sent or got too much since the last look, and their rates."""
        now = time.monotonic()
        seconds, self._looked = max(0.1, now - self._looked), now
        sent = {each["cid"]: max(each["in_msgs"], each["out_msgs"]) for each in connections}
        rates = [(each, (sent[each["cid"]] - self._sent.get(each["cid"], 0)) / seconds) for each in connections]
        self._sent = sent
        return [(each, rate) for each, rate in rates if rate > self._server.settings.busy_messages]

    def _read_log(self) -> None:
        """Note the refusals in what the server has logged since the last look."""
        now = time.monotonic()
        try:
            with self._server.log_file.open("rb") as file:
                if self._server.log_file.stat().st_size < self._read:  # it was truncated
                    self._read = 0
                file.seek(self._read)
                new = file.read()
        except OSError:
            return  # the server is just starting
        self._read += len(new)
        for match in _VIOLATION.finditer(new.decode(errors="replace")):
            self._refusals.append((now, match[1]))
            _refused.inc()

    def _refused_lately(self) -> list[tuple[str, int]]:
        end = time.monotonic() - REFUSALS_SECONDS
        while self._refusals and self._refusals[0][0] < end:
            self._refusals.popleft()
        counts = Counter(public for _, public in self._refusals)
        return [(public, number) for public, number in counts.items() if number >= REFUSALS]

    def _known(self) -> dict[str, tuple[str, keys.User]]:
        """The run and the user of each public key."""
        store = self._server.store
        try:
            return {user.public: (run, user) for run in keys.runs_with_keys(store) for user in keys.users(store, run)}
        except BadKey:
            return {}  # `_take_keys` tells it


def _told(
    known: dict[str, tuple[str, keys.User]], connection: dict[str, Any], does: str, store: str
) -> tuple[str, str]:
    """Who a connection or a key is, for people, and what it does. What a node calls itself is no more than a hint.
    `store`: the option that names the broker's store, if it needs one."""
    run, user = known.get(connection.get("authorized_user", ""), ("", None))
    who, cut = "a connection", ""
    if user is not None:
        invited = "" if user.name == OWNER else f".{user.name}"
        who, cut = (
            f"the key {user.role}{invited} of run {run}",
            f": `proofmesh broker revoke {run} {user.called}{store}` cuts it off",
        )
    if "ip" in connection:
        who += f" at {connection['ip']}, called {visible(connection.get('name', '')[:60])!r},"
    return who, does + cut


def _free_bytes(store: Path) -> int:
    return shutil.disk_usage(store).free
