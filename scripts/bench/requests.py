"""Measures the overhead of tactic requests: through the broker to an inference node whose model answers at once.

    python -m scripts.bench.requests [--seconds 3] [--repeats 3] [--json OUT]

Broker, node and clients are separate processes, as in a mesh. The node is a real one (queue, worker thread, weight
versions), except that its engine finishes every state in the first step.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.bench._report import report

CLIENTS = (1, 8, 32)

PREDECESSOR = {
    1: {"requests_per_s": 8, "p50_ms": 123, "requests_per_s_without_gc": 775},
    8: {"requests_per_s": 64, "p50_ms": 125, "requests_per_s_without_gc": 656},
    32: {"requests_per_s": 172, "p50_ms": 185, "requests_per_s_without_gc": 666},
}
"""nanoproof's server with an instant model, measured on the same kind of machine."""

STATE = "α : Type\np q r : Prop\nh₀ : p ∧ q\nh₁ : q → r\nih : ∀ n : Nat, n + 0 = n\n" * 3 + "⊢ q ∧ p ∧ r"
TACTICS = ("exact ⟨h₀.2, h₀.1, h₁ h₀.2⟩", "simp_all", "constructor", "rcases h₀ with ⟨a, b⟩", "intro n", "omega")


@dataclass
class RequestsBenchSettings:
    """Measure the rate and the times of requests on this machine."""

    seconds: float = 3.0
    """Seconds of each measurement."""
    repeats: int = 3
    """Number of measurements; the median is reported."""
    json: Path | None = None
    """Also write the results to this file."""
    serve: str = ""
    """Internal: run as the node, on the broker at this address."""


async def serve(url: str) -> None:
    """Run the node: an inference node whose engine computes nothing."""
    import gc

    from common.bus import Bus
    from common.life.context import NodeContext
    from common.protocol.messages import SampledTactic
    from common.settings import BusSettings, NodeSettings
    from node.inference.engine.engine import Engine
    from node.inference.engine.job import FinishedJob, Job
    from node.inference.serving import Serving
    from node.inference.settings import InferenceSettings
    from node.model import weights as weights_file
    from node.model.config import ModelConfig
    from node.model.tokenizer import Tokenizer
    from node.model.transformer import Transformer

    answer = tuple(SampledTactic(tactic, -1.5) for tactic in TACTICS)

    class Instant(Engine):
        def __post_init__(self) -> None:
            super().__post_init__()
            self.jobs: list[Job] = []

        @property
        def busy(self) -> bool:
            return bool(self.jobs)

        def submit(self, job: Job) -> None:
            self.jobs.append(job)

        def step(self) -> list[FinishedJob]:
            finished = [FinishedJob(job.key, answer, -3.0) for job in self.jobs]
            self.jobs.clear()
            return finished

    gc.collect()
    gc.freeze()  # as in a real node
    with tempfile.TemporaryDirectory(prefix="proofmesh-bench-") as folder:
        path = Path(folder) / "weights.safetensors"
        tokenizer = Tokenizer.train(["p q"] * 10, 300)
        model = Transformer(ModelConfig(vocab_size=tokenizer.vocab_size, depth=1, width=8, heads=1, kv_heads=1))
        weights_file.write(path, model, tokenizer, {"version": "1"})
        context = NodeContext("inference", NodeSettings(run="bench", bus=BusSettings(url=url)))
        context.bus = await Bus.connect(BusSettings(url=url), run="bench", name="server", wait=30)
        await Serving(InferenceSettings(weights=str(path)), context, build=Instant).run()


async def measure(url: str, clients: int, seconds: float, node: int) -> dict[str, float]:
    """Measure `clients` concurrent clients, each of which sends requests one after another. `node`: process id of the
    node.

    Also returns the processor time of a request, which other load on the machine affects less than the rate.
    """
    import psutil

    from common.bus import Bus
    from common.protocol.messages import TacticReply, TacticRequest
    from common.protocol.subjects import TACTIC_REQUEST
    from common.settings import BusSettings

    bus = await Bus.connect(BusSettings(url=url), run="bench", name="client", wait=30)
    request = TacticRequest(state=STATE, samples=len(TACTICS), seed=1)
    # The node may still be starting.
    await bus.request_patiently(TACTIC_REQUEST, request, TacticReply, timeout=10, deadline=60)
    times: list[float] = []
    process, client_before = psutil.Process(node), time.process_time()
    node_before = sum(process.cpu_times()[:2])
    start = time.perf_counter()
    end = start + seconds

    async def client() -> None:
        while (before := time.perf_counter()) < end:
            await bus.request(TACTIC_REQUEST, request, TacticReply, timeout=10)
            times.append(time.perf_counter() - before)

    await asyncio.gather(*(client() for _ in range(clients)))
    elapsed = time.perf_counter() - start
    client_cpu, node_cpu = time.process_time() - client_before, sum(process.cpu_times()[:2]) - node_before
    await bus.close()
    percentiles = statistics.quantiles(times, n=100)
    return {
        "requests_per_s": len(times) / elapsed,
        "p50_ms": percentiles[49] * 1e3,
        "p99_ms": percentiles[98] * 1e3,
        "client_cpu_us": 1e6 * client_cpu / len(times),
        "node_cpu_us": 1e6 * node_cpu / len(times),
    }


async def with_node(seconds: float, repeats: int) -> dict[str, Any]:
    """Start a broker and a node, then measure."""
    from broker import streams
    from broker.launcher import Server
    from broker.settings import BrokerSettings
    from common.bus import Bus
    from common.life.process import kill_group, spawn_child
    from common.settings import BusSettings

    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="proofmesh-bench-") as store:
        server = Server(BrokerSettings(port=0, store=f"{store}/store"))
        await server.start()
        url = server.bus.url
        bus = await Bus.connect(BusSettings(url=url), run="bench", name="bench", wait=30)
        await streams.ensure(bus)
        node = await spawn_child(
            [sys.executable, "-m", "scripts.bench.requests", "--serve", url], stdout=subprocess.DEVNULL
        )
        # A separate process, so that its CPU time is measured apart from the clients'.
        try:
            for clients in CLIENTS:
                runs = [await measure(url, clients, seconds, node.pid) for _ in range(repeats)]
                medians: dict[str, Any] = {
                    key: round(statistics.median(run[key] for run in runs), 3) for key in runs[0]
                }
                old = PREDECESSOR[clients]
                medians["ratio"] = round(medians["requests_per_s"] / old["requests_per_s"], 1)
                medians["ratio_without_gc"] = round(medians["requests_per_s"] / old["requests_per_s_without_gc"], 1)
                results[f"clients_{clients}"] = medians
        finally:
            await kill_group(node, 0)
            await bus.close()
            await server.stop()
    return results


def bench(seconds: float, repeats: int) -> dict[str, Any]:
    """Medians for every number of clients, and ratios to the predecessor."""
    import uvloop

    from common.life import logging

    logging.configure("warning")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(with_node(seconds, repeats))


def main() -> int:
    """Measure and print."""
    import tyro

    arguments = tyro.cli(RequestsBenchSettings, description=__doc__)
    if arguments.serve:
        import uvloop

        from common.life import logging

        logging.configure("warning")
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve(arguments.serve))
        return 0
    report(bench(arguments.seconds, arguments.repeats), arguments.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
