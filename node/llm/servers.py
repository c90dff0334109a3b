"""One request to one of several OpenAI-compatible servers: which server, the request, its response, and its failures.

In reading order: the fleet chooses the least busy server that does not rest. Requests leave out what a server does not
support: texts go to `/completions`, conversations to `/chat/completions`. Failures say whether to retry, when, and what
the user reads. An endpoint sends a request with OpenAI's client.
"""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import json
import math
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from node.llm.address import BadModel
from node.llm.sampling import Decoding, Outcome, Prompt, Sample, Token

if TYPE_CHECKING:
    import openai

LONGEST_REST = 60.0
"""Seconds. A restarted server gets requests again within this time."""


@dataclass
class Place:
    """One server and its recent failures (a circuit breaker)."""

    url: str
    outstanding: int = 0
    """Requests in flight."""
    asked: int = 0
    """Requests so far."""
    failures: int = 0
    """Consecutive failures."""
    rests: int = 0
    """Consecutive rests; each is twice as long as the one before."""
    free_at: float = 0.0
    """Time from which the server may get requests again."""
    trying: bool = False
    """True while one request tests whether the server works again after a rest."""
    problem: str = ""
    """The last failure; empty when the server works."""


class Fleet:
    """The servers of one model."""

    def __init__(self, urls: Sequence[str], *, failures: int, rest: float) -> None:
        """`failures`: consecutive failures after which a server rests; `rest`: seconds of the first rest."""
        self.places = [Place(url) for url in urls]
        self._failures = failures
        self._rest = rest

    def pick(self, now: float) -> Place | None:
        """Choose the server for the next request, and count the request; None if all rest or are being tested."""
        free = [place for place in self.places if place.free_at <= now and not (place.rests and place.trying)]
        if not free:
            return None
        # Healthy servers first: a server that has just failed gets requests only when no other may.
        chosen = min(free, key=lambda place: (place.failures > 0, place.outstanding, place.asked))
        chosen.outstanding += 1
        chosen.asked += 1
        chosen.trying = chosen.rests > 0
        return chosen

    def wait(self, now: float) -> float:
        """Seconds until some server may get a request again."""
        return max(0.0, min(place.free_at for place in self.places) - now)

    def ended(self, place: Place) -> None:
        """A request has ended. Call `succeeded`, `failed` or `asked_to_wait` before this."""
        place.outstanding -= 1
        place.trying = False

    def succeeded(self, place: Place) -> None:
        """The server has sent a usable response."""
        place.failures = place.rests = 0
        place.problem = ""

    def failed(self, place: Place, now: float, problem: str) -> bool:
        """The server failed; returns whether it rests now."""
        place.failures += 1
        place.problem = problem
        if place.failures < self._failures and not place.rests:
            return False
        if place.free_at <= now:  # otherwise this request was sent before the rest began: do not lengthen the rest
            place.free_at = now + min(LONGEST_REST, self._rest * 2**place.rests)
            place.rests += 1
        return True

    def asked_to_wait(self, place: Place, now: float, seconds: float, problem: str) -> None:
        """The server is overloaded and asks for a pause; this does not count as a failure."""
        place.problem = problem
        place.free_at = max(place.free_at, now + seconds)

    def has_healthy_server(self, now: float) -> bool:
        """Whether some server whose last request did not fail may get a request now."""
        return any(not place.problem and place.free_at <= now for place in self.places)

    @property
    def words(self) -> str:
        """The last failures of the servers, joined."""
        return "; ".join(dict.fromkeys(place.problem for place in self.places if place.problem))

    @property
    def problem(self) -> str:
        """The failures if no server works; empty as long as one does."""
        return self.words if all(place.problem for place in self.places) else ""


# ----------------------------------------------------------------------------------------------------------------------
# Builds requests for OpenAI-compatible servers and reads their responses.
#
# Texts go to `/completions`, conversations to `/chat/completions`. Servers support different request parameters. When
# a server rejects one, later requests leave it out (`Supported`).

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


# ----------------------------------------------------------------------------------------------------------------------
# Classifies the failures of language model servers: whether to retry, when, and the message for the user.

REPEATED = frozenset(
    {
        *(Outcome.LIMITED, Outcome.UNAVAILABLE, Outcome.UNREACHABLE, Outcome.TIMEOUT),
        *(Outcome.GARBLED, Outcome.EMPTY, Outcome.CHANGED),
    }
)
"""Outcomes after which the same request is retried."""


@dataclass(frozen=True)
class Fault:
    """Why a request returned no samples."""

    outcome: Outcome
    text: str
    wait: float | None = None
    """Seconds that the server asks the client to wait."""
    body: str = ""
    """The whole body of the server's response."""


class RequestFailed(Exception):
    """A request returned no samples. Used only within this package; other packages get a SamplerError."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.text)
        self.fault = fault


TOO_LONG = re.compile(
    r"context.{0,20}(length|size|window)|maximum (model|context|input|prompt)|max_model_len|too (long|many tokens)"
    r"|longer than the|exceed\w* .{0,40}(context|max\w* (length|tokens))",
    re.IGNORECASE,
)
"""Matches the messages of vLLM, SGLang, llama.cpp and OpenAI about prompts that are too long."""

WORDS = 200
"""Characters of a server's message that error messages show."""


def of_exception(error: openai.OpenAIError, url: str, key: str) -> Fault:
    """Classify an exception of the client. `key`: the environment variable that holds the key; empty: no key."""
    import openai

    if isinstance(error, openai.APITimeoutError):
        return Fault(Outcome.TIMEOUT, f"{url} did not answer in time")
    if isinstance(error, openai.APIConnectionError):
        cause = error.__cause__ or error
        return Fault(Outcome.UNREACHABLE, f"{url} cannot be reached: {str(cause) or type(cause).__name__}")
    if isinstance(error, openai.APIStatusError):
        return _of_status(error, url, key)
    return Fault(Outcome.GARBLED, f"{url}: {type(error).__name__}: {error}")


def _of_status(error: openai.APIStatusError, url: str, key: str) -> Fault:
    """Classify a response with status 4xx or 5xx."""
    status = error.status_code
    body = error.response.text
    text = f"{url} answers {status}: {message_of(body)}"
    match status:
        case 401 | 403:
            problem = (
                f"rejects the key in ${key}; correct it"
                if key
                else "requires a key: set $PROOFMESH_OPENAI_KEY or $OPENAI_API_KEY"
            )
            return Fault(Outcome.KEY, f"{url} {problem} ({status}: {message_of(body)})")
        case 404:
            # The server was restarted with another model, or a router has just lost its server.
            return Fault(Outcome.CHANGED, text)
        case 408 | 409 | 425:
            return Fault(Outcome.UNAVAILABLE, text)
        case 429:
            return Fault(Outcome.LIMITED, text, retry_after(error.response.headers))
        case 413:
            return Fault(Outcome.TOO_LONG, text)
        case 400 | 422 if output_limit(body):  # the prompt fits, but not with as many output tokens as requested
            return Fault(Outcome.REFUSED, text, body=body)
        case 400 | 422 if TOO_LONG.search(body) and not _is_html(body):
            return Fault(Outcome.TOO_LONG, text, body=body)
        # Older llama.cpp rejects `n` with 500 instead of 400; llama-cpp-python does so with every value it rejects.
        case 500 if "completion choice" in body or "validation error" in body or "logits_all" in body:
            return Fault(Outcome.REFUSED, text, body=body)
        case _ if status >= 500:
            return Fault(Outcome.UNAVAILABLE, text, retry_after(error.response.headers))
    return Fault(Outcome.REFUSED, text, body=body)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait from a Retry-After header: a number, or a date (RFC 9110, section 10.2.3)."""
    text = headers.get("retry-after", "").strip()
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return max(0.0, seconds) if seconds < 1e9 else None  # the comparison is false for NaN, too


def html_or_garbled(body: bytes, url: str, why: str) -> Fault:
    """Classify a response with status 200 that cannot be read."""
    text = body[:2000].decode(errors="replace")
    if _is_html(text):
        hint = "check that the address is that of an OpenAI-compatible API, which usually ends with /v1"
        return Fault(Outcome.GARBLED, f"{url} answers with a web page, not with JSON; {hint}")
    return Fault(Outcome.GARBLED, f"{url}: the response cannot be read: {why}")


def _is_html(text: str) -> bool:
    return text.lstrip()[:200].lower().startswith(("<!doctype", "<html", "<head", "<?xml", "<body"))


def message_of(body: str) -> str:
    """The error message in a response body, in one line. Servers use different fields for it."""
    if _is_html(body):
        return "a web page"
    message: object = body
    with contextlib.suppress(ValueError):
        message = json.loads(body)
    for name in ("error", "detail", "message"):
        if isinstance(message, dict) and name in message:
            message = message[name]
    if isinstance(message, dict):
        message = message.get("message", message)
    return " ".join(str(message).split())[:WORDS] or "nothing"


# ----------------------------------------------------------------------------------------------------------------------
# Sends one request to one server with OpenAI's client, and returns the response or raises the fault.

KEYS = ("PROOFMESH_OPENAI_KEY", "OPENAI_API_KEY")
"""Environment variables that may hold the key; the first one that is set wins."""

NO_KEY = "none"
"""The key sent when none is set: the client requires one, and self-hosted servers ignore it."""

CONNECT_SECONDS = 10.0

SECONDS_PER_TOKEN = 0.05
"""Added to a request's timeout for each requested token: 20 tokens a second are slow."""

INSTALL = "pip install 'proofmesh[models]'"


def key_in(environment: Mapping[str, str]) -> tuple[str, str]:
    """The key and the name of its environment variable; both are empty when no key is set."""
    name = next((name for name in KEYS if environment.get(name)), "")
    return environment.get(name, ""), name


def client_library() -> Any:
    """The package `openai`, which the extra `models` installs. Raises BadModel if it is missing."""
    try:
        import openai
    except ImportError as error:
        raise BadModel(f"language models on servers need the package `{error.name}`; run {INSTALL}") from error
    return openai


@dataclass
class Endpoint:
    """One server: its client, and the request parameters that it supports."""

    place: Place
    client: openai.AsyncOpenAI
    key: str
    """The environment variable that holds the key."""
    supported: Supported = field(default_factory=Supported)
    model: str = ""
    """The model's name in the server's first response."""

    async def complete(
        self, model: str, prompt: Prompt, count: int, seed: int, decoding: Decoding, limit: float
    ) -> Completion:
        """Request up to `count` samples; the server may send fewer. `limit` is in seconds. Raises RequestFailed."""
        arguments = request_of(model, prompt, count, seed, decoding, self.supported)
        api = self.client.chat.completions if prompt.messages else self.client.completions
        body = await self._sent(api.with_raw_response.create, limit, **arguments)
        try:
            completion = read_completion(body, decoding.stop)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise RequestFailed(html_or_garbled(body, self.place.url, str(error))) from error
        return completion

    async def models(self, limit: float) -> list[str]:
        """Names of the models that the server has. Raises RequestFailed."""
        body = await self._sent(self.client.models.with_raw_response.list, limit)
        try:
            return [card.id for card in msgspec.json.decode(body, type=ModelList).data]
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise RequestFailed(html_or_garbled(body, self.place.url, str(error))) from error

    async def _sent(self, call: Any, limit: float, **arguments: object) -> bytes:
        """The body of the response. `limit` covers the whole request: the client's own timeout restarts with each byte.

        Raises RequestFailed.
        """
        import openai

        try:
            async with asyncio.timeout(limit):
                response = await call(**arguments)
                return bytes(response.content)
        except TimeoutError as error:
            text = f"{self.place.url} did not answer within {limit:g} s"
            raise RequestFailed(Fault(Outcome.TIMEOUT, text)) from error
        except UnicodeEncodeError as error:
            text = f"{self.place.url}: nothing was sent: the prompt is not valid text ({error.reason})"
            raise RequestFailed(Fault(Outcome.REFUSED, text)) from error
        except openai.OpenAIError as error:
            raise RequestFailed(of_exception(error, self.place.url, self.key)) from error


def endpoint(place: Place) -> Endpoint:
    """A server with its client; the caller closes the client. Raises BadModel if the client is not installed."""
    library = client_library()
    key, variable = key_in(os.environ)
    client = library.AsyncOpenAI(
        api_key=key or NO_KEY,
        base_url=place.url,
        max_retries=0,  # the sampler retries: it can choose another server, and it keeps to the prover's patience
        timeout=library.Timeout(None, connect=CONNECT_SECONDS),
    )
    return Endpoint(place, client, variable)
