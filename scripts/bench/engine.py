"""Measures the generation engine: states and tokens per second with 1, 8 and 32 states waiting, and its requests.

    python -m scripts.bench.engine --threads 2 --json OUT

Weights are random and no completion ends by itself. With `--sharpness 1` predictions are nearly uniform and samples of
a state part at once: the worst case, and the one to compare with engines that share nothing. A trained policy is
sharper, and samples that agree share their work. No state comes twice unless `--again` says so.

Of the shape `reference` ratios to the predecessor are given, which was measured on a 2-core CPU; so are those of the
requests through the broker with a model that answers at once (scripts/bench/requests.py).
"""

from __future__ import annotations

import os
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from node.inference.engine import Engine
from scripts.bench._report import asked, machine, report


@dataclass(frozen=True)
class Shape:
    """A network and the work it is given."""

    depth: int
    width: int
    heads: int
    vocab_size: int
    prompt: int
    """Tokens of a prompt."""
    new_tokens: int
    """Tokens of a completion; none ends earlier."""


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
"""nanoproof's engine with the shape `reference`, 6 samples a state, fp32, on a 2-core CPU (issue 4)."""


@dataclass
class BenchSettings:
    """What to measure."""

    shapes: tuple[str, ...] = ("demo", "reference")
    """Which of: demo, reference."""
    waiting: tuple[int, ...] = (1, 8, 32)
    """States in the engine at all times."""
    samples: int = 6
    """Samples of each state."""
    threads: int = 1
    """Threads of a forward pass. More than one only on a machine with nothing else to do: they wait for each other."""
    seconds: float = 5.0
    """Length of one run."""
    repeats: int = 3
    """Runs; the median counts."""
    sharpness: float = 1.0
    """Factor on the logits of the random policy."""
    again: float = 0.0
    """Share of states that were asked for before, so that the engine may remember them."""
    device: str = "cpu"
    """Where the network runs."""
    requests: bool = True
    """Also measure requests through a broker to a node whose model answers at once."""
    json: Path | None = None
    """Write the numbers here as well."""


def build(shape: Shape, settings: BenchSettings) -> Engine:
    """An engine with random weights whose completions never end by themselves."""
    import torch

    from node.inference.engine import Engine
    from node.inference.engine_settings import EngineSettings
    from node.model.config import ModelConfig
    from node.model.tokenizer import SPECIAL, Tokenizer
    from node.model.transformer import Transformer
    from node.model.weights import Weights

    class Widened(Tokenizer):
        """Stands for a trained tokenizer of the shape's vocabulary: every id is accepted as text."""

        @property
        def vocab_size(self) -> int:
            return shape.vocab_size

    # Both words of the states become one token each.
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
    """A state of the shape's prompt length, another one for each number."""
    words = shape.prompt - 3  # bos, state and tactic are the other three
    return "".join(" q" if number >> bit & 1 else " p" for bit in range(words))


def measure(engine: Engine, shape: Shape, waiting: int, settings: BenchSettings, first: int = 0) -> dict[str, float]:
    """One run: keep `waiting` states in the engine for `seconds`; states are numbered from `first` on.

    `states_per_cpu_s` is what one core alone would do, also when the machine does other things meanwhile.
    """
    import random

    from node.inference.job import Counters, Job

    rng = random.Random(first)
    engine.counters = Counters()
    submitted = first
    start, cpu_start = time.perf_counter(), time.process_time()
    # At least one state each, however slow the machine: a rate of nothing says nothing.
    while (elapsed := time.perf_counter() - start) < settings.seconds or engine.counters.states < waiting:
        while engine.running + engine.waiting < waiting:
            old = submitted > first and rng.random() < settings.again
            state = state_number(rng.randrange(first, submitted) if old else submitted, shape)
            engine.submit(Job(submitted, state, settings.samples, submitted))
            submitted += 1
        engine.step()
    cpu = time.process_time() - cpu_start
    counters = engine.counters
    result = {
        "states_per_s": counters.states / elapsed,
        "states_per_cpu_s": counters.states / cpu,
        "tokens_per_s": counters.samples / elapsed,
        "prompt_tokens_per_s": counters.prompt_tokens / elapsed,
        "rows_per_pass": counters.rows / max(1, counters.passes),
        "ms_per_pass": 1e3 * elapsed / max(1, counters.passes),
        "remembered": counters.remembered / max(1, counters.states),
    }
    while engine.busy:  # leave nothing for the next run
        engine.step()
    return result


def bench_shape(name: str, settings: BenchSettings) -> dict[str, Any]:
    """Medians for every number of waiting states, and their ratios to the predecessor's."""
    shape = SHAPES[name]
    engine = build(shape, settings)
    results: dict[str, Any] = {"parameters": engine.weights.model.parameter_count()}
    first = 0
    for waiting in settings.waiting:
        runs = []
        for _ in range(settings.repeats):
            runs.append(measure(engine, shape, waiting, settings, first))
            first += 1 << 20
        medians: dict[str, Any] = {key: round(statistics.median(run[key] for run in runs), 2) for key in runs[0]}
        reference = PREDECESSOR.get(f"waiting_{waiting}", {}) if name == "reference" else {}
        medians["ratios"] = {key: round(medians[key] / value, 2) for key, value in reference.items()}
        results[f"waiting_{waiting}"] = medians
    return results


def bench(settings: BenchSettings) -> dict[str, Any]:
    """All measurements, with the machine that they were made on."""

    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that spin for each other lose on a shared machine
    import torch

    torch.set_num_threads(settings.threads)
    results: dict[str, Any] = {name: bench_shape(name, settings) for name in settings.shapes}
    if settings.requests:
        from scripts.bench.requests import bench as bench_requests

        results["requests"] = bench_requests(settings.seconds, settings.repeats)
    return {"settings": asked(settings), "machine": machine(), "results": results}


def main() -> None:
    """Print the measurements as JSON."""
    import tyro

    settings = tyro.cli(BenchSettings, description=__doc__)
    report(bench(settings), settings.json)


if __name__ == "__main__":
    main()
