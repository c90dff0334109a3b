"""Token sampling inside `generate`: a logits processor that samples, and a criterion that ends each row separately.

A row's tokens depend only on its seed and not on the other rows, because each row has a separate random generator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from transformers import LogitsProcessor, StoppingCriteria

from node.llm.hub.rows import Row


class Noise:
    """One random generator per row. Its state moves with the row to another batch."""

    def __init__(self, rows: Sequence[Row], device: torch.device) -> None:
        self._drawn = [row.decoding.temperature > 0 for row in rows]
        self._generators = [torch.Generator(device).manual_seed(row.seed) for row in rows]

    def add(self, scores: Tensor) -> None:
        """Add Gumbel noise in place. The largest score is then a sample from the softmax (Gumbel 1954;
        torch.multinomial does the same with exponential noise)."""
        noise = torch.ones_like(scores)
        for drawn, generator, row in zip(self._drawn, self._generators, noise, strict=True):
            if drawn:
                row.exponential_(generator=generator)
        scores.sub_(noise.log_())

    def selected(self, indices: Sequence[int]) -> Noise:
        """The noise of some rows."""
        return self._of([(self._drawn[index], self._generators[index]) for index in indices])

    def joined(self, other: Noise) -> Noise:
        """The noise of the rows of both."""
        pairs = [*zip(self._drawn, self._generators, strict=True), *zip(other._drawn, other._generators, strict=True)]
        return self._of(pairs)

    @staticmethod
    def _of(pairs: Sequence[tuple[bool, torch.Generator]]) -> Noise:
        noise = Noise((), torch.device("cpu"))
        noise._drawn = [drawn for drawn, _ in pairs]
        noise._generators = [generator for _, generator in pairs]
        return noise


class Choosing(LogitsProcessor):
    """Applies temperature, top-p and noise per row, so that the highest score is the sample. `generate` is greedy."""

    def __init__(self, rows: Sequence[Row], noise: Noise, device: torch.device) -> None:
        decodings = [row.decoding for row in rows]
        self._noise = noise
        # Temperature 0 means the likeliest token. Without noise, any temperature gives it, so 1 avoids dividing by 0.
        self._temperature = torch.tensor([each.temperature or 1.0 for each in decodings], device=device)[:, None]
        top_p = [each.top_p if each.temperature else 1.0 for each in decodings]
        self._top_p = torch.tensor(top_p, device=device)[:, None] if min(top_p) < 1 else None
        self._plain = all(each.temperature in (0.0, 1.0) for each in decodings)
        self._sampled = any(each.temperature > 0 for each in decodings)
        self.logprobs = torch.zeros(len(rows), device=device)
        """Log-probabilities of the last tokens under the model itself: at temperature 1, and without top-p."""

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
    """Set scores to -inf, except for the likeliest tokens whose total probability reaches `top_p` (rows, 1)
    (Holtzman et al. 2020)."""
    ordered, order = scores.sort(-1, descending=True)
    probabilities = ordered.softmax(-1)
    outside = probabilities.cumsum(-1) - probabilities >= top_p
    return scores.masked_fill(outside.scatter(-1, order, outside), float("-inf"))


class Ending(StoppingCriteria):
    """Passes each row its token, and ends finished rows; ends all rows once `closing` returns True."""

    def __init__(self, rows: Sequence[Row], choosing: Choosing, closing: Callable[[], bool]) -> None:
        self._rows = rows
        self._choosing = choosing
        self._closing = closing

    def __call__(self, input_ids: Tensor, scores: object, **_: object) -> Tensor:
        """(rows, tokens) to (rows,): True for rows that have ended."""
        tokens, logprobs = input_ids[:, -1].tolist(), self._choosing.logprobs.tolist()
        for row, token, logprob in zip(self._rows, tokens, logprobs, strict=True):
            row.take(token, logprob)
        closing = self._closing()
        return torch.tensor([closing or row.is_over for row in self._rows], device=input_ids.device)
