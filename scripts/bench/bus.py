"""Bench `bus`: rates of the bus, and what keys and encryption cost."""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Literal

from broker import streams
from common.bus import Bus as Client, Role, names
from common.bus.signing import own_identity
from common.lean import Theorem
from common.protocol.attempts import SELF_PLAY, Attempt, AttemptOutcome, Purpose, unplayed
from common.protocol.messages import Heartbeat, LeanRunReply, LeanRunRequest
from common.protocol.subjects import LEAN_RUN, result, telemetry, todo
from scripts.bench.harness import RUN, Part, Results, connected, in_process, medians, on_loop, own_broker, quantile

IN_FLIGHT = 64
SMALL, LARGE = 1_000, 200_000
"""Characters of a typical request, and of a large one (a deep path with many candidates)."""


@dataclass
class Bus(Part):
    """Measures the bus: rates of requests, publishing, durable publishing and leases, with and without uvloop.

    It starts a broker on a free port. A second process answers requests, as in a mesh.
    """

    seconds: float = 2.0
    """Seconds of each measurement."""
    loops: tuple[Literal["uvloop", "asyncio"], ...] = ("uvloop", "asyncio")
    """Event loops to measure."""

    def measure(self) -> Results:
        """All rates on each event loop."""
        return {loop: on_loop(self.on_broker(loop), loop) for loop in self.loops}

    async def on_broker(self, loop: Literal["uvloop", "asyncio"]) -> Results:
        """Start a broker and the answering process, then measure."""
        async with own_broker() as server, in_process(answer_requests, server.bus.url, ready=True, loop=loop):
            return await all_rates(server.bus.url, self.seconds)


def request(size: int) -> LeanRunRequest:
    return LeanRunRequest(theorem=Theorem("t", "", "x" * size))


async def answer_requests(url: str, key: str = "", ca: str = "") -> None:
    """The second process: answers each request with the text of its statement."""
    bus = await connected(url, RUN, "server", role=Role.LEAN_PROXY, key=key, ca=ca)

    async def handler(message: LeanRunRequest) -> LeanRunReply:
        return LeanRunReply(state=message.theorem.conclusion)

    await bus.serve(LEAN_RUN, LeanRunRequest, handler, queue="lean-proxy", limit=4 * IN_FLIGHT)
    print("ready", flush=True)
    await asyncio.Event().wait()


async def all_rates(url: str, seconds: float) -> Results:
    """Measure all rates on the running event loop."""
    bus = await connected(url, RUN, "bench")
    await streams.ensure(bus)
    await bus.grow(names.todo_stream(RUN), streams.TODO_BYTES[1])  # no broker node lets it grow here

    async def ask(size: int) -> int:
        await bus.request(LEAN_RUN, request(size), LeanRunReply, timeout=30)
        return 1

    result = {
        "request_serial": await latency(bus, seconds),
        "request_64_per_s": round(await rate(lambda _: ask(SMALL), seconds, IN_FLIGHT)),
        "request_200kb_16_per_s": round(await rate(lambda _: ask(LARGE), seconds, 16)),
        "publish_to_callback_per_s": round(await publish_rate(bus, seconds)),
        "durable_per_s": await durable_rates(bus, seconds),
    }
    await streams.remove(bus)
    await bus.close()
    return result


async def rate(work: Callable[[int], Awaitable[int]], seconds: float, in_flight: int) -> float:
    """Pieces of work per second, with `in_flight` concurrent loops. `work` returns how many pieces it did."""
    done, end, start = 0, time.perf_counter() + seconds, time.perf_counter()

    async def loop(number: int) -> None:
        nonlocal done
        while time.perf_counter() < end:
            finished = await work(number)
            done += finished

    await asyncio.gather(*(loop(number) for number in range(in_flight)))
    return done / (time.perf_counter() - start)


async def latency(bus: Client, seconds: float) -> dict[str, float]:
    """Serial requests: rate per second, and percentiles in milliseconds."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        await bus.request(LEAN_RUN, request(SMALL), LeanRunReply, timeout=10)
        times.append(1000 * (time.perf_counter() - start))
    return {
        "per_s": round(1000 * len(times) / sum(times)),
        "p50_ms": quantile(times, 50, 3),
        "p99_ms": quantile(times, 99, 3),
    }


async def publish_rate(bus: Client, seconds: float) -> float:
    """Messages per second from publish to callback, in one process over the broker."""
    received = 0

    def hear(_: str, message: Heartbeat) -> None:
        nonlocal received
        received += 1

    name = own_identity().name("bench")  # it signs each message, and judges it
    subject = telemetry("bench", name, "heartbeat")
    subscription = await bus.subscribe(subject, Heartbeat, hear)
    beat = Heartbeat(node_id=name, role="bench", time=0.0, state="running", values={"searches": 1.0})
    sent, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        for _ in range(100):
            await bus.publish(subject, beat)
        sent += 100
        await asyncio.sleep(0)
    await bus.request(LEAN_RUN, request(1), LeanRunReply, timeout=60)
    result = received / (time.perf_counter() - start)
    await subscription.unsubscribe()
    return result


async def durable_rates(bus: Client, seconds: float) -> dict[str, int]:
    """Attempts per second into the work queue (confirmed), and out of it (leased, acknowledged with confirmation)."""
    # 1. What one loop does: publish an attempt and wait until it is stored; lease a hundred and acknowledge them.
    published = 0

    async def publish(_: int) -> int:
        nonlocal published
        published += 1
        attempt = Attempt(
            attempt_id=f"a{published}",
            theorem_id="t",
            theorem=Theorem("t", "", "x" * SMALL),
            purpose=Purpose.TRAIN,
            simulations=1,
            seed=1,
        )
        # Of several owners: the broker bounds how many attempts of one wait.
        subject = todo("train", f"owner-{published // 10_000}.bench")
        await bus.publish_durable(subject, attempt, message_id=f"{id(bus)}-{published}")
        return 1

    async def lease(_: int) -> int:
        leases = await bus.lease("todo-train", Attempt, limit=100, wait=0)
        if not leases:
            raise SystemExit("proofmesh bench bus: the queue ran empty: use a larger --seconds")
        await asyncio.gather(*(lease.ack() for lease in leases))
        return len(leases)

    # 2. Publishing goes on for longer than leasing, so that the queue does not run empty.
    serial = await rate(publish, seconds / 2, 1)
    pipelined = await rate(publish, 2 * seconds, IN_FLIGHT)
    leased = await rate(lease, seconds / 2, 1)
    return {"publish_serial": round(serial), "publish_64": round(pipelined), "lease_100_and_ack": round(leased)}


# ----------------------------------------------------------------------------------------------------------------------
# Keys and encryption.


@dataclass
class Keys(Part):
    """Measures what keys and TLS cost a prover: requests and stored results per second, as ratios to a broker without
    them.

    All three brokers run at the same time, each with a process that answers, and are measured in turn.
    """

    seconds: float = 0.5
    """Seconds of each measurement."""
    rounds: int = 20
    """Number of measurements of each; the medians of the ratios within a round are reported."""
    in_flight: int = 16
    """Requests at once."""

    def measure(self) -> Results:
        """Ratios of keys, and of keys with TLS, to neither."""
        return on_loop(self.on_brokers())

    async def on_brokers(self) -> Results:
        """Start the brokers and the answering processes, then measure."""
        async with AsyncExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="proofmesh-bench-"))
            own = await asyncio.to_thread(self_signed, Path(folder))
            clients = {
                "none": await self.started(stack),
                "keys": await self.started(stack, keys=True),
                "keys and TLS": await self.started(stack, keys=True, certificate=own),
            }
            return await self.compared(clients)

    async def started(
        self, stack: AsyncExitStack, *, keys: bool = False, certificate: tuple[str, str] = ("", "")
    ) -> Client:
        """A prover's client of a broker of its own, which has a process that answers."""
        server = await stack.enter_async_context(own_broker(keys=keys, certificate=certificate))
        url, key, ca = server.bus.url, server.bus.key, certificate[0]
        admin = await connected(url, RUN, "admin", role=Role.ADMIN, key=key, ca=ca)
        await streams.ensure(admin)
        await admin.close()
        await stack.enter_async_context(in_process(answer_requests, url, key, ca, ready=True))
        client = await connected(url, RUN, "bench", role=Role.PROVER, key=key, ca=ca)
        stack.push_async_callback(client.close)
        return client

    async def compared(self, clients: dict[str, Client]) -> Results:
        """Medians of the rates, and of the ratios within a round to the first client's."""
        rounds = [
            {name: await self.rates(client, f"{name}-{number}") for name, client in clients.items()}
            for number in range(self.rounds)
        ]
        results: Results = {name: medians([each[name] for each in rounds], 0) for name in clients}
        first, *others = clients
        for name in others:
            ratios = [{what: each[name][what] / each[first][what] for what in each[name]} for each in rounds]
            results[f"{name}, ratio"] = medians(ratios, 3)
        return results

    async def rates(self, bus: Client, mark: str) -> dict[str, float]:
        """Requests per second to the answering process, and messages that the broker stores."""

        async def ask(_: int) -> int:
            await bus.request(LEAN_RUN, request(SMALL), LeanRunReply, timeout=30)
            return 1

        stored, theorem = count(), Theorem("t", "", "True")

        async def store(_: int) -> int:
            asked = Attempt(f"{mark}-{next(stored)}", "t", theorem, Purpose.TRAIN, simulations=1, seed=1)
            told = unplayed(asked, "bench", AttemptOutcome.FAILED, "")
            await bus.publish_durable(result(SELF_PLAY), told, message_id=asked.attempt_id)
            return 1

        requests = await rate(ask, self.seconds, self.in_flight)
        durable = await rate(store, self.seconds / 4, self.in_flight)
        return {"requests_per_s": requests, "durable_per_s": durable}


def self_signed(folder: Path) -> tuple[str, str]:
    """Files with a certificate for 127.0.0.1, which vouches for itself, and its key."""
    certificate, secret = str(folder / "broker.pem"), str(folder / "broker.key")
    asked = "openssl req -x509 -nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -days 1 -subj /CN=bench"
    named = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", secret, "-out", certificate]
    subprocess.run([*asked.split(), *named], check=True, capture_output=True)
    return certificate, secret
