"""Measures the generation engine: states and tokens per second with 1, 8 and 32 states waiting.

    python -m scripts.bench.engine --threads 1 --seconds 5 --repeats 3

Weights are random. With `--sharpness 1` predictions are nearly uniform and samples of a state part at once: the worst
case, and the one to compare with engines that share nothing. A trained policy is sharper, and samples that agree
share their work.
"""

from __future__ import annotations

import json
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from node.inference.engine import Engine


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
    """Threads of a forward pass."""
    seconds: float = 5.0
    """Length of one run."""
    repeats: int = 3
    """Runs; the median counts."""
    sharpness: float = 1.0
    """Factor on the logits of the random policy."""
    device: str = "cpu"
    """Where the network runs."""


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

    tokenizer = Widened.from_json(Tokenizer.train(["p q"] * 10, 300).to_json())
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
    return Engine(weights, EngineSettings(new_tokens=shape.new_tokens, remember=0))


def measure(engine: Engine, shape: Shape, waiting: int, settings: BenchSettings) -> dict[str, float]:
    """One run: keep `waiting` states in the engine for `seconds`.

    `states_per_cpu_s` is what one core alone would do, also when the machine does other things meanwhile.
    """
    from node.inference.engine import Counters, Job

    state = " p" * (shape.prompt - 3)  # bos, state and tactic are the other three
    engine.counters = Counters()
    submitted = 0
    start, cpu_start = time.perf_counter(), time.process_time()
    while (elapsed := time.perf_counter() - start) < settings.seconds:
        while engine.running + engine.waiting < waiting:
            engine.submit(Job(submitted, state, settings.samples, submitted))
            submitted += 1
        engine.step()
    cpu = time.process_time() - cpu_start
    counters = engine.counters
    while engine.busy:  # leave nothing for the next run
        engine.step()
    return {
        "states_per_s": counters.states / elapsed,
        "states_per_cpu_s": counters.states / cpu,
        "tokens_per_s": counters.samples / elapsed,
        "prompt_tokens_per_s": counters.prompt_tokens / elapsed,
        "rows_per_pass": counters.rows / max(1, counters.passes),
        "ms_per_pass": 1e3 * elapsed / max(1, counters.passes),
    }


def bench(settings: BenchSettings) -> dict[str, Any]:
    """Medians for every shape and number of waiting states."""
    import os
    import platform

    import torch

    torch.set_num_threads(settings.threads)
    results: dict[str, Any] = {}
    for name in settings.shapes:
        engine = build(SHAPES[name], settings)
        parameters = engine.weights.model.parameter_count()
        results[name] = {"parameters": parameters}
        for waiting in settings.waiting:
            runs = [measure(engine, SHAPES[name], waiting, settings) for _ in range(settings.repeats)]
            medians = {key: round(statistics.median(run[key] for run in runs), 2) for key in runs[0]}
            results[name][f"waiting_{waiting}"] = medians
    machine = {"cpus": os.cpu_count(), "machine": platform.machine(), "torch": torch.__version__}
    return {"settings": vars(settings), "machine": machine, "results": results}


def main() -> None:
    """Print the measurements as JSON."""
    import tyro

    print(json.dumps(bench(tyro.cli(BenchSettings, description=__doc__)), indent=2))


if __name__ == "__main__":
    main()
