"""Classifies the failures of language model servers: whether to retry, when, and the message for the user."""

from __future__ import annotations

import contextlib
import email.utils
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from node.llm.completions import output_limit
from node.llm.sampling import Outcome

if TYPE_CHECKING:
    import openai


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
