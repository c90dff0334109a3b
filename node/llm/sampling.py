"""What asks a language model for texts: prompts, samples, and the interface that servers and local models share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol


@dataclass(frozen=True)
class ChatMessage:
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class Prompt:
    """What a model is given: a text to go on with, or a conversation to answer."""

    text: str = ""
    messages: tuple[ChatMessage, ...] = ()
    """Of a chat model; `text` is empty then."""
    dropped: int = field(default=0, compare=False)
    """Hypotheses that were left out of the state, so that it is not too long for the model."""


@dataclass(frozen=True)
class Decoding:
    """How a model samples. All values are sent: servers fill in what is missing from the model's own defaults."""

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
    """One text that a model has sampled."""

    text: str
    """Without the prompt and without the stop text."""
    cut: bool = False
    """It ended because it was too long: the rest is missing."""
    tokens: tuple[Token, ...] = ()
    """With their log-probabilities, joined as long as the text; empty where the model does not tell them."""
    token_count: int = 0
    """Tokens that were sampled, also where they are not told."""

    def logprob(self, kept: str) -> float | None:
        """Sum of the log-probabilities of the tokens that the beginning `kept` of the text is made of; a token that is
        partly within it counts. None where they are not known."""
        if not self.tokens:
            return None
        total, length = 0.0, 0
        for token in self.tokens:
            if length >= len(kept):
                break
            total += token.logprob
            length += len(token.text)
        return total


class SamplerError(RuntimeError):
    """The model gave no samples, and that says nothing about the theorem; the text says why."""


class Sampler(Protocol):
    """A language model that samples, wherever it runs."""

    async def sample(self, prompt: Prompt, count: int, seed: int, decoding: Decoding) -> Sequence[Sample]:
        """`count` samples, duplicates included. Equal arguments give equal samples where the model can do that.

        Raises SamplerError.
        """


class OpenedModel(Sampler, Protocol):
    """A model that is ready to be asked."""

    @property
    def trouble(self) -> str:
        """What is wrong with it at present; empty: nothing."""

    @property
    def usage(self) -> object:
        """What it was asked and has answered; its `str` says so to a person."""
