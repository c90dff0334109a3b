"""Bench `engine`: states and tokens per second of our engine, and of language models in this process."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import math
import os
import random
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from common.limits import Natural, Positive
from common.machine import share_cores
from node.llm.address import BadModel, HubAddress, parse_hub_address
from scripts.bench.harness import Pace, Part, Results, machine, medians

if TYPE_CHECKING:
    import torch

    from node.inference.engine.engine import Engine as Generator


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

    def unread_bytes(self, item: int) -> int:
        """Bytes of the embedding, of which a pass reads only its tokens' rows; `item`: bytes of a number."""
        return self.vocab_size * self.width * item


SHAPES = {
    # The demo's network; states of the bank have about 100 tokens, tactics about 12.
    "demo": Shape(depth=4, width=128, heads=4, vocab_size=1024, prompt=100, new_tokens=12),
    # The shape on which nanoproof's engine was measured (LOG.md).
    "reference": Shape(depth=4, width=256, heads=4, vocab_size=50_441, prompt=128, new_tokens=32),
    # 150 million parameters: as large as a network gets whose answers a search waits for.
    "large": Shape(depth=16, width=768, heads=12, vocab_size=32_768, prompt=128, new_tokens=32),
}


@dataclass
class Engine(Part):
    """Measures the generation engine: states and tokens per second with 1, 8 and 32 states waiting.

        proofmesh bench engine --json OUT                 (60 to 90 s on 2 cores)
        proofmesh bench engine --shapes demo --threads 1

    A run submits batches of states for `seconds`, each batch after the last one has finished. The median of `repeats`
    runs is reported. Weights are random, and all completions have full length. With `--sharpness 1` predictions are
    nearly uniform, so the samples of a state differ from the first token on. This is the worst case, and the right one
    to compare with engines that share no work between samples. A trained policy is sharper, and equal beginnings share
    their work. States repeat only with `--again`.

    `hardware` is an upper bound for this machine: the operations of a state, the speed of these matrix products alone,
    in the engine's precision, and the states per second if nothing else took time. `share_of_float32` compares with the
    bound of products in float32.
    """

    shapes: tuple[Literal["demo", "reference", "large"], ...] = ("reference",)
    """Shapes to measure: demo, reference, large."""
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
    precision: Literal["float32", "bfloat16", "auto"] = "auto"
    """`auto`: as inference nodes choose, bfloat16 where the hardware computes in it."""
    graphs: Literal["auto", "on", "off"] = "auto"
    """CUDA graphs."""

    def measure(self) -> Results:
        """All measurements, with settings and facts of the machine."""
        share_cores()
        import torch

        pace = Pace(self.limit)
        torch.set_num_threads(self.threads or os.cpu_count() or 1)
        results: Results = {name: of_shape(name, self, pace) for name in self.shapes}
        here = {**machine(), "threads": torch.get_num_threads(), "seconds": round(pace.elapsed, 1)}
        return {"settings": self.asked(), "machine": here, "results": results}


def of_shape(name: str, settings: Engine, pace: Pace) -> Results:
    """Medians for every number of waiting states, beside what the hardware could do."""
    shape = SHAPES[name]
    engine = build(shape, settings)
    parameters = engine.weights.model.parameter_count()
    pace.say(f"{name}: {parameters:,} parameters")
    # 1. Warm-up: the first pass allocates memory.
    one_run(engine, shape, 1, dataclasses.replace(settings, seconds=1e-9), 1 << 40)
    results: Results = {"parameters": parameters}
    first = 0
    for waiting in settings.waiting:
        # 2. Runs, each with new states.
        runs = []
        for number in pace.runs(settings.repeats, f"{name}, {waiting} waiting"):
            runs.append(one_run(engine, shape, waiting, settings, first))
            first += 1 << 20
            rates = f"{runs[-1]['states_per_s']:.2f} states/s, {runs[-1]['tokens_per_s']:.0f} tokens/s"
            pace.say(f"{name}, {waiting} waiting, run {number + 1} of {settings.repeats}: {rates}")
        # 3. Beside the hardware.
        middle = medians(runs, 2) | {"runs": len(runs)}
        if settings.device == "cpu":
            middle["hardware"] = hardware(shape, middle, engine.network.dtype)
        results[f"waiting_{waiting}"] = middle
    return results


def build(shape: Shape, settings: Engine) -> Generator:
    """An engine with random weights whose completions all have full length."""
    import torch

    from node.inference.engine.engine import Engine as Generator
    from node.inference.settings import EngineSettings
    from node.model.config import ModelConfig
    from node.model.tokenizer import SPECIAL, Tokenizer
    from node.model.transformer import Transformer
    from node.model.weights import Weights

    # 1. A tokenizer that stands for a trained one of the shape's size.
    class Widened(Tokenizer):
        """Stands for a trained tokenizer with the shape's vocabulary. It accepts every id as text."""

        @property
        def vocab_size(self) -> int:
            return shape.vocab_size

    # Trained so that both words of the states, ` p` and ` q`, become one token each.
    tokenizer = Widened.from_json(Tokenizer.train([" p q p q"] * 10, 300).to_json())
    # 2. Random weights, as sharp as asked.
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
    return Generator(
        weights,
        EngineSettings(
            new_tokens=shape.new_tokens,
            slots=max(32, *settings.waiting),
            dtype=settings.precision,
            graphs=settings.graphs,
        ),
    )


def state_number(number: int, shape: Shape) -> str:
    """A state of the shape's prompt length; each number gives a different one."""
    words = shape.prompt - 3  # bos, state and tactic are the other three
    return "".join(" q" if number >> bit & 1 else " p" for bit in range(words))


def one_run(engine: Generator, shape: Shape, waiting: int, settings: Engine, first: int = 0) -> dict[str, float]:
    """One run: batches of `waiting` states, one after another. States are numbered from `first` on.

    `states_per_cpu_s` is the rate of a single free core; other load on the machine does not affect it.
    """
    from node.inference.engine.batch import Job

    # 1. Submit, and step until all are finished; the next batch comes then.
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
    # 2. Rates from the engine's own counters.
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


def hardware(shape: Shape, middle: Results, dtype: torch.dtype) -> dict[str, float]:
    """The floating-point operations of a state, and an upper bound of states per second on this machine.

    A row is a sampled token: it goes through the blocks and the head. Prompt tokens go through the blocks only.
    Attention is not counted, so the bound is a little too high.
    """
    import torch

    body = shape.depth * (4 * shape.width**2 + 2 * shape.width * 4 * shape.width)
    head = shape.width * shape.vocab_size
    rows, prompt = middle["rows_per_state"], shape.prompt * (1.0 - middle["remembered"])
    batch = max(1, round(middle["rows_per_pass"]))

    def bound(dtype: torch.dtype) -> tuple[float, float, float]:
        """Seconds of a state; FLOP/s of the head and of the blocks."""
        head_speed = product_speed(batch, shape.width, shape.vocab_size, dtype)
        body_speed = product_speed(batch, shape.width, 4 * shape.width, dtype)
        prompt_speed = product_speed(shape.prompt, shape.width, 4 * shape.width, dtype)
        seconds = 2 * rows * head / head_speed + 2 * rows * body / body_speed + 2 * prompt * body / prompt_speed
        return seconds, head_speed, body_speed

    seconds, head_speed, body_speed = bound(dtype)
    bounds = {
        "mflop_per_row": 2 * (body + head) / 1e6,
        "gflop_per_state": 2 * (rows * (body + head) + prompt * body) / 1e9,
        "head_gflop_per_s": head_speed / 1e9,
        "blocks_gflop_per_s": body_speed / 1e9,
        "most_states_per_s": 1 / seconds,
        "share_of_most": middle["states_per_s"] * seconds,
    }
    if dtype != torch.float32:
        bounds["share_of_float32"] = middle["states_per_s"] * bound(torch.float32)[0]
    return {name: round(value, 2) for name, value in bounds.items()}


PRODUCT_SECONDS = 0.25
"""Seconds of one measurement, after a first product that does not count."""


def product_speed(rows: int, inner: int, columns: int, dtype: torch.dtype) -> float:
    """Median FLOP/s of (rows, inner) x (inner, columns) with torch's threads, into a reused output."""
    import torch

    x, matrix = torch.randn(rows, inner).to(dtype), torch.randn(inner, columns).to(dtype)
    out = torch.empty(rows, columns, dtype=dtype)
    times: list[float] = []
    torch.mm(x, matrix, out=out)
    start = time.perf_counter()
    while len(times) < 3 or time.perf_counter() - start < PRODUCT_SECONDS:
        before = time.perf_counter()
        torch.mm(x, matrix, out=out)
        times.append(time.perf_counter() - before)
    return 2.0 * rows * inner * columns / statistics.median(times)


# ----------------------------------------------------------------------------------------------------------------------
# Language models in this process.


@dataclass
class Models(Part):
    """Measures language models in this process: tactics and tokens per second, compared with transformers' `generate`.

    Both draw the same number of samples for the same prompts, in the same batches, with the same weights. They take
    turns, so that other load on the machine affects the ratio less. `full`: all samples have full length. `ending`:
    samples have different lengths, because the model samples end tokens; without --model, about one token in `tokens`/3
    is an end. Without --model it is a small Llama with random weights; this measures mostly the code around the model.
    """

    model: str = ""
    """`hf:ID_OR_FOLDER`; empty: a small Llama with random weights."""
    prompts: Positive = 8
    """Prompts in a batch."""
    samples: Positive = 8
    """Samples of each prompt."""
    tokens: Positive = 48
    """Most tokens of a sample."""
    prompt: Positive = 120
    """Mean tokens of a prompt; lengths vary by up to a half."""
    hidden: Positive = 256
    """Width of the small Llama."""
    layers: Positive = 4
    """Depth of the small Llama."""
    repeats: Positive = 7
    device: str = "auto"
    seconds: Positive = 240
    """Seconds after which no further measurement begins."""
    seed: Natural = 0

    problems = (BadModel,)

    async def measure(self) -> Results:
        """All measurements."""
        import torch

        from node.llm.hub.loading import load
        from node.llm.settings import HubSettings

        torch.manual_seed(self.seed)
        pace = Pace(self.seconds)
        with tempfile.TemporaryDirectory() as made:
            if not self.model:
                small_llama(self, Path(made))
            address = parse_hub_address(self.model) if self.model else HubAddress(made)
            loaded = load(address, HubSettings(device=self.device))
        prompts, ends = prompts_of(self, loaded.tokenizer), sorted(loaded.ends)
        results = {"full": await compared(self, loaded, prompts, (), pace, "full")}
        with contextlib.nullcontext() if self.model else placed_ends(loaded.model, ends, self.tokens / 3):
            results["ending"] = await compared(self, loaded, prompts, ends, pace, "ending")
        weights = sum(parameter.numel() for parameter in loaded.model.parameters())
        return {"asked": self.asked(), "machine": machine(), "weights": weights, **results}


@dataclass(frozen=True)
class Drawn:
    """The samples of one run and their cost."""

    seconds: float
    cpu: float
    """Seconds of processor time, which other load on the machine affects less."""
    samples: int
    tokens: int


def small_llama(settings: Models, folder: Path) -> None:
    """Save a Llama with random weights, and a tokenizer with its vocabulary."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    # 1. A tokenizer with one token for each word.
    words = ["<pad>", "</s>", *(f"Ġw{number}" for number in range(4094))]
    tokenizer = Tokenizer(models.WordLevel({word: at for at, word in enumerate(words)}, unk_token="<pad>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(" ", "merged_with_next"), tokenizer.pre_tokenizer]
    )
    tokenizer.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>").save_pretrained(folder)
    # 2. Random weights of the asked shape.
    torch.manual_seed(settings.seed)
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=settings.hidden,
        intermediate_size=3 * settings.hidden,
        num_hidden_layers=settings.layers,
        num_attention_heads=max(1, settings.hidden // 64),
        max_position_embeddings=4096,
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=1,
        attention_bias=False,
    )
    LlamaForCausalLM(config).save_pretrained(folder)


def prompts_of(settings: Models, tokenizer: Any) -> list[str]:
    """Prompts of different lengths, made of words in the tokenizer's vocabulary."""
    chance = random.Random(settings.seed)
    words = [f" w{number}" for number in range(4094)] if not settings.model else [" p", " ∧", " q", " →", " h", " ℝ"]
    prompts = []
    for _ in range(settings.prompts):
        length = chance.randint(settings.prompt // 2, settings.prompt * 3 // 2)
        text = "".join(chance.choices(words, k=length))
        prompts.append(tokenizer.decode(tokenizer(text)["input_ids"][:length], skip_special_tokens=True))
    return prompts


@contextmanager
def placed_ends(model: Any, ends: Sequence[int], one_in: float) -> Iterator[None]:
    """Sets the probability of end tokens to about one in `one_in`, for models with random weights."""

    def likelier(module: Any, arguments: Any, logits: Any) -> Any:
        logits[..., list(ends)] = (logits.logsumexp(-1) - math.log(one_in)).unsqueeze(-1)
        return logits

    hook = model.get_output_embeddings().register_forward_hook(likelier)
    try:
        yield
    finally:
        hook.remove()


def by_generate(settings: Models, loaded: Any, prompts: Sequence[str], ends: Sequence[int]) -> Drawn:
    """Sample a batch with transformers' `generate`, and decode the texts."""
    import torch

    tokenizer = loaded.tokenizer
    tokenizer.padding_side = "left"
    began, cpu = time.perf_counter(), time.process_time()
    inputs = tokenizer(list(prompts), return_tensors="pt", padding=True).to(loaded.device)
    tokens = loaded.model.generate(
        input_ids=inputs["input_ids"],
        attention_mask=inputs["attention_mask"],
        do_sample=True,
        temperature=1.0,
        top_k=0,
        top_p=1.0,
        num_return_sequences=settings.samples,
        max_new_tokens=settings.tokens,
        eos_token_id=list(ends) or None,
    )[:, inputs["input_ids"].shape[1] :]
    tokenizer.batch_decode(tokens, skip_special_tokens=True)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    is_end = torch.isin(tokens, torch.tensor(list(ends), device=tokens.device)).int()
    until_end = ((is_end.cumsum(-1) - is_end) == 0).sum()
    return Drawn(seconds, cpu, len(tokens), int(until_end))


async def by_sampler(settings: Models, sampler: Any, prompts: Sequence[str], seed: int) -> Drawn:
    """Sample a batch with our sampler, by concurrent requests."""
    from node.llm.sampling import Decoding, Prompt

    decoding = Decoding(max_tokens=settings.tokens)
    began, cpu = time.perf_counter(), time.process_time()
    requests = [
        sampler.sample(Prompt(text), settings.samples, 1000 * seed + number, decoding)
        for number, text in enumerate(prompts)
    ]
    drawn = [sample for samples in await asyncio.gather(*requests) for sample in samples]
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    return Drawn(seconds, cpu, len(drawn), sum(sample.token_count for sample in drawn))


@asynccontextmanager
async def opened(settings: Models, loaded: Any, ends: Sequence[int]) -> AsyncIterator[Any]:
    """Our sampler for a loaded model."""
    from node.llm.hub.sampler import HubSampler
    from node.llm.settings import HubSettings, ModelSettings

    rows = settings.prompts * settings.samples
    hub = HubSettings(batch=rows, batch_tokens=rows * (2 * settings.prompt + settings.tokens))
    loaded = dataclasses.replace(loaded, ends=frozenset(ends))
    sampler = HubSampler(HubAddress("bench"), loaded, ModelSettings(hf=hub), None, lambda text: None)
    try:
        yield sampler
    finally:
        await sampler.close()


def rates(runs: Sequence[Drawn]) -> dict[str, float]:
    """Medians of all runs."""
    return {
        "tactics_per_s": round(statistics.median(run.samples / run.seconds for run in runs), 1),
        "tokens_per_s": round(statistics.median(run.tokens / run.seconds for run in runs)),
        "tokens_per_tactic": round(statistics.median(run.tokens / run.samples for run in runs), 1),
    }


async def compared(
    settings: Models, loaded: Any, prompts: Sequence[str], ends: Sequence[int], pace: Pace, name: str
) -> Results:
    """Compare both samplers in turns."""
    ours, theirs = [], []
    async with opened(settings, loaded, ends) as sampler:
        await by_sampler(settings, sampler, prompts, 0)  # warm-up: the first run fills caches
        await asyncio.to_thread(by_generate, settings, loaded, prompts, ends)
        for number in pace.runs(settings.repeats, name):
            ours.append(await by_sampler(settings, sampler, prompts, number + 1))
            theirs.append(await asyncio.to_thread(by_generate, settings, loaded, prompts, ends))
    pairs = list(zip(ours, theirs, strict=True))
    ratios = [(mine.tokens / mine.seconds) / (other.tokens / other.seconds) for mine, other in pairs]
    per_cpu = [(mine.tokens / mine.cpu) / (other.tokens / other.cpu) for mine, other in pairs]
    pace.say(f"{name}: {statistics.median(ratios):.2f} times the tokens a second of generate")
    return {
        "sampler": rates(ours),
        "generate": rates(theirs),
        "times_faster": round(statistics.median(ratios), 2),
        "times_less_cpu": round(statistics.median(per_cpu), 2),
        "slowest_and_fastest_pair": [round(min(ratios), 2), round(max(ratios), 2)],
        "runs": len(ours),
    }
