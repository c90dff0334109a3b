"""What crosses the wire of LeanTree's protocol, as typed structs. Field names are the protocol's.

LeanTree's servers exist in two generations. The older one names a state by `proof_state_id`, under
`/process/ID/proof/STATE/`; the newer one names a branch by `branch_id`, under `/process/ID/branch/BRANCH/`. The one
number is written under both names, and read under either. `kind` and `positions` are ours; clients that do not know
them pass over them.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec

from node.lean.text.leantree_goals import LeanTreeGoal

DEFAULT_TACTIC_MS = 1000
"""Time limit of a tactic for which the client names none."""

DEFAULT_WAIT_SECONDS = 60.0
"""How long `/process/get` waits for which the client names no time."""

T = TypeVar("T")

Positive = Annotated[float, msgspec.Meta(ge=0, le=86_400)]
"""A time, up to a day."""


# --- what clients send ----------------------------------------------------------------------------------------------


class GetProcess(msgspec.Struct):
    """`POST /process/get`."""

    blocking: bool = True
    timeout: Positive | None = DEFAULT_WAIT_SECONDS
    """Seconds; none waits for as long as the server lets it."""


class CommandBody(msgspec.Struct):
    """`POST /process/ID/command`: Lean commands that later requests build upon."""

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
    """A state to go on from, or one of several independent ones."""

    goals: tuple[LeanTreeGoal, ...]
    proof_state_id: int | None = None
    branch_id: int | None = None
    positions: tuple[int, ...] | None = None
    """Where its goals stand in Lean's list after the tactic; says how the branches of a proof are put together."""

    @property
    def number(self) -> int:
        """Whichever of the two is there. Raises ValueError."""
        number = self.proof_state_id if self.branch_id is None else self.branch_id
        if number is None:
            raise ValueError("a branch with neither `branch_id` nor `proof_state_id`")
        return number


class TheoremAnswer(msgspec.Struct, omit_defaults=True):
    """To `proof_from_sorry`: one of both."""

    value: BranchAnswer | None = None
    error: str | None = None
    kind: str | None = None


class TacticAnswer(msgspec.Struct, omit_defaults=True):
    """To `try_apply_tactic`: one of both."""

    value: tuple[BranchAnswer, ...] | None = None
    error: str | None = None
    kind: str | None = None
    """What became of the tactic, as `common.lean.OutcomeKind` has it."""


class ProcessAnswer(msgspec.Struct):
    """To `/process/get`; none: no process was free in time."""

    process_id: int | None


class ErrorAnswer(msgspec.Struct, omit_defaults=True):
    """With a status of 400 or above."""

    error: str
    kind: str | None = None


class BadBody(ValueError):
    """The text is not what the protocol has in this place; the message says what is wrong."""


def decode(body: bytes, type_: type[T]) -> T:
    """Read a message; an empty body is an empty object. Raises BadBody."""
    try:
        return msgspec.json.decode(body.strip() or b"{}", type=type_)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadBody(f"not a message of this protocol: {error}") from error


def encode(answer: Any) -> bytes:
    """Write a message."""
    return msgspec.json.encode(answer)
