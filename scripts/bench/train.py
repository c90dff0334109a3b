"""Bench `train`: tokens per second of training steps."""

from __future__ import annotations

import os
import statistics
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from common.limits import Positive
from common.machine import share_cores
from scripts.bench.harness import Pace, Part, Results, machine

if TYPE_CHECKING:
    from node.model.config import ModelConfig
    from node.training.loader import PackedBatch
    from node.training.trainer import Trainer


@dataclass
class Train(Part):
    """Measures training steps: tokens per second with the shape on which nanoproof was measured (LOG.md), and others.

        proofmesh bench train --json train.json                 (60 to 90 s on 2 cores)
        proofmesh bench train --cases transitions --threads 1 --repeats 5
        proofmesh bench train --shape small --device cuda --precision auto --cases 1024 --batch-tokens 65536     (MFU)

    A case is a length (full rows of tokens that are all predicted) or `transitions` (the bank's, packed). A step
    includes forward, backward, clipping, Muon and AdamW. `per_core` uses the processor time of one core, which other
    load on the machine affects less than wall time. `most_tokens_per_s` is an upper bound for this machine: the speed
    of large matrix products alone, measured in the same run, divided by the operations of a token.
    """

    cases: tuple[Literal["transitions"] | Positive, ...] = (256, 768, "transitions")
    """Lengths of rows, or `transitions`."""
    shape: Literal["reference", "demo", "nano", "small", "base"] = "reference"
    """`reference` (nanoproof's), or a preset: demo, nano, small, base."""
    batch_tokens: int = 3072
    """Tokens of a step."""
    micro_tokens: int = 3072
    """Tokens of one forward pass."""
    threads: int = 0
    """Threads; 0: all cores."""
    repeats: int = 5
    """Measured steps, after one warm-up step; the median is reported."""
    limit: float = 75.0
    """Seconds after which no further step begins. Each case gets at least one."""
    precision: Literal["float32", "auto"] = "float32"
    """float32, or `auto`: bfloat16 if the hardware supports it, as in training stages."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """auto, cpu or cuda."""
    compile: bool = False
    """Use torch.compile."""
    checkpoint_activations: bool = False
    """Recompute activations in the backward pass."""

    def measure(self) -> Results:
        """Medians for every case, beside what the hardware could do."""
        share_cores()
        import torch

        from node.training.estimate import flops_per_token, peak_speed, product_speed

        torch.set_num_threads(self.threads or os.cpu_count() or 1)
        pace = Pace(self.limit)
        work = trainer(self)
        config, device = work.model.config, work.device.device
        speed = product_speed(device, work.device.bf16)
        pace.say(f"{work.model.parameter_count():,} parameters; products alone: {speed / 1e9:.0f} GFLOP/s")
        results: Results = {}
        for case in self.cases:
            # 1. Steps over the same batches.
            made = batches(case, self, config.vocab_size)
            step(work, made)  # warm-up
            used, positions = sum(batch.used for batch in made), sum(batch.tokens.numel() for batch in made)
            runs = []
            for number in pace.runs(self.repeats, str(case)):
                runs.append(step(work, made))
                pace.say(f"{case}, step {number + 1} of {self.repeats}: {used / runs[-1][0]:.0f} tokens/s")
            wall, cpu = (statistics.median(run[index] for run in runs) for index in range(2))
            # 2. Rates, and what the hardware could do.
            supervised = sum(batch.targets.numel() for batch in made) / positions
            per_token = flops_per_token(config, made[0].tokens.shape[1], supervised)
            row = {
                "tokens_per_s": used / wall,
                "tokens_per_core_s": used / cpu,
                "filled": used / positions,
                "predicted": supervised,
                "mflop_per_token": per_token / 1e6,
                "gflop_per_s": per_token * positions / wall / 1e9,
                "gflop_per_core_s": per_token * positions / cpu / 1e9,
                "most_tokens_per_s": speed / per_token * used / positions,
                "share_of_most": per_token * positions / wall / speed,
                "runs": len(runs),
            }
            if (peak := peak_speed(device)) is not None:
                row["mfu"] = per_token * positions / wall / peak
            results[str(case)] = {name: round(value, 3) for name, value in row.items()}
        here = {
            **machine(),
            "threads": torch.get_num_threads(),
            "bfloat16": work.device.bf16,
            "seconds": round(pace.elapsed, 1),
            "device": str(device),
            "products_gflop_per_s": round(speed / 1e9, 1),
        }
        return {"settings": self.asked(), "machine": here, "results": results}


def shape(name: str) -> ModelConfig:
    """A network's shape by name."""
    from node.model.config import ModelConfig, preset

    if name == "reference":
        return ModelConfig(vocab_size=50_441, depth=4, width=256, heads=4, kv_heads=4, hidden=1024, context=1024)
    return preset(name)


def transitions(rows: int, length: int, vocab_size: int) -> list[PackedBatch]:
    """Rows of the bank's transitions. Token ids are spread over the whole vocabulary, whose size determines the cost of
    the head."""
    from node.data.tables import open_source, parse
    from node.model.tokenizer import Tokenizer
    from node.training.documents import Document, Encoder, Room
    from node.training.loader import collate, pack
    from node.training.settings import DataSettings

    source = open_source(parse("transitions:bank"))
    texts = [str(row[name]) for row in source.once(500) for name in ("state", "tactic")]
    encoder = Encoder(Tokenizer.train(texts, 1024), "transitions", DataSettings(held_out=0), Room(length), 0)
    documents: list[Document] = []
    while sum(len(document.tokens) for document in documents) < rows * length:
        documents += encoder.documents(source.next(), "train", 0)
    spread = vocab_size // 1024
    wide = [replace(each, tokens=tuple(token * spread for token in each.tokens)) for each in documents]
    packed = pack(wide, length)[:rows]
    return [collate(packed, length)]


def full(rows: int, length: int, vocab_size: int) -> list[PackedBatch]:
    """Rows of random tokens, all predicted."""
    import torch

    from node.training.documents import Document
    from node.training.loader import collate

    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(5, vocab_size, (rows, length), generator=generator).tolist()
    return [collate([(Document(tuple(row), 1, None, length),) for row in tokens], length)]


def batches(case: Literal["transitions"] | int, settings: Train, vocab_size: int) -> list[PackedBatch]:
    """The micro-batches of a step."""
    length, make = (case, full) if isinstance(case, int) else (256, transitions)
    rows = max(1, settings.micro_tokens // length)
    return make(rows, length, vocab_size) * max(1, settings.batch_tokens // (rows * length))


def trainer(settings: Train) -> Trainer:
    """A trainer with fresh weights."""
    import torch

    from node.model.transformer import Transformer, has_bf16
    from node.training.settings import StageSettings
    from node.training.stage import step_settings
    from node.training.trainer import RankDevice, Trainer, choose_device

    stage = StageSettings(device=settings.device, compile=settings.compile)
    stage.checkpoint_activations = settings.checkpoint_activations
    device = choose_device(stage)
    bf16 = settings.precision == "auto" and has_bf16(device)
    torch.manual_seed(0)
    return Trainer(Transformer(shape(settings.shape)), step_settings(stage), RankDevice(device, bf16))


def step(work: Trainer, made: list[PackedBatch]) -> tuple[float, float]:
    """Wall and processor seconds of a step."""
    import torch

    start, cpu = time.perf_counter(), time.process_time()
    work.step(made)
    if work.device.device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start, time.process_time() - cpu
