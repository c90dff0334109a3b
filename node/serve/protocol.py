"""The messages of Kimina Lean Server's API as typed structs. Field names are the API's.

There are two generations of addresses: `/api/check` with `snippets`, and the older `/verify` and
`/one_pass_verify_batch` with `codes`. Responses leave out null fields. `verdict` is our addition, which other clients
ignore; so are `against` and `allow_own_syntax` in requests.
"""

from __future__ import annotations

import math
from contextvars import ContextVar
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from common.limits import LONGEST
from node.lean.snippets.snippet import Diagnostics, Snippet, SnippetResult, Verdict

T = TypeVar("T")

Seconds = Annotated[float, msgspec.Meta(ge=0, le=LONGEST)]
Infotree = Literal["full", "tactics", "original", "substantive"]

DEFAULT_CHECK_SECONDS = 30
DEFAULT_VERIFY_SECONDS = 300
"""Default time limits of a snippet, as in the original server."""


# --- what clients send ----------------------------------------------------------------------------------------------


class TooMany(Exception):
    """The body has more snippets than a request may have. Not a ValueError, which msgspec would take for its own."""


_most: ContextVar[float] = ContextVar("most", default=math.inf)
"""Snippets that the body that is being decoded may still have."""


class _Counted(msgspec.Struct):
    """A snippet. Decoding ends with the first one too many, so that a long body cannot fill the memory."""

    def __post_init__(self) -> None:
        if (left := _most.get() - 1) < 0:
            raise TooMany
        _most.set(left)


class SnippetBody(_Counted):
    id: str
    code: str
    against: str = ""
    """Our addition: the theorems that it must prove, as a statement or as Lean text with `sorry` for proofs."""


class CheckBody(msgspec.Struct):
    """`POST /api/check`."""

    snippets: list[SnippetBody]
    timeout: Seconds = DEFAULT_CHECK_SECONDS
    debug: bool = False
    reuse: bool = True
    infotree: Infotree | None = None
    allow_own_syntax: bool = False
    """Our addition: also accept theorems that depend on syntax, attributes, variables or code of their snippet."""

    def checked(self) -> CheckBody:
        """This body. Raises BadBody if it has no snippets, or two with the same id."""
        if not self.snippets:
            raise BadBody("`snippets` must be non empty", ["body", "snippets"])
        if len({snippet.id for snippet in self.snippets}) < len(self.snippets):
            raise BadBody("`snippets` must have unique ids", ["body", "snippets"])
        return self

    def limited(self, longest: float) -> list[Snippet]:
        """The snippets, with a time limit of at most `longest` seconds."""
        seconds, tree = min(self.timeout, longest), self.infotree or ""
        return [
            Snippet(each.code, seconds, tree, not self.reuse, each.against, self.allow_own_syntax)
            for each in self.snippets
        ]


class CodeBody(_Counted):
    custom_id: str | int
    proof: str | None = None
    code: str | None = None
    against: str = ""


class VerifyBody(msgspec.Struct):
    """`POST /verify` and `POST /one_pass_verify_batch`."""

    codes: list[CodeBody]
    timeout: Seconds = DEFAULT_VERIFY_SECONDS
    infotree_type: Infotree | None = None
    disable_cache: bool = False
    allow_own_syntax: bool = False

    def limited(self, longest: float) -> list[Snippet]:
        """The snippets, with a time limit of at most `longest` seconds. Raises BadBody if one has no text."""
        snippets = []
        for number, each in enumerate(self.codes):
            text = each.proof if each.proof is not None else each.code
            if text is None:
                problem = f"snippet {each.custom_id!r} has neither `proof` nor `code`: send one of them"
                raise BadBody(problem, ["body", "codes", str(number)])
            seconds, tree = min(self.timeout, longest), self.infotree_type or ""
            snippets.append(Snippet(text, seconds, tree, self.disable_cache, each.against, self.allow_own_syntax))
        return snippets


class BadBody(ValueError):
    """The body is not a message of the API. The text says what is wrong, and `place` says where."""

    def __init__(self, problem: str, place: list[str], status: int = 422) -> None:
        super().__init__(problem)
        self.place = place
        self.status = status


def decode(body: bytes, kind: type[T], most: int) -> T:
    """Parse a body of at most `most` snippets. Raises BadBody."""
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadBody(f"the body is not UTF-8: {error.reason} at byte {error.start}", ["body"], 400) from error
    token = _most.set(most)
    try:
        return msgspec.json.decode(body, type=kind)
    except TooMany as error:
        problem = f"the request has more than {most} snippets: send them in several requests"
        raise BadBody(problem, ["body"], 413) from error
    except msgspec.ValidationError as error:
        raise BadBody(str(error), ["body"]) from error
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise BadBody(f"the body is not JSON: {error}", ["body"]) from error
    finally:
        _most.reset(token)


# --- what we answer -------------------------------------------------------------------------------------------------


class CheckResult(msgspec.Struct, omit_defaults=True):
    """One result of `/api/check`."""

    id: str
    time: float | msgspec.UnsetType = msgspec.UNSET
    error: str | None = None
    response: dict[str, Any] | None = None
    diagnostics: Diagnostics | None = None
    verdict: Verdict | None = None


class VerifyResult(msgspec.Struct, omit_defaults=True):
    """One result of the older addresses. The time is a field of the response."""

    custom_id: str
    error: str | None = None
    response: dict[str, Any] | None = None
    verdict: Verdict | None = None


class Results(msgspec.Struct):
    results: list[CheckResult] | list[VerifyResult]


class Problem(msgspec.Struct):
    """The error of a request. As in other servers of this API, `detail` is a text, or a list for errors of the body."""

    detail: Any


def check_result(snippet: SnippetBody, result: SnippetResult, *, debug: bool) -> CheckResult:
    """A result in the form of `/api/check`."""
    return CheckResult(
        id=snippet.id,
        time=round(result.seconds, 6),
        error=result.error or None,
        response=result.response,
        diagnostics=result.diagnostics if debug else None,
        verdict=result.verdict,
    )


def verify_result(code: CodeBody, result: SnippetResult) -> VerifyResult:
    """A result in the form of the older addresses."""
    response = None if result.response is None else result.response | {"time": round(result.seconds, 6)}
    return VerifyResult(str(code.custom_id), result.error or None, response, result.verdict)


encode = msgspec.json.Encoder().encode
