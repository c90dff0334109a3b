"""Builds requests for OpenAI-compatible servers and reads their responses.

Texts go to `/completions`, conversations to `/chat/completions`. Servers support different request parameters.
When a server rejects one, later requests leave it out (`Supported`).
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
"""Neutral sampling parameters, sent with `top_k`. Without them vLLM uses the model's own `generation_config.json`, and
llama-cpp-python uses `top_k` 40 and `min_p` 0.05. They are not part of OpenAI's API."""

ALL_TOKENS = (-1, 0)
"""Values of `top_k` that mean all tokens: SGLang rejects 0, llama-cpp-python rejects -1."""

SEEDS = 2**31
"""Seeds are below this bound, which all servers accept."""


@dataclass
class Supported:
    """Which request parameters a server supports. Parameters that were not tried yet count as supported."""

    n: bool = True
    """Whether one request may ask for several samples."""
    logprobs: bool = True
    seed: bool = True
    stop: bool = True
    neutral: bool = True
    all_tokens: int = ALL_TOKENS[0]
    """The value of `top_k` that means all tokens."""
    most_tokens: int = sys.maxsize
    """Largest `max_tokens` that the server accepts, as far as its errors have said."""

    def forget(self, message: str, *, several: bool) -> str:
        """Stop sending the parameter that a server's error message is about; returns its name, empty if there is none.
        `several`: whether the request asked for several samples."""
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
"""Tokens that are worth a request: with less room than this, the prompt counts as too long."""

_OUTPUT_LIMITS = (
    # vLLM; OpenAI.
    re.compile(
        r"max_(?:completion_)?tokens\b.{0,60}?(?:greater than max_model_len|at most|exceed)\D{0,20}(\d+)", re.I | re.S
    ),
    # Older vLLM, SGLang and OpenAI name the context length and the tokens of the prompt.
    re.compile(
        r"maximum context length is (\d+).{0,120}?\((\d+) (?:in|from) the (?:messages|prompt|input)", re.I | re.S
    ),
)


def output_limit(message: str) -> int:
    """Longest sample that a server has room for, according to its error message; 0 if the message names no limit."""
    for pattern in _OUTPUT_LIMITS:
        if match := pattern.search(message):
            context, *prompt = map(int, match.groups())
            room = context - sum(prompt)
            return room if room >= LEAST_OUTPUT else 0
    return 0


def request_of(
    model: str, prompt: Prompt, count: int, seed: int, decoding: Decoding, supported: Supported
) -> dict[str, object]:
    """Arguments for the client's `create`."""
    arguments: dict[str, object] = {
        "model": model,
        "temperature": decoding.temperature,
        "top_p": decoding.top_p,
        "max_tokens": min(decoding.max_tokens, supported.most_tokens),
    }
    if prompt.messages:
        arguments["messages"] = [{"role": each.role, "content": each.content} for each in prompt.messages]
    else:
        arguments["prompt"] = prompt.text
    if supported.n:
        arguments["n"] = count
    if supported.seed:
        arguments["seed"] = seed % SEEDS
    if supported.stop and decoding.stop:
        arguments["stop"] = list(decoding.stop)
    if supported.logprobs:
        # 1, not 0: llama.cpp and others read 0 as `none`.
        arguments["logprobs"] = True if prompt.messages else 1
    if supported.neutral:
        arguments["extra_body"] = {"top_k": supported.all_tokens} | NEUTRAL
    return arguments


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


class _Response(msgspec.Struct):
    choices: list[_Choice]
    model: str | None = None
    usage: _Usage | None = None


class ModelCard(msgspec.Struct):
    """One model that a server has."""

    id: str


class ModelList(msgspec.Struct):
    """Response of `/models`."""

    data: list[ModelCard]


@dataclass(frozen=True)
class Completion:
    """A server's response."""

    samples: tuple[Sample, ...]
    """Without the samples that the server aborted."""
    choices: int
    """Number of samples in the response, aborted ones included."""
    model: str
    """The model's name in the response; empty if the response has none."""
    tokens_in: int
    tokens_out: int
    logprobs: bool
    """Whether the response has log-probabilities."""


ABORTED = frozenset({"abort", "aborted", "cancelled", "error"})
"""Finish reasons that say nothing about the model. vLLM sends them when it is paused or shut down."""

CUT = frozenset({"length", "max_tokens"})


def read_completion(body: bytes, stop: Sequence[str]) -> Completion:
    """Read a response of either API. Raises msgspec.MsgspecError, UnicodeDecodeError."""
    response = msgspec.json.decode(body, type=_Response)
    complete = [choice for choice in response.choices if (choice.finish_reason or "").lower() not in ABORTED]
    usage = response.usage or _Usage()
    tokens_out = usage.completion_tokens or 0
    counts = _spread(tokens_out, len(response.choices))
    samples = tuple(_sample(choice, count, stop) for choice, count in zip(complete, counts, strict=False))
    return Completion(
        samples,
        len(response.choices),
        response.model or "",
        usage.prompt_tokens or 0,
        tokens_out or sum(sample.token_count for sample in samples),
        any(sample.tokens for sample in samples),
    )


def _spread(total: int, parts: int) -> list[int]:
    """Split a total into integers as equal as possible: servers report the token count of all samples together."""
    return [total // parts + (number < total % parts) for number in range(parts)] if parts else []


def _sample(choice: _Choice, token_count: int, stop: Sequence[str]) -> Sample:
    text = (choice.message.content if choice.message else choice.text) or ""
    tokens = _tokens(choice.logprobs, text)
    cut = (choice.finish_reason or "").lower() in CUT
    # Some servers do not support `stop`, and some leave the stop text in the sample.
    ends = [at for at in (text.find(each) for each in stop) if at >= 0]
    if ends:
        text, cut = text[: min(ends)], False
    return Sample(text, cut, tokens, len(tokens) or token_count)


def _tokens(logprobs: _Logprobs | None, text: str) -> tuple[Token, ...]:
    """The tokens as parts of the text; empty unless every token has a log-probability."""
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
"""Maximum characters that a run of tokens without readable text may cover."""


def aligned(tokens: Sequence[str], text: str) -> list[str]:
    """The part of the text that each token stands for.

    Servers write a token that holds part of a character in several ways (`bytes:\\xe2\\x88`, `�`, nothing). The last
    token before the next readable one gets the character. Tokens after the text, such as an end of turn, get nothing.
    """
    pieces: list[str] = []
    at = 0
    for token in tokens:
        start = text.find(token, at, at + len(token) + REACH) if token else -1
        if start < 0 or (start > at and not pieces):
            pieces.append("")
            continue
        if start > at:
            pieces[-1] += text[at:start]
        pieces.append(token)
        at = start + len(token)
    if pieces and at < len(text):
        pieces[-1] += text[at:]
    return pieces
