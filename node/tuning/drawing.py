"""Samples completions from a model in memory with transformers' `generate`, in the same way as at inference."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from transformers import GenerationConfig

from node.llm.hub.loading import Loaded
from node.llm.hub.reading import Reader
from node.llm.templates import Template


@dataclass(frozen=True)
class Drawing:
    """How completions are sampled."""

    loaded: Loaded
    reader: Reader
    stops: tuple[str, ...]
    """Stop texts of a completion."""
    ends: frozenset[int]
    """End tokens of a completion."""
    temperature: float
    most: int
    """Tokens."""

    @classmethod
    def of(cls, name: str, loaded: Loaded, template: Template, temperature: float, most: int) -> Drawing:
        """Sampling with the stop texts and end tokens of the template."""
        reader = Reader(name, loaded, template)
        stops = template.output.stops
        return cls(loaded, reader, stops, loaded.ends | reader.stop_tokens(stops), temperature, most)

    def draw(self, model: Any, prompts: Sequence[Sequence[int]]) -> list[list[int]]:
        """Samples one completion for each prompt from torch's random generator. A completion includes its end
        tokens."""
        device, width = self.loaded.device, max(map(len, prompts))
        ids = torch.tensor([[self.loaded.pad] * (width - len(each)) + list(each) for each in prompts], device=device)
        mask = torch.tensor([[0] * (width - len(each)) + [1] * len(each) for each in prompts], device=device)
        config = GenerationConfig(
            max_new_tokens=self.most,
            do_sample=True,
            temperature=self.temperature,
            top_k=0,
            top_p=1.0,
            pad_token_id=self.loaded.pad,
            eos_token_id=sorted(self.ends) or None,
            stop_strings=list(self.stops) or None,
            disable_compile=True,
        )
        with torch.no_grad():
            sequences = model.generate(
                input_ids=ids, attention_mask=mask, generation_config=config, tokenizer=self.loaded.tokenizer
            )
        return [self._ended(row) for row in sequences[:, width:].tolist()]

    def text(self, completion: Sequence[int]) -> str:
        """The text of a completion as the parser of answers gets it."""
        return self.reader.decode(list(completion))

    def _ended(self, row: list[int]) -> list[int]:
        """A row without the padding after its end."""
        for place, token in enumerate(row):
            if token in self.ends:
                return row[: place + 1]
        end = len(row)
        while end > 1 and row[end - 1] == self.loaded.pad:
            end -= 1
        return row[:end]


@contextmanager
def drawing_mode(model: Any) -> Any:
    """A context without dropout and with the key-value cache."""
    training, cache = model.training, model.config.use_cache
    model.eval()
    model.config.use_cache = True
    try:
        yield
    finally:
        model.train(training)
        model.config.use_cache = cache


def drawn(
    drawing: Drawing, model: Any, prompts: Sequence[Sequence[int]], samples: int, seed: int, batch: int
) -> list[list[str]]:
    """Texts of `samples` completions for each prompt. Leaves the state of torch's random generator unchanged."""
    asked = [prompt for prompt in prompts for _ in range(samples)]
    texts: list[str] = []
    with torch.random.fork_rng(), drawing_mode(model):
        torch.manual_seed(seed)
        for start in range(0, len(asked), batch):
            texts += map(drawing.text, drawing.draw(model, asked[start : start + batch]))
    return [texts[start : start + samples] for start in range(0, len(texts), samples)]
