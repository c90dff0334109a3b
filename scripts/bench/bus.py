"""Measures the bus: rates of requests, publishing, durable publishing and leases, with and without uvloop; as JSON.

    python -m scripts.bench.bus [--seconds 2] [--json OUT]

It starts a broker on a free port. A second process answers requests, as in a mesh. Each rate is measured for `seconds`.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tyro
import uvloop

from broker import streams
from broker.launcher import Server
from broker.settings import BrokerSettings
from common.bus import Bus, names
from common.lean import Theorem
from common.life import logging
from common.life.process import kill_group, spawn_child
from common.protocol.attempts import Attempt, Purpose
from common.protocol.messages import Heartbeat, LeanRunReply, LeanRunRequest
from common.protocol.subjects import LEAN_RUN, todo
from common.settings import BusSettings
from scripts.bench._report import report

RUN = "bench"
IN_FLIGHT = 64
SMALL, LARGE = 1_000, 200_000
"""Characters of a typical request, and of a large one (a deep path with many candidates)."""


@dataclass
class BusBenchSettings:
    """Measure rates of the bus on this machine."""

    seconds: float = 2.0
    """Seconds of each measurement."""
    json: Path | None = None
    """Also write the results to this file."""
    serve: str = ""
    """Internal: answer requests on the broker at this address."""
    loops: tuple[str, ...] = field(default_factory=lambda: ("uvloop", "asyncio"))
    """Event loops to measure."""


def request(size: int) -> LeanRunRequest:
    return LeanRunRequest(theorem=Theorem("t", "", "x" * size))


async def answer_requests(url: str) -> None:
    """The second process: answers each request with the text of its statement."""
    bus = await Bus.connect(BusSettings(url=url), run=RUN, name="server", wait=30)

    async def handler(message: LeanRunRequest) -> LeanRunReply:
        return LeanRunReply(state=message.theorem.conclusion)

    await bus.serve(LEAN_RUN, LeanRunRequest, handler, queue="bench", limit=4 * IN_FLIGHT)
    print("ready", flush=True)
    await asyncio.Event().wait()


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


async def latency(bus: Bus, seconds: float) -> dict[str, float]:
    """Serial requests: rate per second, and percentiles in milliseconds."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        await bus.request(LEAN_RUN, request(SMALL), LeanRunReply, timeout=10)
        times.append(time.perf_counter() - start)
    percentiles = statistics.quantiles(times, n=100)
    return {
        "per_s": round(len(times) / sum(times)),
        "p50_ms": round(percentiles[49] * 1000, 3),
        "p99_ms": round(percentiles[98] * 1000, 3),
    }


async def publish_rate(bus: Bus, seconds: float) -> float:
    """Messages per second from publish to callback, in one process over the broker."""
    received = 0

    def hear(_: str, message: Heartbeat) -> None:
        nonlocal received
        received += 1

    subscription = await bus.subscribe("telemetry.bench.b.heartbeat", Heartbeat, hear)
    beat = Heartbeat(node_id="b", role="bench", time=0.0, state="running", values={"searches": 1.0})
    sent, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        for _ in range(100):
            await bus.publish("telemetry.bench.b.heartbeat", beat)
        sent += 100
        await asyncio.sleep(0)
    await bus.request(LEAN_RUN, request(1), LeanRunReply, timeout=60)
    result = received / (time.perf_counter() - start)
    await subscription.unsubscribe()
    return result


async def durable_rates(bus: Bus, seconds: float) -> dict[str, int]:
    """Attempts per second into the work queue (confirmed), and out of it (leased, acknowledged with confirmation)."""
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
        await bus.publish_durable(todo("train"), attempt, message_id=f"{id(bus)}-{published}")
        return 1

    async def lease(_: int) -> int:
        leases = await bus.lease("todo-train", Attempt, limit=100, wait=0)
        if not leases:
            raise SystemExit("proofmesh bench bus: the queue ran empty: use a larger --seconds")
        await asyncio.gather(*(lease.ack() for lease in leases))
        return len(leases)

    serial = await rate(publish, seconds / 2, 1)
    pipelined = await rate(publish, 2 * seconds, IN_FLIGHT)
    leased = await rate(lease, seconds / 2, 1)
    return {"publish_serial": round(serial), "publish_64": round(pipelined), "lease_100_and_ack": round(leased)}


async def measure(url: str, seconds: float) -> dict[str, Any]:
    """Measure all rates on the running event loop."""
    bus = await Bus.connect(BusSettings(url=url), run=RUN, name="bench", wait=30)
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


async def with_broker(loop: str, seconds: float) -> dict[str, Any]:
    """Start a broker and the answering process, then measure."""
    with tempfile.TemporaryDirectory(prefix="proofmesh-bench-") as store:
        server = Server(BrokerSettings(port=0, store=f"{store}/store"))
        await server.start()
        command = [sys.executable, "-m", "scripts.bench.bus", "--serve", server.bus.url, "--loops", loop]
        other = await spawn_child(command, stdout=subprocess.PIPE)
        try:
            assert other.stdout is not None
            await other.stdout.readline()
            return await measure(server.bus.url, seconds)
        finally:
            await kill_group(other, 0)
            await server.stop()


def main() -> int:
    """Measure and print."""
    arguments = tyro.cli(BusBenchSettings)
    logging.configure("warning")
    factories = {"uvloop": uvloop.new_event_loop, "asyncio": asyncio.new_event_loop}
    if arguments.serve:
        with asyncio.Runner(loop_factory=factories[arguments.loops[0]]) as runner:
            runner.run(answer_requests(arguments.serve))
        return 0
    results = {}
    for name in arguments.loops:
        with asyncio.Runner(loop_factory=factories[name]) as runner:
            results[name] = runner.run(with_broker(name, arguments.seconds))
    report(results, arguments.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
