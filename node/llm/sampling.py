"""Prompts, samples, and the sampler interface that servers and local models share; what became of requests, and counts
of requests, samples, tokens and cost, also as metrics."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol

from common.life import metrics
from common.output.command import UserError
from node.llm.settings import ModelSettings


@dataclass(frozen=True)
class ChatMessage:
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class Prompt:
    """The input of a model: a text to continue, or a conversation to answer."""

    text: str = ""
    messages: tuple[ChatMessage, ...] = ()
    """The conversation of a chat model; `text` is empty then."""
    dropped: int = field(default=0, compare=False)
    """Number of hypotheses omitted from the state because it was too long for the model."""


@dataclass(frozen=True)
class Decoding:
    """Sampling parameters. All are sent, because servers replace missing ones by the model's own defaults."""

    temperature: float = 1.0
    top_p: float = 1.0
    max_tokens: int = 256
    stop: tuple[str, ...] = ()


@dataclass(frozen=True)
class Token:
    """One token of a sample."""

    text: str
    logprob: float


@dataclass(frozen=True)
class Sample:
    """One sampled completion."""

    text: str
    """Without the prompt and without the stop text."""
    cut: bool = False
    """Whether it reached the token limit, so that its end is missing."""
    tokens: tuple[Token, ...] = ()
    """Tokens with log-probabilities; their texts join to the text. Empty if the model does not report them."""
    token_count: int = 0
    """Number of sampled tokens, also if `tokens` is empty."""

    def logprob(self, prefix: str) -> float | None:
        """Sum of the log-probabilities of the tokens in a prefix of the text, including a token that is partly in it.
        None if they are unknown."""
        if not self.tokens:
            return None
        total, length = 0.0, 0
        for token in self.tokens:
            if length >= len(prefix):
                break
            total += token.logprob
            length += len(token.text)
        return total


class SamplerError(UserError, RuntimeError):
    """The model returned no samples, for a reason unrelated to the theorem; the text says why."""


class ContextExceeded(SamplerError):
    """The prompt does not fit into the model's context; a shorter prompt might."""


class Sampler(Protocol):
    """A language model that draws samples, on a server or in this process."""

    async def sample(self, prompt: Prompt, count: int, seed: int, decoding: Decoding) -> Sequence[Sample]:
        """Draw `count` samples, duplicates included. Equal arguments give equal samples if the model supports it.

        Raises SamplerError.
        """


class OpenedModel(Sampler, Protocol):
    """A model that is ready to sample."""

    @property
    def trouble(self) -> str:
        """The model's present problem; empty if it works."""

    @property
    def usage(self) -> object:
        """Counts of requests and tokens; its `str` is a summary for the user."""


class Outcome(StrEnum):
    """The outcome of a request."""

    ANSWERED = "answered"
    LIMITED = "limited"
    """Status 429: too many requests."""
    UNAVAILABLE = "unavailable"
    """Status 500 and above: overloaded, starting, broken."""
    UNREACHABLE = "unreachable"
    """The connection was refused, reset, or closed before the response was complete."""
    TIMEOUT = "timeout"
    GARBLED = "garbled"
    """The response is not that of an OpenAI-compatible server: HTML, or JSON that is truncated or has other fields."""
    EMPTY = "empty"
    """The response has no sample, or only aborted ones."""
    CHANGED = "changed"
    """The server runs another model than before."""
    KEY = "key"
    """Status 401 or 403."""
    TOO_LONG = "too-long"
    """The prompt does not fit into the model's context."""
    REFUSED = "refused"
    """The server rejects the request, and would reject a retry."""
    ADAPTED = "adapted"
    """The server does not support a parameter of the request; the request is sent again without it."""
    LEFT = "left"
    """The caller was cancelled, such as a search whose time is over."""


# ----------------------------------------------------------------------------------------------------------------------
# Counts of requests, samples, tokens and cost of a language model, on servers or in this process.

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
