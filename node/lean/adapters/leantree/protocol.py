"""The messages of LeanTree's HTTP protocol as typed structs. Field names are the protocol's.

There are two generations of LeanTree servers. The older one identifies a state by `proof_state_id`, with addresses
`/process/ID/proof/STATE/`. The newer one identifies a branch by `branch_id`, with addresses
`/process/ID/branch/BRANCH/`. We write the same number under both names, and read either. The fields `kind` and
`positions` are our additions, which other clients ignore.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec

from common.files import NOT_JSON
from node.lean.text.goals import LeanTreeGoal

DEFAULT_TACTIC_MS = 1000
"""Default time limit of a tactic."""

DEFAULT_WAIT_SECONDS = 60.0
"""Default time for which `/process/get` waits."""

T = TypeVar("T")

Positive = Annotated[float, msgspec.Meta(ge=0, le=86_400)]
"""A time, up to a day."""


# --- what clients send ----------------------------------------------------------------------------------------------


class GetProcess(msgspec.Struct):
    """`POST /process/get`."""

    blocking: bool = True
    timeout: Positive | None = DEFAULT_WAIT_SECONDS
    """Seconds; None means the server's maximum."""


class CommandBody(msgspec.Struct):
    """`POST /process/ID/command`: Lean commands that later requests can use."""

    command: str


class SourceBody(msgspec.Struct):
    """`POST /process/ID/is_valid_source`."""

    source: str


class ProofFromSorry(msgspec.Struct):
    """`POST /process/ID/proof_from_sorry`."""

    theorem_with_sorry: str


class TryTactic(msgspec.Struct):
    """`POST /process/ID/proof/STATE/try_apply_tactic`."""

    tactic: str
    timeout: Annotated[float, msgspec.Meta(gt=0, le=86_400_000)] | None = DEFAULT_TACTIC_MS
    """Milliseconds."""


# --- what servers answer --------------------------------------------------------------------------------------------


class BranchAnswer(msgspec.Struct, omit_defaults=True):
    """A proof state, or one of several independent branches of it."""

    goals: tuple[LeanTreeGoal, ...]
    proof_state_id: int | None = None
    branch_id: int | None = None
    positions: tuple[int, ...] | None = None
    """Indices of its goals in Lean's list after the tactic, which are needed to join the proofs of the branches."""

    @property
    def number(self) -> int:
        """`branch_id`, or else `proof_state_id`. Raises ValueError if both are missing."""
        number = self.proof_state_id if self.branch_id is None else self.branch_id
        if number is None:
            raise ValueError("a branch has neither `branch_id` nor `proof_state_id`")
        return number


class TheoremAnswer(msgspec.Struct, omit_defaults=True):
    """The answer to `proof_from_sorry`: either `value` or `error`."""

    value: BranchAnswer | None = None
    error: str | None = None
    kind: str | None = None


class TacticAnswer(msgspec.Struct, omit_defaults=True):
    """The answer to `try_apply_tactic`: either `value` or `error`."""

    value: tuple[BranchAnswer, ...] | None = None
    error: str | None = None
    kind: str | None = None
    """The outcome of the tactic, a `common.lean.OutcomeKind`."""


class ProcessAnswer(msgspec.Struct):
    """The answer to `/process/get`. None: no process became free in time."""

    process_id: int | None


class ErrorAnswer(msgspec.Struct, omit_defaults=True):
    """An answer with a status of 400 or above."""

    error: str
    kind: str | None = None


class BadBody(ValueError):
    """The body is not the protocol's message for this request; the text says what is wrong."""


def decode(body: bytes, type_: type[T]) -> T:
    """Read a message. An empty body is an empty object. Raises BadBody."""
    try:
        return msgspec.json.decode(body.strip() or b"{}", type=type_)
    except NOT_JSON as error:
        raise BadBody(f"not a message of this protocol: {error}") from error


def encode(answer: Any) -> bytes:
    """Write a message."""
    return msgspec.json.encode(answer)
