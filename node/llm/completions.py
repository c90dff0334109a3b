"""What OpenAI-compatible servers are sent and answer: `/completions` for texts, `/chat/completions` for chats.

Servers differ in what they know. What one turns out not to know is left out from then on (`Known`).
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from node.llm.sampling import Decoding, Prompt, Sample, Token

NEUTRAL: dict[str, float] = {"min_p": 0.0, "repetition_penalty": 1.0}
"""Besides `top_k`. Without these vLLM takes values of the model's own `generation_config.json`, and llama-cpp-python
40 and 0.05. They are no part of OpenAI's API."""

ALL_TOKENS = (-1, 0)
"""What `top_k` means all tokens: SGLang refuses 0, llama-cpp-python -1."""

SEEDS = 2**31
"""Seeds are smaller: the largest that all servers take."""


@dataclass
class Known:
    """Which parts of a request a server knows. What is not tried yet is taken to be known."""

    n: bool = True
    """Several samples for one prompt."""
    logprobs: bool = True
    seed: bool = True
    stop: bool = True
    neutral: bool = True
    all_tokens: int = ALL_TOKENS[0]
    """As `top_k`."""
    most_tokens: int = sys.maxsize
    """Longest sample that it takes a request for, as far as it has said so."""

    def forget(self, message: str, *, several: bool) -> str:
        """Leave out what a server's refusal is about; returns its name, empty: nothing that can be left out.
        `several`: whether it was asked for several samples."""
        if (limit := output_limit(message)) and limit < self.most_tokens:
            self.most_tokens = limit
            return f"max_tokens above {limit}"
        if self.neutral and self.all_tokens == ALL_TOKENS[0] and _VALUE_OF_TOP_K.search(message):
            self.all_tokens = ALL_TOKENS[1]
            return f"top_k={ALL_TOKENS[0]}"
        for name, pattern in _ABOUT.items():
            if getattr(self, name) and (several or name != "n") and pattern.search(message):
                setattr(self, name, False)
                return name
        return ""


_VALUE_OF_TOP_K = re.compile(r"top_k.{0,80}(greater|at least|must be|negative|positive|>=)", re.I | re.S)
_ABOUT = {
    "n": re.compile(r"['\"`\[( .]n['\"`\]) :=]|n_cmpl|one completion choice|multiple (completion|choice)s?", re.I),
    "logprobs": re.compile(r"logprobs|n_probs|logits_all", re.I),
    "seed": re.compile(r"\bseed\b", re.I),
    "stop": re.compile(r"['\"`]stop['\"`]", re.I),
    "neutral": re.compile(r"top_k|min_p|repetition_penalty", re.I),
}


LEAST_OUTPUT = 16
"""Tokens that are worth a request: where less room is left, the prompt is too long."""

_OUTPUT_LIMITS = (
    # vLLM; OpenAI.
    re.compile(
        r"max_(?:completion_)?tokens\b.{0,60}?(?:greater than max_model_len|at most|exceed)\D{0,20}(\d+)", re.I | re.S
    ),
    # Older vLLM, SGLang and OpenAI name the context, and what was asked for behind the prompt.
    re.compile(
        r"maximum context length is (\d+).{0,120}?\((\d+) (?:in|from) the (?:messages|prompt|input)", re.I | re.S
    ),
)


def output_limit(message: str) -> int:
    """Longest sample that a server has room for, as its refusal says; 0: it says no such thing."""
    for pattern in _OUTPUT_LIMITS:
        if found := pattern.search(message):
            context, *prompt = map(int, found.groups())
            room = context - sum(prompt)
            return room if room >= LEAST_OUTPUT else 0
    return 0


def request_of(
    model: str, prompt: Prompt, count: int, seed: int, decoding: Decoding, known: Known
) -> dict[str, object]:
    """Arguments of the client's `create`."""
    found: dict[str, object] = {
        "model": model,
        "temperature": decoding.temperature,
        "top_p": decoding.top_p,
        "max_tokens": min(decoding.max_tokens, known.most_tokens),
    }
    if prompt.messages:
        found["messages"] = [{"role": each.role, "content": each.content} for each in prompt.messages]
    else:
        found["prompt"] = prompt.text
    if known.n:
        found["n"] = count
    if known.seed:
        found["seed"] = seed % SEEDS
    if known.stop and decoding.stop:
        found["stop"] = list(decoding.stop)
    if known.logprobs:
        # 1, not 0: llama.cpp and others take 0 for `none`.
        found["logprobs"] = True if prompt.messages else 1
    if known.neutral:
        found["extra_body"] = {"top_k": known.all_tokens} | NEUTRAL
    return found


class _Message(msgspec.Struct):
    content: str | None = None


class _ChatToken(msgspec.Struct):
    token: str
    logprob: float | None = None


class _Logprobs(msgspec.Struct):
    tokens: list[str] | None = None
    token_logprobs: list[float | None] | None = None
    content: list[_ChatToken] | None = None


class _Choice(msgspec.Struct):
    text: str | None = None
    message: _Message | None = None
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Answer(msgspec.Struct):
    choices: list[_Choice]
    model: str | None = None
    usage: _Usage | None = None


class ModelCard(msgspec.Struct):
    """One model that a server has."""

    id: str


class ModelList(msgspec.Struct):
    """Answer of `/models`."""

    data: list[ModelCard]


@dataclass(frozen=True)
class Completion:
    """What a server has answered."""

    samples: tuple[Sample, ...]
    """Without those that the server gave up."""
    choices: int
    """Samples that it has sent, those given up included."""
    model: str
    """What the server calls its model; empty: it does not say."""
    tokens_in: int
    tokens_out: int
    logprobs: bool
    """Whether log-probabilities are told."""


GIVEN_UP = frozenset({"abort", "aborted", "cancelled", "error"})
"""Reasons of an end that say nothing about the model: vLLM's when it is paused or shut down."""

CUT = frozenset({"length", "max_tokens"})


def read_completion(body: bytes, stop: Sequence[str]) -> Completion:
    """Read an answer of either API. Raises msgspec.MsgspecError, UnicodeDecodeError."""
    answer = msgspec.json.decode(body, type=_Answer)
    kept = [choice for choice in answer.choices if (choice.finish_reason or "").lower() not in GIVEN_UP]
    usage = answer.usage or _Usage()
    tokens_out = usage.completion_tokens or 0
    counts = _spread(tokens_out, len(answer.choices))
    samples = tuple(_sample(choice, count, stop) for choice, count in zip(kept, counts, strict=False))
    return Completion(
        samples,
        len(answer.choices),
        answer.model or "",
        usage.prompt_tokens or 0,
        tokens_out or sum(sample.token_count for sample in samples),
        any(sample.tokens for sample in samples),
    )


def _spread(total: int, parts: int) -> list[int]:
    """A total in whole parts as equal as can be: servers tell the tokens of all samples together."""
    return [total // parts + (number < total % parts) for number in range(parts)] if parts else []


def _sample(choice: _Choice, token_count: int, stop: Sequence[str]) -> Sample:
    text = (choice.message.content if choice.message else choice.text) or ""
    tokens = _tokens(choice.logprobs, text)
    cut = (choice.finish_reason or "").lower() in CUT
    # A server that does not know `stop`, or leaves its text in place.
    ends = [at for at in (text.find(each) for each in stop) if at >= 0]
    if ends:
        text, cut = text[: min(ends)], False
    return Sample(text, cut, tokens, len(tokens) or token_count)


def _tokens(logprobs: _Logprobs | None, text: str) -> tuple[Token, ...]:
    """The tokens as parts of the text; none unless the log-probability of each is told."""
    if logprobs is None:
        return ()
    if logprobs.content is not None:
        pairs = [(each.token, each.logprob) for each in logprobs.content]
    else:
        pairs = list(zip(logprobs.tokens or (), logprobs.token_logprobs or (), strict=False))
    values = [value for _, value in pairs if value is not None and math.isfinite(value)]
    if len(values) < len(pairs):
        return ()
    pieces = aligned([token for token, _ in pairs], text)
    return tuple(Token(piece, value) for piece, value in zip(pieces, values, strict=True))


REACH = 16
"""Characters that tokens without a readable text of their own may cover together."""


def aligned(tokens: Sequence[str], text: str) -> list[str]:
    """The part of a text that each token makes up.

    Tokens that hold a part of a character are written in several ways (`bytes:\\xe2\\x88`, `�`, nothing): the last of a
    row of them gets the character. Tokens behind the text, such as the end of a turn, get nothing.
    """
    pieces: list[str] = []
    at = 0
    for token in tokens:
        found = text.find(token, at, at + len(token) + REACH) if token else -1
        if found < 0 or (found > at and not pieces):
            pieces.append("")
            continue
        if found > at:
            pieces[-1] += text[at:found]
        pieces.append(token)
        at = found + len(token)
    if pieces and at < len(text):
        pieces[-1] += text[at:]
    return pieces
