"""How `generate` chooses tokens: a logits processor that draws them, and a criterion that ends each row by itself.

What a row draws depends on its seed alone, whichever rows are beside it: its noise is from a generator of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from transformers import LogitsProcessor, StoppingCriteria

from node.llm.hub.rows import Row


class Noise:
    """A generator for each row, which goes on where it was when a row moves to another batch."""

    def __init__(self, rows: Sequence[Row], device: torch.device) -> None:
        self._drawn = [row.decoding.temperature > 0 for row in rows]
        self._generators = [torch.Generator(device).manual_seed(row.seed) for row in rows]

    def add(self, scores: Tensor) -> None:
        """Gumbel noise, in place: the largest score is then a sample of their softmax (Gumbel 1954; torch.multinomial
        does the same with exponential noise)."""
        noise = torch.ones_like(scores)
        for drawn, generator, row in zip(self._drawn, self._generators, noise, strict=True):
            if drawn:
                row.exponential_(generator=generator)
        scores.sub_(noise.log_())

    def kept(self, indices: Sequence[int]) -> Noise:
        """That of some rows."""
        return self._of([(self._drawn[index], self._generators[index]) for index in indices])

    def joined(self, other: Noise) -> Noise:
        """That of both."""
        pairs = [*zip(self._drawn, self._generators, strict=True), *zip(other._drawn, other._generators, strict=True)]
        return self._of(pairs)

    @staticmethod
    def _of(pairs: Sequence[tuple[bool, torch.Generator]]) -> Noise:
        found = Noise((), torch.device("cpu"))
        found._drawn = [drawn for drawn, _ in pairs]
        found._generators = [generator for _, generator in pairs]
        return found


class Choosing(LogitsProcessor):
    """Temperature, top-p and noise of each row, so that the likeliest token is the sample; `generate` is greedy."""

    def __init__(self, rows: Sequence[Row], noise: Noise, device: torch.device) -> None:
        decodings = [row.decoding for row in rows]
        self._noise = noise
        # Temperature 0 is the likeliest token: without noise any temperature gives it.
        self._temperature = torch.tensor([each.temperature or 1.0 for each in decodings], device=device)[:, None]
        top_p = [each.top_p if each.temperature else 1.0 for each in decodings]
        self._top_p = torch.tensor(top_p, device=device)[:, None] if min(top_p) < 1 else None
        self._plain = all(each.temperature in (0.0, 1.0) for each in decodings)
        self._sampled = any(each.temperature > 0 for each in decodings)
        self.logprobs = torch.zeros(len(rows), device=device)
        """Of the tokens chosen last, under the model itself: at temperature 1, and without top-p."""

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """(rows, vocabulary) to the same with noise."""
        chosen = scores if self._plain else scores / self._temperature
        if self._top_p is not None:
            chosen = within_nucleus(chosen, self._top_p)
        if self._sampled:
            chosen = chosen.clone() if chosen is scores else chosen
            self._noise.add(chosen)
        token = chosen.argmax(-1, keepdim=True)
        self.logprobs = (scores.gather(-1, token) - scores.logsumexp(-1, keepdim=True)).squeeze(-1)
        return chosen


def within_nucleus(scores: Tensor, top_p: Tensor) -> Tensor:
    """Scores with -inf for all but the likeliest tokens that have the probability `top_p` (rows, 1) together (Holtzman
    et al. 2020)."""
    ordered, order = scores.sort(-1, descending=True)
    probabilities = ordered.softmax(-1)
    outside = probabilities.cumsum(-1) - probabilities >= top_p
    return scores.masked_fill(outside.scatter(-1, order, outside), float("-inf"))


class Ending(StoppingCriteria):
    """Gives each row its token, and ends those that are over; all of them once `closing` says so."""

    def __init__(self, rows: Sequence[Row], choosing: Choosing, closing: Callable[[], bool]) -> None:
        self._rows = rows
        self._choosing = choosing
        self._closing = closing

    def __call__(self, input_ids: Tensor, scores: object, **_: object) -> Tensor:
        """(rows, tokens) to (rows,): what is over."""
        tokens, logprobs = input_ids[:, -1].tolist(), self._choosing.logprobs.tolist()
        for row, token, logprob in zip(self._rows, tokens, logprobs, strict=True):
            row.take(token, logprob)
        closing = self._closing()
        return torch.tensor([closing or row.is_over for row in self._rows], device=input_ids.device)
