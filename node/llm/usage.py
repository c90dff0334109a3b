"""Counts requests, samples, tokens and cost of a language model, on servers or in this process, also as metrics."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from common.life import metrics
from node.llm.sampling import Outcome
from node.llm.settings import ModelSettings

SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0)
"""Histogram buckets, from a small model's tactic to a whole proof with its thoughts."""

MILLION = 1_000_000

_requests = metrics.counter("llm_requests", "Requests to language models, by what became of them", ("model", "outcome"))
_seconds = metrics.histogram("llm_request_seconds", "Requests that were answered", ("model",), SECONDS)
_tokens = metrics.counter("llm_tokens", "Tokens of prompts (in) and samples (out)", ("model", "direction"))
_cost = metrics.counter("llm_cost", "Estimated cost, in the currency of the prices that were given", ("model",))


@dataclass
class Request:
    """A request in flight, or one that has just ended."""

    outcome: Outcome = Outcome.ANSWERED


@dataclass
class Usage:
    """Counts of one model since it was opened."""

    model: str
    settings: ModelSettings
    requests: Counter[Outcome] = field(default_factory=Counter)
    samples: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    @contextmanager
    def request(self) -> Iterator[Request]:
        """Count and time the block as one request. The block sets the outcome if it is not success or cancellation."""
        began = time.perf_counter()
        request = Request()
        try:
            yield request
        except asyncio.CancelledError:
            request.outcome = Outcome.LEFT
            raise
        finally:
            self.ended(request.outcome, time.perf_counter() - began)

    def ended(self, outcome: Outcome, seconds: float) -> None:
        """A request has ended."""
        self.requests[outcome] += 1
        _requests.labels(self.model, outcome).inc()
        if outcome is Outcome.ANSWERED:
            _seconds.labels(self.model).observe(seconds)

    def answered(self, samples: int, tokens_in: int, tokens_out: int) -> None:
        """Count the content of a response, even if the response is not used."""
        self.samples += samples
        self.tokens_in += tokens_in
        self.tokens_out += tokens_out
        _tokens.labels(self.model, "in").inc(tokens_in)
        _tokens.labels(self.model, "out").inc(tokens_out)
        _cost.labels(self.model).inc(self._price(tokens_in, tokens_out))

    @property
    def cost(self) -> float:
        """Estimated cost in the currency of the prices; 0 without prices."""
        return self._price(self.tokens_in, self.tokens_out)

    def __str__(self) -> str:
        total = self.requests.total()
        failed = total - self.requests[Outcome.ANSWERED]
        kinds = ", ".join(
            f"{count} {outcome}" for outcome, count in self.requests.most_common() if outcome is not Outcome.ANSWERED
        )
        words = [
            f"{total:,} requests" + (f" ({failed:,} without an answer: {kinds})" if failed else ""),
            f"{self.samples:,} samples",
            f"{self.tokens_in:,} tokens in and {self.tokens_out:,} out",
        ]
        if self.settings.price_in or self.settings.price_out:
            words.append(f"cost about {self.cost:.2f}")
        return f"{self.model}: {', '.join(words)}"

    def _price(self, tokens_in: int, tokens_out: int) -> float:
        return (tokens_in * self.settings.price_in + tokens_out * self.settings.price_out) / MILLION
