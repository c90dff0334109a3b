"""Bench `gpu`: whether engine, trainer, learner and language models work on a GPU, and how near its limits they are."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import gc
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from scripts.bench.harness import Pace, Part, Results, machine

if TYPE_CHECKING:
    import torch

    from node.inference.engine.engine import Engine as Generator
    from scripts.bench.engine import Engine, Shape

PARTS_SECONDS = {
    "device": 60,
    "agree": 60,
    "engine": 150,
    "training": 240,
    "learner": 120,
    "ranks": 120,
    "swap": 120,
    "memory": 120,
    "models": 120,
    "vllm": 20,
}
"""The parts in their order, and the longest time of each."""

KINDS = ("inference", "trainer", "language-model")
"""Kinds of nodes that need a GPU's memory."""

WRAPPERS = ("ddp", "fsdp")
"""How ranks share a network: our trainer's way, and torch's sharded one, which our trainer does not have."""


@dataclass
class Gpu(Part):
    """Checks a GPU: the parts one after another, each in a process of its own, each with a line and its numbers.

        just gpu-check --json gpu.json                 (seven of the ten parts: 4.5 minutes on an H200)
        just gpu-check --parts engine swap
        just gpu-check --device cpu                    (smaller, a minute: that the parts run)

    A part that fails or takes too long is reported, and the others run. Exit code 1 if one failed.

    `device`: name, driver, speed of bfloat16 products and of copies. `agree`: whether the engine samples on it what it
    samples on a CPU, and whether steps in bfloat16, compiled or not, have the losses of float32. `engine`: states per
    second of the generation engine at 1, 8, 32 and 128 waiting states, with CUDA graphs and without, and the share of
    the bound by bandwidth.
    `training`: tokens per second and MFU of training steps at three sizes, with torch.compile and without. `learner`:
    the trainer group of a learner, one rank for each GPU (NCCL): start, steps, checkpoint, weights. `ranks`: steps of
    all GPUs together, with DistributedDataParallel as in our trainer and with torch's fully_shard. `swap`: how long new
    weights take to serve, and what training and generation cost each other on one device. `memory`: of the GPU and of
    the process, for each kind of node. `models`: a language model in transformers beside its own `generate`. `vllm`:
    whether it is installed.
    """

    parts: tuple[str, ...] = tuple(PARTS_SECONDS)
    """The parts to run."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """`auto`: the GPU if torch sees one. On `cpu` everything is smaller."""

    def measure(self) -> Results:
        """The results of all parts."""
        import torch

        device = self.device
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        results: Results = {}
        for part in self.parts:
            if part not in PARTS_SECONDS:
                results[part] = {"problem": f"there is no part `{part}`; there are {', '.join(PARTS_SECONDS)}"}
            else:
                results[part] = in_child(part, device)
            print(f"gpu-check {part}: {line_of(results[part])}", file=sys.stderr, flush=True)
            if self.json is not None:  # a part that brings the machine down leaves those before it
                self.json.write_text(json.dumps(results, indent=2), encoding="utf-8")
        sound = all("problem" not in found for found in results.values())
        return {"settings": self.asked(), "machine": machine(), "device": device, "results": results, "sound": sound}


def in_child(part: str, device: str, *what: str) -> Results:
    """Run a part in a process of its own, so that one that crashes or fills the GPU's memory harms no other."""
    command = [sys.executable, "-m", "scripts.bench.gpu", part, device, *what]
    began, limit = time.monotonic(), PARTS_SECONDS[part]
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True
    )
    try:
        out, errors = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)  # with the processes that it has started
        _, errors = child.communicate()
        return {"problem": f"not finished after {limit} s", "last_words": errors[-600:]}
    seconds = round(time.monotonic() - began, 1)
    if child.returncode:
        words = errors.strip().splitlines() or ["no output"]
        return {"problem": words[-1][:400], "last_words": "\n".join(words[-25:]), "seconds": seconds}
    found: Results = json.loads(out.splitlines()[-1])
    return found | {"seconds": seconds}


def line_of(found: Results) -> str:
    """A part's result for LOG.md, on one line."""
    if "problem" in found:
        return f"FAILED: {found['problem']}"
    return f"ok in {found['seconds']} s: {found['line']}"


# ----------------------------------------------------------------------------------------------------------------------
# The parts. Each returns its numbers, with a `line` for people.


def device_part(device: str) -> Results:
    """What the device is, and its two speeds: products and memory."""
    import torch

    from node.model.transformer import has_bf16
    from node.training.estimate import peak_speed, product_speed

    place = torch.device(device)
    found: Results = {
        "bf16": has_bf16(place),
        "torch": torch.__version__,
        "bandwidth_gb_per_s": round(bandwidth(place)),
    }
    found["product_tflop_per_s"] = round(product_speed(place, found["bf16"]) / 1e12, 2)
    name = "CPU"
    if device == "cuda":
        properties = torch.cuda.get_device_properties(0)
        name = properties.name
        found |= {
            "gpus": torch.cuda.device_count(),
            "memory_gb": round(properties.total_memory / 1e9, 1),
            "cuda": torch.version.cuda,
            "nccl": ".".join(map(str, torch.cuda.nccl.version())),
            "peak_tflop_per_s": (peak_speed(place) or 0) / 1e12,
        }
    speeds = f"{found['product_tflop_per_s']} TFLOP/s, copies at {found['bandwidth_gb_per_s']} GB/s"
    return found | {"name": name, "line": f"{found.get('gpus', 1)} x {name}, bf16 {found['bf16']}, products {speeds}"}


def bandwidth(device: torch.device) -> float:
    """GB/s of a large copy on the device, bytes read and written counted."""
    import torch

    size = 1 << 30 if device.type == "cuda" else 1 << 26
    source = torch.empty(size, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    times = []
    for _ in range(6):
        began = settled(device)
        target.copy_(source)
        times.append(settled(device) - began)
    return 2 * size / min(times[1:]) / 1e9


def settled(device: torch.device) -> float:
    """The time when all work of the device is done."""
    import torch

    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def agree_part(device: str) -> Results:
    """The tactics of a CPU, and in bfloat16 the losses of float32. Raises RuntimeError if they differ."""
    from scripts.bench.engine import SHAPES, Engine, build
    from scripts.bench.train import Train, batches, step, trainer

    shape = dataclasses.replace(SHAPES["demo"], new_tokens=6)
    # 1. Float32 everywhere: other sums round differently, so a few draws fall on the other side.
    answers = {}
    for name, place, graphs in (("cpu", "cpu", "off"), ("plain", device, "off"), ("graphs", device, "on")):
        answers[name] = tactics(build(shape, Engine(device=place, graphs=graphs)), shape)  # type: ignore[arg-type]
    found: Results = {
        f"same_tactics_{name}": round(alike(answers["cpu"], answers[name]), 4) for name in ("plain", "graphs")
    }
    # 2. Losses after the same steps.
    kinds = {"float32": ("float32", False), "bf16": ("auto", False)}
    if device == "cuda":
        kinds["bf16, compiled"] = ("auto", True)
    losses = {}
    for name, (precision, compiled) in kinds.items():
        asked = Train(shape="demo", device=device, precision=precision, compile=compiled)  # type: ignore[arg-type]
        asked.batch_tokens = asked.micro_tokens = 2048 if device == "cuda" else 512
        work = trainer(asked)
        made = batches(256, asked, work.model.config.vocab_size)
        for _ in range(8 if device == "cuda" else 2):
            step(work, made)
        losses[name] = round(work.evaluate(made)["loss"], 4)
    found["losses"] = losses
    # 3. What is too far apart.
    far = {name: loss for name, loss in losses.items() if abs(loss / losses["float32"] - 1) > 0.03}
    if far or min(found["same_tactics_plain"], found["same_tactics_graphs"]) < 0.95:
        raise RuntimeError(f"not as on a CPU: {found}")
    return found | {
        "line": f"{found['same_tactics_plain']:.1%} of tactics as on a CPU, {found['same_tactics_graphs']:.1%} with "
        f"graphs; losses {losses}"
    }


def tactics(engine: Generator, shape: Shape) -> list[str]:
    """Six sampled tactics of each of 12 states, which come in two waves."""
    from node.inference.engine.batch import Job
    from scripts.bench.engine import state_number

    answers: dict[int, list[str]] = {}
    for wave in range(2):
        for number in range(6 * wave, 6 * wave + 6):
            state = state_number(number, dataclasses.replace(shape, prompt=shape.prompt - 5 * number % 40))
            engine.submit(Job(number, state, 6, number))
        for _ in range(3):
            answers.update({each.key: [tactic.tactic for tactic in each.tactics] for each in engine.step()})
    while engine.busy:
        answers.update({each.key: [tactic.tactic for tactic in each.tactics] for each in engine.step()})
    return [tactic for key in sorted(answers) for tactic in answers[key]]


def alike(ones: Sequence[str], others: Sequence[str]) -> float:
    """Share of equal texts."""
    return sum(one == other for one, other in zip(ones, others, strict=True)) / len(ones)


def engine_part(device: str) -> Results:
    """The generation engine. A pass reads all weights once, however many rows it has: that is its bound."""
    import torch

    from scripts.bench.engine import SHAPES, Engine, of_shape

    gpu = device == "cuda"
    speed = bandwidth(torch.device(device)) * 1e9
    waiting = (1, 8, 32, 128) if gpu else (1, 8)
    found: Results = {}
    for name in ("demo", "reference", "large") if gpu else ("demo",):
        for graphs in ("on", "off") if gpu else ("off",):
            asked = Engine(waiting=waiting, seconds=1.0 if gpu else 0.3, repeats=2 if gpu else 1, device=device)
            asked.precision, asked.graphs = "auto", graphs
            measured = of_shape(name, asked, Pace(60))
            bytes_read = measured["parameters"] * (2 if gpu else 4) - SHAPES[name].unread_bytes(2 if gpu else 4)
            for count in waiting:
                row = measured[f"waiting_{count}"]
                # Bytes that were read at least, by the passes that were made.
                row["share_of_bandwidth"] = round(bytes_read / speed / (row["ms_per_pass"] / 1e3), 3)
            if gpu:
                measured["arriving"] = arriving(name, asked)
            found[f"{name}, graphs {graphs}"] = measured
    rates = [
        f"{key}: {', '.join(str(round(row[f'waiting_{n}']['states_per_s'])) for n in waiting)}"
        f"{', arriving ' + str(round(row['arriving']['states_per_s'])) if gpu else ''}"
        for key, row in found.items()
    ]
    return {"shapes": found, "line": f"states/s at {waiting}: {'; '.join(rates)}"}


def arriving(name: str, asked: Engine, seconds: float = 3.0) -> Results:
    """States per second with 64 at work at all times, which come and go one by one, as in a mesh.

    The first `seconds` are not counted: each size of a pass is captured as a graph when it is first met.
    """
    from node.inference.engine.batch import Job
    from scripts.bench.engine import SHAPES, build, state_number

    engine = build(SHAPES[name], asked)
    submitted = finished = counted = 0
    began, since = time.perf_counter(), 0.0
    while (now := time.perf_counter()) < began + 2 * seconds:
        if not since and now > began + seconds:
            since, counted = now, finished
        for _ in range(min(4, 64 - (submitted - finished))):  # at first 4 in each step, so that they end at all times
            engine.submit(Job(submitted, state_number(submitted, SHAPES[name]), asked.samples, submitted))
            submitted += 1
        finished += len(engine.step())
    graphs = engine.tactics.graphs
    rate = (finished - counted) / (now - since) if since else 0.0
    return {"states_per_s": round(rate, 1), "graphs": len(graphs.programs) if graphs else 0}


def training_part(device: str) -> Results:
    """Training steps at three sizes, as stages train them (bfloat16 where the hardware has it)."""
    from scripts.bench.train import Train

    gpu = device == "cuda"
    found: Results = {}
    for preset in ("nano", "small", "base") if gpu else ("nano",):
        for compiled in (False, True) if gpu else (False,):
            tokens = 32_768 if gpu else 2048
            asked = Train(cases=(1024,) if gpu else (256,), shape=preset, batch_tokens=tokens, repeats=3 if gpu else 1)
            asked.micro_tokens = 16_384 if gpu else 2048
            asked.device, asked.precision, asked.compile = device, "auto", compiled  # type: ignore[assignment]
            key = f"{preset}{', compiled' if compiled else ''}"
            try:
                (found[key],) = asked.measure()["results"].values()
            except Exception as error:  # such as too little memory: the other sizes still count
                found[key] = {"problem": f"{type(error).__name__}: {str(error)[:300]}"}
            free(device)
    shown = [
        f"{key} {row['problem'][:60]}"
        if "problem" in row
        else f"{key} {row['tokens_per_s']:,.0f} ({row.get('mfu', 0):.0%})"
        for key, row in found.items()
    ]
    return {"sizes": found, "line": f"tokens/s (MFU): {'; '.join(shown)}"}


def free(device: str) -> None:
    """Give the memory of what is no longer used back to the device."""
    import torch

    gc.collect()
    if device == "cuda":
        torch.cuda.empty_cache()


def learner_part(device: str) -> Results:
    """The learner's own trainer group: its processes, its process group, steps, a checkpoint, a restart from it."""
    import torch

    from common.protocol.attempts import Transition
    from common.records import transitions
    from node.learner.settings import TrainerSettings
    from node.learner.trainer.group import TrainerGroup
    from node.model.config import preset

    # Without a GPU, two small processes: the numbers mean little, but the same code has run.
    gpu = device == "cuda"
    ranks = torch.cuda.device_count() if gpu else 2
    settings = TrainerSettings(device=device, ranks=ranks, threads=0 if gpu else 1, average_steps=8)  # type: ignore[arg-type]

    async def train(folder: Path) -> Results:
        # 1. Transitions that a small network learns in a few steps.
        steps = [
            Transition(f"a b : Nat\nh : a = {n}\n⊢ b + {n} = {n} + b", f"rw [h, Nat.add_comm {n}]", 1 + n % 5)
            for n in range(512)
        ]
        refs = transitions.write(folder / "supervised.sqlite", steps)
        group = TrainerGroup(settings, folder)
        # 2. The start: a first checkpoint, then the processes.
        began = time.perf_counter()
        await group.create(folder / "step-000000", preset("demo", vocab_size=512), 1, refs)
        created = time.perf_counter()
        await group.start(folder / "step-000000")
        started = time.perf_counter()
        # 3. Steps. Their median is reported, because the first ones compile and allocate.
        losses, times = [], []
        for number in range(24 if gpu else 4):
            batch = [refs[(number * 64 + index) % len(refs)] for index in range(64 if gpu else 16)]
            before = time.perf_counter()
            losses.append((await group.step(batch, average=True))["loss"])
            times.append(time.perf_counter() - before)
        # 4. What the learner writes.
        before = time.perf_counter()
        await group.checkpoint(folder / "step-000024")
        saved = time.perf_counter()
        await group.write_weights(folder / "weights.safetensors", {"version": "1"})
        written = time.perf_counter()
        await group.stop()
        # 5. From that checkpoint, as after a crash: the loss goes on where it was.
        await group.start(folder / "step-000024")
        again = (await group.step(refs[:64]))["loss"]
        await group.stop()
        return {
            "ranks": ranks,
            "create_s": round(created - began, 2),
            "start_s": round(started - created, 2),
            "step_ms": round(1e3 * statistics.median_high(times), 1),
            "checkpoint_s": round(saved - before, 2),
            "weights_s": round(written - saved, 2),
            "loss_first_last_restarted": [round(loss, 3) for loss in (losses[0], losses[-1], again)],
        }

    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(train(Path(folder)))
    # A learner that is fast and does not learn has no speed.
    if not found["loss_first_last_restarted"][1] < found["loss_first_last_restarted"][0]:
        raise RuntimeError(f"the loss does not fall: {found['loss_first_last_restarted']}")
    return found | {
        "line": f"{ranks} rank(s): start {found['start_s']} s, step {found['step_ms']} ms, checkpoint "
        f"{found['checkpoint_s']} s, loss {found['loss_first_last_restarted']}"
    }


def ranks_part(device: str) -> Results:
    """Ranks that step together, as many as there are GPUs (two on a CPU), each way in which they share a network."""
    import torch

    ranks = torch.cuda.device_count() if device == "cuda" else 2
    found: Results = {"ranks": ranks}
    for wrapper in WRAPPERS:
        found[wrapper] = asyncio.run(ranks_together(wrapper, device, ranks))
    shown = [f"{name} {found[name]['step_ms']} ms, loss {found[name]['losses']}" for name in WRAPPERS]
    return found | {"line": f"{ranks} rank(s), {'nccl' if device == 'cuda' else 'gloo'}: {'; '.join(shown)}"}


async def ranks_together(wrapper: str, device: str, ranks: int) -> Results:
    """The first rank's numbers. Raises RuntimeError with the words of a rank that fails."""
    from node.training.launch import rank_environment, start_rank

    with tempfile.TemporaryDirectory() as folder:
        command = ["-m", "scripts.bench.gpu", "rank", device, wrapper]
        children = [
            await start_rank(
                command,
                rank_environment(rank, ranks, 0 if device == "cuda" else 1, Path(folder) / "rendezvous"),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            for rank in range(ranks)
        ]
        outputs = await asyncio.gather(*(child.communicate() for child in children))
    for child, (_, words) in zip(children, outputs, strict=True):
        if child.returncode:
            raise RuntimeError(f"{wrapper}: {words.decode(errors='replace').strip()[-500:]}")
    found: Results = json.loads(outputs[0][0].splitlines()[-1])
    return found


def rank_part(device: str, wrapper: str) -> Results:
    """One rank: ten steps on equal batches. Raises RuntimeError if the loss does not fall."""
    import torch
    import torch.distributed as dist
    from torch.distributed.fsdp import fully_shard

    from node.model.transformer import has_bf16
    from node.training.launch import RENDEZVOUS
    from node.training.objective import Totals
    from node.training.trainer import data_parallel, ranks_from_environment
    from scripts.bench.train import Train, batches, trainer

    # 1. The group: of one rank, too, so that NCCL starts on a machine with one GPU.
    gpu, (rank, ranks, local) = device == "cuda", ranks_from_environment()
    place = torch.device("cuda", local) if gpu else torch.device("cpu")
    if gpu:
        torch.cuda.set_device(place)
    else:
        torch.set_num_threads(1)
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    method = f"file://{os.environ[RENDEZVOUS]}"
    dist.init_process_group("nccl" if gpu else "gloo", init_method=method, rank=rank, world_size=ranks)
    # 2. The trainer's network and loss, wrapped.
    work = Train(shape="small" if gpu else "demo", device=device, precision="auto")  # type: ignore[arg-type]
    work.batch_tokens = work.micro_tokens = 8192 if gpu else 512
    made = trainer(work)
    (batch,) = (each.to(place) for each in batches(256, work, made.model.config.vocab_size))
    if wrapper == "ddp":
        module: Any = data_parallel(made.objective)
    else:
        for block in made.model.blocks:
            fully_shard(block)
        module = fully_shard(made.objective)
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3)
    # 3. Steps.
    losses, times = [], []
    for _ in range(10 if gpu else 4):
        began = settled(place)
        with torch.autocast(place.type, dtype=torch.bfloat16, enabled=has_bf16(place)):
            loss, _sums = module(batch, Totals(float(batch.targets.numel()), float(batch.value_at.numel())))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        times.append(settled(place) - began)
        losses.append(float(loss.detach()))
    memory = round(torch.cuda.max_memory_allocated() / 2**20) if gpu else 0
    dist.destroy_process_group()
    if not losses[-1] < losses[0]:
        raise RuntimeError(f"the loss does not fall: {losses}")
    return {
        "step_ms": round(1e3 * statistics.median_high(times), 1),
        "losses": [round(losses[0], 3), round(losses[-1], 3)],
        "memory_mb": memory,
    }


def memory_part(device: str) -> Results:
    """What each kind of node takes, in a process of its own."""
    found: Results = {kind: in_child("memory", device, kind) for kind in KINDS}
    for kind, row in found.items():
        if "problem" in row:
            raise RuntimeError(f"{kind}: {row['problem']}")
    shown = [
        f"{kind} {row['gpu_mb']} MB of the GPU, {row['process_mb']} MB ({row['what']})" for kind, row in found.items()
    ]
    return found | {"line": "; ".join(shown)}


def memory_of(device: str, kind: str) -> Results:
    """Do a kind of node's work, and measure the memory. `gpu_mb` has all that is taken on the GPU, drivers included."""
    import resource

    import torch

    from scripts.bench.engine import SHAPES, Engine, Models, build
    from scripts.bench.train import Train, batches, step, trainer

    gpu = device == "cuda"
    if kind == "inference":
        name = "large" if gpu else "demo"
        engine = build(SHAPES[name], Engine(device=device, precision="auto", waiting=(128,) if gpu else (8,)))
        generate(engine, SHAPES[name], 256 if gpu else 8, 1 << 20)
        what = f"{engine.weights.model.parameter_count() / 1e6:.0f} M weights, {engine.settings.slots} slots"
    elif kind == "trainer":
        asked = Train(shape="small" if gpu else "demo", device=device, precision="auto")  # type: ignore[arg-type]
        asked.batch_tokens = asked.micro_tokens = 8192 if gpu else 512  # [learner.trainer] token_budget
        work = trainer(asked)
        made = batches(256, asked, work.model.config.vocab_size)
        for _ in range(2):
            step(work, made)
        what = f"{work.model.parameter_count() / 1e6:.0f} M weights, {asked.micro_tokens} tokens a pass"
    else:
        models = Models(device=device, repeats=1, tokens=48 if gpu else 4, prompts=8 if gpu else 1)
        models.hidden, models.layers = (1024, 8) if gpu else (64, 1)
        what = f"{asyncio.run(models.measure())['weights'] / 1e6:.0f} M weights"
    taken = torch.cuda.mem_get_info() if gpu else (0, 0)
    return {
        "what": what,
        "gpu_mb": round((taken[1] - taken[0]) / 2**20),
        "gpu_peak_of_torch_mb": round(torch.cuda.max_memory_allocated() / 2**20) if gpu else 0,
        "process_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10),
    }


def swap_part(device: str) -> Results:
    """New weights while the old ones serve, and training beside generation on one device, as without a pause."""
    import torch

    from node.inference.engine.engine import Engine as Generator
    from scripts.bench.engine import SHAPES, Engine, build
    from scripts.bench.train import Train, batches, step, trainer

    gpu = device == "cuda"
    shape, place = SHAPES["reference" if gpu else "demo"], torch.device(device)
    asked = Engine(device=device)
    asked.precision = "auto"
    engine = build(shape, asked)
    stop, states = threading.Event(), [0]
    # 1. A second engine with the same weights: what an inference node does with a new version.
    generate(engine, shape, 8, 1 << 20)
    began = settled(place)
    second = Generator(engine.weights, engine.settings)
    built = settled(place)
    generate(second, shape, 8, 1 << 21)
    first_answers = settled(place)
    # 2. Versions that arrive in another thread, as in a node, while a new engine meets its first batches (and captures
    #    their graphs, which the other thread must not disturb).
    with ThreadPoolExecutor(1) as loader:
        loaded = loader.submit(keep_loading, engine, place, arrived := threading.Event())
        third = Generator(engine.weights, engine.settings)
        try:
            for number in range(4):
                generate(third, shape, 1 + 10 * number, (5 + number) << 22)
        finally:
            arrived.set()  # otherwise a failure here would wait for the other thread
        versions = loaded.result()
    # 3. Steps alone, states alone, and both at once.
    work = Train(shape="small" if gpu else "demo", device=device, precision="auto", batch_tokens=8192 if gpu else 512)  # type: ignore[arg-type]
    work.micro_tokens = work.batch_tokens
    teacher = trainer(work)
    made = batches(1024 if gpu else 256, work, teacher.model.config.vocab_size)
    step(teacher, made)
    alone = min(step(teacher, made)[0] for _ in range(5 if gpu else 2))
    rate_alone = states_rate(engine, shape, 2.0 if gpu else 0.5)

    def keep_generating() -> None:
        number = 1 << 30
        while not stop.is_set():
            generate(engine, shape, 32, number)
            number, states[0] = number + 32, states[0] + 32

    thread = threading.Thread(target=keep_generating)
    began_beside = time.perf_counter()
    thread.start()
    beside = [step(teacher, made)[0] for _ in range(8 if gpu else 2)]
    stop.set()
    thread.join()
    rate_beside = states[0] / (time.perf_counter() - began_beside)
    found = {
        "new_version_s": round(built - began, 3),
        "first_answers_s": round(first_answers - built, 3),
        "step_ms_alone": round(1e3 * alone, 1),
        "step_ms_beside": round(1e3 * statistics.median_high(beside), 1),
        "states_per_s_alone": round(rate_alone),
        "states_per_s_beside": round(rate_beside),
        "versions_beside_first_batches": versions,
        "memory_mb": round(torch.cuda.max_memory_allocated() / 2**20) if gpu else 0,
    }
    return found | {
        "line": f"a new version serves after {first_answers - began:.2f} s; beside each other "
        f"a step takes {found['step_ms_beside']} ms (alone {found['step_ms_alone']}), {found['states_per_s_beside']} "
        f"states/s (alone {found['states_per_s_alone']})"
    }


def keep_loading(engine: Generator, place: torch.device, enough: threading.Event) -> int:
    """Bring the engine's weights to the device as new ones until there are `enough`; returns how often, at least once.
    Raises RuntimeError if the device refuses."""
    from node.inference.engine.engine import Engine as Generator

    count = 0
    while not count or not enough.is_set():
        model = copy.deepcopy(engine.weights.model).to("cpu").to(place)
        Generator(dataclasses.replace(engine.weights, model=model), engine.settings)
        count += 1
    return count


def generate(engine: Generator, shape: Shape, count: int, first: int) -> None:
    """Sample tactics for so many new states."""
    from node.inference.engine.batch import Job
    from scripts.bench.engine import state_number

    for number in range(first, first + count):
        engine.submit(Job(number, state_number(number, shape), 6, number))
    while engine.busy:
        engine.step()


def states_rate(engine: Generator, shape: Shape, seconds: float) -> float:
    """States per second, in batches of 32."""
    began, number = time.perf_counter(), 1 << 25
    while (elapsed := time.perf_counter() - began) < seconds or number == 1 << 25:
        generate(engine, shape, 32, number)
        number += 32
    return (number - (1 << 25)) / elapsed


def models_part(device: str) -> Results:
    """A language model in transformers, its own `generate` beside our sampler."""
    from scripts.bench.engine import Models

    gpu = device == "cuda"
    asked = Models(device=device, repeats=3 if gpu else 1, tokens=48 if gpu else 8, prompts=8 if gpu else 2)
    asked.hidden, asked.layers = (1024, 8) if gpu else (64, 1)
    measured = asyncio.run(asked.measure())
    full = measured["full"]
    return measured | {
        "line": f"{measured['weights'] / 1e6:.0f} M weights: {full['sampler']['tokens_per_s']:,.0f} tokens/s, "
        f"{full['times_faster']} times `generate`"
    }


def vllm_part(device: str) -> Results:
    """Whether vLLM is here; `openai:` policies reach one on any machine."""
    try:
        found = version("vllm")
    except PackageNotFoundError:
        return {"line": "not installed"}
    return {"line": f"vllm {found}: `openai:URL#MODEL` reaches its server"}


CHECKS: dict[str, Callable[[str], Results]] = {
    "device": device_part,
    "agree": agree_part,
    "engine": engine_part,
    "training": training_part,
    "learner": learner_part,
    "ranks": ranks_part,
    "swap": swap_part,
    "memory": memory_part,
    "models": models_part,
    "vllm": vllm_part,
}


def main(arguments: Sequence[str]) -> None:
    """Run one part in this process, or one rank or one kind of node of a part, and print its numbers."""
    part, device, *what = arguments
    inner = {"rank": rank_part, "memory": memory_of}
    print(json.dumps(inner[part](device, *what) if what else CHECKS[part](device), default=str))


if __name__ == "__main__":
    main(sys.argv[1:])
