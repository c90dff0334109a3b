"""Measures the generation engine: states and tokens per second with 1, 8 and 32 states waiting, and its requests.

    proofmesh bench engine --json OUT                 (60 to 90 s on 2 cores)
    proofmesh bench engine --shapes demo --threads 1 --no-requests

A run submits batches of states for `seconds`, each batch after the last one has finished. The median of `repeats` runs
is reported. Weights are random, and all completions have full length. With `--sharpness 1` predictions are nearly
uniform, so the samples of a state differ from the first token on. This is the worst case, and the right one to compare
with engines that share no work between samples. A trained policy is sharper, and equal beginnings share their work.
States repeat only with `--again`.

For the shape `reference`, the results include ratios to the predecessor, which was measured on a 2-core CPU. The same
holds for requests through the broker to a model that answers at once (scripts/bench/requests.py). `hardware` is an
upper bound for this machine: the operations of a state, the speed of these matrix products alone, and the states per
second if nothing else took time.
"""

from __future__ import annotations

import os
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scripts.bench._pace import Pace
from scripts.bench._report import asked, machine, report

if TYPE_CHECKING:
    from node.inference.engine.engine import Engine


@dataclass(frozen=True)
class Shape:
    """The shape of a network and its work."""

    depth: int
    width: int
    heads: int
    vocab_size: int
    prompt: int
    """Tokens of a prompt."""
    new_tokens: int
    """Tokens of each completion."""


SHAPES = {
    # The demo's network; states of the bank have about 100 tokens, tactics about 12.
    "demo": Shape(depth=4, width=128, heads=4, vocab_size=1024, prompt=100, new_tokens=12),
    # The shape on which the predecessor was measured.
    "reference": Shape(depth=4, width=256, heads=4, vocab_size=50_441, prompt=128, new_tokens=32),
}

PREDECESSOR = {
    "waiting_1": {"states_per_s": 1.8, "tokens_per_s": 385.0},
    "waiting_8": {"states_per_s": 2.3, "tokens_per_s": 597.0},
    "waiting_32": {"states_per_s": 2.1, "tokens_per_s": 540.0},
}
"""nanoproof's engine with the shape `reference`, 6 samples per state, fp32, measured on a 2-core CPU."""


REQUEST_SECONDS = 1.0
"""Seconds of a run of requests, which has thousands of them."""


@dataclass
class EngineBenchSettings:
    """Measure the generation engine."""

    shapes: tuple[str, ...] = ("reference",)
    """Shapes to measure: demo, reference."""
    waiting: tuple[int, ...] = (1, 8, 32)
    """Numbers of states that are submitted together."""
    samples: int = 6
    """Samples of each state."""
    threads: int = 0
    """Threads of a forward pass; 0: all cores. Threads wait for each other, so use 1 if the machine has other load."""
    seconds: float = 3.0
    """Seconds of one run; a run is longer if no state is finished by then."""
    repeats: int = 3
    """Number of runs; the median is reported."""
    limit: float = 75.0
    """Seconds after which no further run begins. Each number of waiting states gets at least one."""
    sharpness: float = 1.0
    """Factor on the logits of the random policy."""
    again: float = 0.0
    """Share of states that were submitted before, so that the engine may have them in its cache."""
    device: str = "cpu"
    """Device of the network."""
    requests: bool = True
    """Also measure requests through a broker to a node whose model answers at once."""
    json: Path | None = None
    """Also write the results to this file."""


def build(shape: Shape, settings: EngineBenchSettings) -> Engine:
    """An engine with random weights whose completions all have full length."""
    import torch

    from node.inference.engine.engine import Engine
    from node.inference.engine_settings import EngineSettings
    from node.model.config import ModelConfig
    from node.model.tokenizer import SPECIAL, Tokenizer
    from node.model.transformer import Transformer
    from node.model.weights import Weights

    class Widened(Tokenizer):
        """Stands for a trained tokenizer with the shape's vocabulary. It accepts every id as text."""

        @property
        def vocab_size(self) -> int:
            return shape.vocab_size

    # Trained so that both words of the states, ` p` and ` q`, become one token each.
    tokenizer = Widened.from_json(Tokenizer.train([" p q p q"] * 10, 300).to_json())
    torch.manual_seed(0)
    model = Transformer(
        ModelConfig(
            vocab_size=shape.vocab_size,
            depth=shape.depth,
            width=shape.width,
            heads=shape.heads,
            kv_heads=shape.heads,
            hidden=4 * shape.width,
        )
    )
    with torch.no_grad():
        model.policy.weight.normal_(0.0, settings.sharpness / shape.width**0.5)
        model.policy.weight[: len(SPECIAL)] = 0.0
    weights = Weights(model.to(settings.device).eval().requires_grad_(False), tokenizer)
    return Engine(weights, EngineSettings(new_tokens=shape.new_tokens, dtype="float32"))


def state_number(number: int, shape: Shape) -> str:
    """A state of the shape's prompt length; each number gives a different one."""
    words = shape.prompt - 3  # bos, state and tactic are the other three
    return "".join(" q" if number >> bit & 1 else " p" for bit in range(words))


def measure(
    engine: Engine, shape: Shape, waiting: int, settings: EngineBenchSettings, first: int = 0
) -> dict[str, float]:
    """One run: batches of `waiting` states, one after another. States are numbered from `first` on.

    `states_per_cpu_s` is the rate of a single free core; other load on the machine does not affect it.
    """
    import random

    from node.inference.engine.job import Job

    rng = random.Random(first)
    engine.counters.clear()
    submitted = first
    start, cpu_start = time.perf_counter(), time.process_time()
    while (elapsed := time.perf_counter() - start) < settings.seconds or not engine.counters.states:
        for _ in range(waiting):
            # Fresh state numbers, so that the cache of states does not help; a share `again` repeats an earlier one.
            old = submitted > first and rng.random() < settings.again
            state = state_number(rng.randrange(first, submitted) if old else submitted, shape)
            engine.submit(Job(submitted, state, settings.samples, submitted))
            submitted += 1
        while engine.busy:
            engine.step()
    cpu = time.process_time() - cpu_start
    counters = engine.counters
    return {
        "states_per_s": counters.states / elapsed,
        "states_per_cpu_s": counters.states / cpu,
        "tokens_per_s": counters.samples / elapsed,
        "prompt_tokens_per_s": counters.prompt_tokens / elapsed,
        "rows_per_pass": counters.rows / counters.passes,
        "rows_per_state": counters.rows / counters.states,
        "ms_per_pass": 1e3 * elapsed / counters.passes,
        "remembered": counters.remembered / counters.states,
    }


def hardware(shape: Shape, medians: dict[str, float]) -> dict[str, float]:
    """The floating-point operations of a state, and an upper bound of states per second on this machine.

    A row is a sampled token: it goes through the blocks and the head. Prompt tokens go through the blocks only.
    Attention is not counted, so the bound is a little too high.
    """
    body = shape.depth * (4 * shape.width**2 + 2 * shape.width * 4 * shape.width)
    head = shape.width * shape.vocab_size
    rows, prompt = medians["rows_per_state"], shape.prompt * (1.0 - medians["remembered"])
    batch = max(1, round(medians["rows_per_pass"]))
    head_speed = product_speed(batch, shape.width, shape.vocab_size)
    body_speed = product_speed(batch, shape.width, 4 * shape.width)
    prompt_speed = product_speed(shape.prompt, shape.width, 4 * shape.width)
    seconds = 2 * rows * head / head_speed + 2 * rows * body / body_speed + 2 * prompt * body / prompt_speed
    bounds = {
        "mflop_per_row": 2 * (body + head) / 1e6,
        "gflop_per_state": 2 * (rows * (body + head) + prompt * body) / 1e9,
        "head_gflop_per_s": head_speed / 1e9,
        "blocks_gflop_per_s": body_speed / 1e9,
        "most_states_per_s": 1 / seconds,
        "share_of_most": medians["states_per_s"] * seconds,
    }
    return {name: round(value, 2) for name, value in bounds.items()}


def bench_shape(name: str, settings: EngineBenchSettings, pace: Pace) -> dict[str, Any]:
    """Medians for every number of waiting states, and ratios to the predecessor's."""
    from dataclasses import replace

    shape = SHAPES[name]
    engine = build(shape, settings)
    pace.say(f"{name}: {engine.weights.model.parameter_count():,} parameters")
    measure(engine, shape, 1, replace(settings, seconds=1e-9), 1 << 40)  # warm-up: the first pass allocates memory
    results: dict[str, Any] = {"parameters": engine.weights.model.parameter_count()}
    first = 0
    for waiting in settings.waiting:
        runs = []
        for number in pace.runs(settings.repeats, f"{name}, {waiting} waiting"):
            runs.append(measure(engine, shape, waiting, settings, first))
            first += 1 << 20
            rates = f"{runs[-1]['states_per_s']:.2f} states/s, {runs[-1]['tokens_per_s']:.0f} tokens/s"
            pace.say(f"{name}, {waiting} waiting, run {number + 1} of {settings.repeats}: {rates}")
        medians: dict[str, Any] = {key: round(statistics.median(run[key] for run in runs), 2) for key in runs[0]}
        medians["runs"] = len(runs)
        if name == "reference":
            reference = PREDECESSOR.get(f"waiting_{waiting}", {})
            medians["predecessor"] = reference
            medians["ratios"] = {key: round(medians[key] / value, 2) for key, value in reference.items()}
        if settings.device == "cpu":
            medians["hardware"] = hardware(shape, medians)
        results[f"waiting_{waiting}"] = medians
    return results


def bench(settings: EngineBenchSettings) -> dict[str, Any]:
    """All measurements, with settings and facts of the machine."""

    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # spinning threads are slow on a shared machine
    import torch

    pace = Pace(settings.limit)
    torch.set_num_threads(settings.threads or os.cpu_count() or 1)
    results: dict[str, Any] = {name: bench_shape(name, settings, pace) for name in settings.shapes}
    if settings.requests:
        from scripts.bench.requests import bench as bench_requests

        pace.say("requests through a broker, 1, 8 and 32 clients")
        results["requests"] = bench_requests(REQUEST_SECONDS, settings.repeats)
    here = {**machine(), "threads": torch.get_num_threads(), "seconds": round(pace.elapsed, 1)}
    return {"settings": asked(settings), "machine": here, "results": results}


def main() -> None:
    """Print the measurements as JSON."""
    import tyro

    settings = tyro.cli(EngineBenchSettings, description=__doc__)
    report(bench(settings), settings.json)


# ----------------------------------------------------------------------------------------------------------------------
# Measures the speed of single matrix products: an upper bound for what this machine can reach in a benchmark.

SECONDS = 0.25
"""Seconds of one measurement, after a first product that does not count."""


def product_speed(rows: int, inner: int, columns: int) -> float:
    """Median FLOP/s of (rows, inner) x (inner, columns) in float32 with torch's threads, into a reused output."""
    import torch

    x, matrix = torch.randn(rows, inner), torch.randn(inner, columns)
    out = torch.empty(rows, columns)
    times: list[float] = []
    torch.mm(x, matrix, out=out)
    start = time.perf_counter()
    while len(times) < 3 or time.perf_counter() - start < SECONDS:
        before = time.perf_counter()
        torch.mm(x, matrix, out=out)
        times.append(time.perf_counter() - before)
    return 2.0 * rows * inner * columns / statistics.median(times)


if __name__ == "__main__":
    main()
