"""What a server's failure means: whether to ask again, when, and what a person is told."""

from __future__ import annotations

import contextlib
import email.utils
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from node.llm.completions import output_limit
from node.llm.sampling import SamplerError

if TYPE_CHECKING:
    import openai


class Outcome(StrEnum):
    """What became of a request."""

    ANSWERED = "answered"
    LIMITED = "limited"
    """429: too many requests."""
    UNAVAILABLE = "unavailable"
    """500 and above: overloaded, starting, broken."""
    UNREACHABLE = "unreachable"
    """Refused, reset, or ended before the answer was whole."""
    TIMEOUT = "timeout"
    GARBLED = "garbled"
    """The answer is not what an OpenAI-compatible server says: HTML, or JSON that is cut or something else."""
    EMPTY = "empty"
    """An answer without any sample, or with aborted ones alone."""
    CHANGED = "changed"
    """The server has another model now."""
    KEY = "key"
    """401 or 403."""
    TOO_LONG = "too-long"
    """The prompt does not fit."""
    REFUSED = "refused"
    """The server does not take the request, and would not the next time."""
    ADAPTED = "adapted"
    """The server does not know a part of the request; it is asked again without it."""
    LEFT = "left"
    """Whoever asked has ended meanwhile: a search whose time is over."""


REPEATED = frozenset(
    {
        *(Outcome.LIMITED, Outcome.UNAVAILABLE, Outcome.UNREACHABLE, Outcome.TIMEOUT),
        *(Outcome.GARBLED, Outcome.EMPTY, Outcome.CHANGED),
    }
)
"""After which the same request is sent again."""


class ContextExceeded(SamplerError):
    """The prompt does not fit into the model's context: a shorter one might."""


@dataclass(frozen=True)
class Fault:
    """Why a request brought no samples."""

    outcome: Outcome
    text: str
    wait: float | None = None
    """Seconds that the server asks to wait."""
    body: str = ""
    """The server's words, whole."""


class RequestFailed(Exception):
    """A request brought no samples. Within this package: others see a SamplerError."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.text)
        self.fault = fault


TOO_LONG = re.compile(
    r"context.{0,20}(length|size|window)|maximum (model|context|input|prompt)|max_model_len|too (long|many tokens)"
    r"|longer than the|exceed\w* .{0,40}(context|max\w* (length|tokens))",
    re.IGNORECASE,
)
"""Of vLLM, SGLang, llama.cpp and OpenAI, each in its own words."""

WORDS = 200
"""Characters of a server's message that people are shown."""


def of_exception(error: openai.OpenAIError, url: str, key: str) -> Fault:
    """What a failure of the client means. `key`: the variable that the key is from; empty: there is none."""
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
    """What an answer with 4xx or 5xx means."""
    status = error.status_code
    body = error.response.text
    said = f"{url} answers {status}: {message_of(body)}"
    match status:
        case 401 | 403:
            wants = f"refuses the key in ${key}" if key else "wants a key: set $PROOFMESH_OPENAI_KEY or $OPENAI_API_KEY"
            return Fault(Outcome.KEY, f"{url} {wants} ({status}: {message_of(body)})")
        case 404:
            # A server that was restarted with another model, or a router whose server has just gone.
            return Fault(Outcome.CHANGED, said)
        case 408 | 409 | 425:
            return Fault(Outcome.UNAVAILABLE, said)
        case 429:
            return Fault(Outcome.LIMITED, said, retry_after(error.response.headers))
        case 413:
            return Fault(Outcome.TOO_LONG, said)
        case 400 | 422 if output_limit(body):  # the prompt fits, and less than was asked for behind it
            return Fault(Outcome.REFUSED, said, body=body)
        case 400 | 422 if TOO_LONG.search(body) and not _is_html(body):
            return Fault(Outcome.TOO_LONG, said, body=body)
        # llama.cpp's word on `n`, before it answered 400; llama-cpp-python's on every value that it does not take.
        case 500 if "completion choice" in body or "validation error" in body or "logits_all" in body:
            return Fault(Outcome.REFUSED, said, body=body)
        case _ if status >= 500:
            return Fault(Outcome.UNAVAILABLE, said, retry_after(error.response.headers))
    return Fault(Outcome.REFUSED, said, body=body)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server asks to wait: a number, or a date (RFC 9110, section 10.2.3)."""
    text = headers.get("retry-after", "").strip()
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return max(0.0, seconds) if seconds < 1e9 else None  # not a number is no time, either


def html_or_garbled(body: bytes, url: str, why: str) -> Fault:
    """What an answer with 200 means that cannot be read."""
    text = body[:2000].decode(errors="replace")
    if _is_html(text):
        hint = "is this the address of an OpenAI-compatible API? It mostly ends with /v1"
        return Fault(Outcome.GARBLED, f"{url} answers with a web page, not with JSON; {hint}")
    return Fault(Outcome.GARBLED, f"{url}: the answer cannot be read: {why}")


def _is_html(text: str) -> bool:
    return text.lstrip()[:200].lower().startswith(("<!doctype", "<html", "<head", "<?xml", "<body"))


def message_of(body: str) -> str:
    """The server's own words, in a line: servers put them into different places."""
    if _is_html(body):
        return "a web page"
    found: object = body
    with contextlib.suppress(ValueError):
        found = json.loads(body)
    for name in ("error", "detail", "message"):
        if isinstance(found, dict) and name in found:
            found = found[name]
    if isinstance(found, dict):
        found = found.get("message", found)
    return " ".join(str(found).split())[:WORDS] or "nothing"
