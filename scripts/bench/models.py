"""Measures language models in this process: tactics and tokens per second, compared with transformers' `generate`.

    proofmesh bench models [--model hf:FOLDER] [--prompts 8] [--samples 8] [--tokens 48] [--json OUT]

Both draw the same number of samples for the same prompts, in the same batches, with the same weights. They take turns,
so that other load on the machine affects the ratio less. `full`: all samples have full length. `ending`: samples have
different lengths, because the model samples end tokens; without --model, about one token in `tokens`/3 is an end.
Without --model it is a small Llama with random weights; this measures mostly the code around the model.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from common.limits import Natural, Positive
from common.output.visible import say
from scripts.bench._pace import Pace
from scripts.bench._report import asked, machine, report


@dataclass
class ModelsBenchSettings:
    """Compare our sampler of models in this process with transformers' `generate`."""

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
    json: Path | None = None
    """Also write the results to this file."""


@dataclass(frozen=True)
class Drawn:
    """The samples of one run and their cost."""

    seconds: float
    cpu: float
    """Seconds of processor time, which other load on the machine affects less."""
    samples: int
    tokens: int


def small_llama(settings: ModelsBenchSettings, folder: Path) -> None:
    """Save a Llama with random weights, and a tokenizer with its vocabulary."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    words = ["<pad>", "</s>", *(f"Ġw{number}" for number in range(4094))]
    tokenizer = Tokenizer(models.WordLevel({word: at for at, word in enumerate(words)}, unk_token="<pad>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(" ", "merged_with_next"), tokenizer.pre_tokenizer]
    )
    tokenizer.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>").save_pretrained(folder)
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


def prompts_of(settings: ModelsBenchSettings, tokenizer: Any) -> list[str]:
    """Prompts of different lengths, made of words in the tokenizer's vocabulary."""
    import random

    chance = random.Random(settings.seed)
    words = [f" w{number}" for number in range(4094)] if not settings.model else [" p", " ∧", " q", " →", " h", " ℝ"]
    prompts = []
    for _ in range(settings.prompts):
        length = chance.randint(settings.prompt // 2, settings.prompt * 3 // 2)
        text = "".join(chance.choices(words, k=length))
        prompts.append(tokenizer.decode(tokenizer(text)["input_ids"][:length], skip_special_tokens=True))
    return prompts


class Ends:
    """Sets the probability of end tokens to about one in `one_in`, for models with random weights."""

    def __init__(self, model: Any, ends: Sequence[int], one_in: float) -> None:
        self._model, self._ends, self._one_in = model, list(ends), one_in

    @contextlib.contextmanager
    def placed(self) -> Any:
        """A context manager during which the model has this probability of ends."""
        import math

        def likelier(module: Any, arguments: Any, logits: Any) -> Any:
            others = logits.logsumexp(-1)
            logits[..., self._ends] = (others - math.log(self._one_in)).unsqueeze(-1)
            return logits

        hook = self._model.get_output_embeddings().register_forward_hook(likelier)
        try:
            yield
        finally:
            hook.remove()


def by_generate(settings: ModelsBenchSettings, loaded: Any, prompts: Sequence[str], ends: Sequence[int]) -> Drawn:
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


async def by_sampler(settings: ModelsBenchSettings, sampler: Any, prompts: Sequence[str], seed: int) -> Drawn:
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


@contextlib.asynccontextmanager
async def opened(settings: ModelsBenchSettings, loaded: Any, ends: Sequence[int]) -> AsyncIterator[Any]:
    """Our sampler for a loaded model."""
    from node.llm.address import HubAddress
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
    settings: ModelsBenchSettings, loaded: Any, prompts: Sequence[str], ends: Sequence[int], pace: Pace, name: str
) -> dict[str, Any]:
    """Compare both samplers in turns."""
    ours, theirs = [], []
    async with opened(settings, loaded, ends) as sampler:
        await by_sampler(settings, sampler, prompts, 0)  # warm-up: the first run fills caches
        await asyncio.to_thread(by_generate, settings, loaded, prompts, ends)
        for number in pace.runs(settings.repeats, name):
            ours.append(await by_sampler(settings, sampler, prompts, number + 1))
            theirs.append(await asyncio.to_thread(by_generate, settings, loaded, prompts, ends))
    ratios = [
        (mine.tokens / mine.seconds) / (other.tokens / other.seconds) for mine, other in zip(ours, theirs, strict=True)
    ]
    pace.say(f"{name}: {statistics.median(ratios):.2f} times the tokens a second of generate")
    return {
        "sampler": rates(ours),
        "generate": rates(theirs),
        "times_faster": round(statistics.median(ratios), 2),
        "times_less_cpu": round(
            statistics.median(
                (mine.tokens / mine.cpu) / (other.tokens / other.cpu) for mine, other in zip(ours, theirs, strict=True)
            ),
            2,
        ),
        "slowest_and_fastest_pair": [round(min(ratios), 2), round(max(ratios), 2)],
        "runs": len(ours),
    }


async def bench(settings: ModelsBenchSettings) -> dict[str, Any]:
    """All measurements. Raises BadModel."""
    import torch

    from node.llm.address import HubAddress, parse_hub_address
    from node.llm.hub.loading import load
    from node.llm.settings import HubSettings

    torch.manual_seed(settings.seed)
    pace = Pace(settings.seconds)
    with tempfile.TemporaryDirectory() as made:
        if not settings.model:
            small_llama(settings, Path(made))
        address = parse_hub_address(settings.model) if settings.model else HubAddress(made)
        loaded = load(address, HubSettings(device=settings.device))
    prompts = prompts_of(settings, loaded.tokenizer)
    results = {"full": await compared(settings, loaded, prompts, (), pace, "full")}
    ends = sorted(loaded.ends)
    making = Ends(loaded.model, ends, settings.tokens / 3).placed() if not settings.model else contextlib.nullcontext()
    with making:
        results["ending"] = await compared(settings, loaded, prompts, ends, pace, "ending")
    weights = sum(parameter.numel() for parameter in loaded.model.parameters())
    return {"asked": asked(settings), "machine": machine(), "weights": weights, **results}


def main(argv: Sequence[str]) -> int:
    """Entry point."""
    from node.llm.address import BadModel

    settings = tyro.cli(ModelsBenchSettings, args=list(argv), prog="proofmesh bench models")
    try:
        report(asyncio.run(bench(settings)), settings.json)
    except BadModel as error:
        say(f"proofmesh bench models: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
