"""Prompts, samples, and the sampler interface that servers and local models share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol


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


class SamplerError(RuntimeError):
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
