"""The messages of the community REPL's protocol as typed structs: JSON objects, with a blank line after each.

Positions are lines from 1 and columns from 0, in characters. In a tactic's messages, both are 0.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from node.lean.text.goals import from_text, metavariables
from node.lean.worker.process import Diagnostic

UNKNOWN_ENVIRONMENT = "Unknown environment."
UNKNOWN_PROOF_STATE = "Unknown proof state."
UNKNOWN_PICKLED_STATE = "Unknown proof State."
"""The REPL's spelling when a state is to be pickled."""


class ProofStatus(enum.StrEnum):
    """The REPL's texts for the status of a proof state, except for kernel errors, which are other texts."""

    COMPLETED = "Completed"
    OPEN = "Incomplete: open goals remain"
    HAS_SORRY = "Incomplete: contains sorry"
    HAS_METAVARIABLES = "Incomplete: contains metavariable(s)"
    MANY_ROOTS = "Not verified: more than one initial goal"


LEAN_ERROR = "Lean error:\n"
"""Start of the answer to a tactic that Lean rejects."""


class Request(msgspec.Struct, rename="camel", omit_defaults=True):
    """Any request. Its fields decide which one it is. Unknown fields are ignored, as in the REPL."""

    cmd: str | None = None
    path: str | None = None
    """A file to read instead of `cmd`."""
    env: int | None = None
    """The environment to start from. Without it the environment is empty, and the command may import."""
    tactic: str | None = None
    proof_state: int | None = None
    pickle_to: str | None = None
    unpickle_env_from: str | None = None
    unpickle_proof_state_from: str | None = None
    all_tactics: bool | None = None
    root_goals: bool | None = None
    infotree: Any = None
    """full, tactics, original or substantive; any other value requests no tree."""
    set_options: list[Any] | None = None
    """Options for this command only: pairs of a name's parts and a value. `lean-interact` adds this field."""
    proof_trees: bool | None = None
    """Requests the edges of proof trees. LeanTree adds this field."""


class CommandPosition(msgspec.Struct, frozen=True):
    line: int
    column: int


NOWHERE = CommandPosition(0, 0)


class ReplMessage(msgspec.Struct, rename="camel"):
    """One of Lean's messages."""

    severity: str
    data: str
    pos: CommandPosition = NOWHERE
    end_pos: CommandPosition | None = None


_SEVERITIES = {1: "error", 2: "warning"}
"""Names of severities, by the language server's numbers; all others are `info`."""


def severity_name(item: Diagnostic) -> str:
    """The REPL's name for a diagnostic's severity."""
    return _SEVERITIES.get(item.severity, "info")


class HypothesisInfo(msgspec.Struct, rename="camel"):
    """A hypothesis or variable of a goal. LeanTree adds it."""

    username: str
    type: str
    value: str | None
    id: str
    is_proof: str = "N/A"


class GoalInfo(msgspec.Struct):
    """A goal in its parts. LeanTree adds it."""

    username: str
    """Its tag, or `[anonymous]`."""
    type: str
    hyps: list[HypothesisInfo]
    id: str


class MetavariableDeclaration(msgspec.Struct, rename="camel"):
    """A metavariable, with the metavariables in its goal. LeanTree adds it."""

    mvar_id: str
    user_name: str
    type: str
    mvars_in_type: list[str]
    value: str = "N/A"


class MetavariableContext(msgspec.Struct):
    """The metavariables that are goals. LeanTree adds it."""

    decls: list[MetavariableDeclaration]


class Sorry(msgspec.Struct, rename="camel", omit_defaults=True):
    """A `sorry`, with the proof state at its place."""

    goal: str
    proof_state: int | None = None
    pos: CommandPosition | None = None
    end_pos: CommandPosition | None = None
    goal_info: GoalInfo | None = None


class TacticReport(msgspec.Struct, rename="camel"):
    """A tactic of a command (`allTactics`), with the proof state before it."""

    pos: CommandPosition
    end_pos: CommandPosition
    goals: str
    tactic: str
    proof_state: int
    used_constants: list[str] = []


class CommandAnswer(msgspec.Struct, rename="camel", omit_defaults=True):
    """The answer to `cmd`, to `path`, and to pickling an environment."""

    env: int
    messages: list[ReplMessage] = []
    sorries: list[Sorry] = []
    tactics: list[TacticReport] = []
    infotree: Any = None
    """`infotrees.InfoNode`s, if requested."""
    proof_tree_edges: Any = None
    """`proof_trees.ProofTreeEdge`s for each command, if requested."""


class ReplTacticAnswer(msgspec.Struct, rename="camel", omit_defaults=True):
    """The answer to `tactic`."""

    proof_state: int
    goals: list[str] | msgspec.UnsetType = msgspec.UNSET
    """Missing in some answers of real REPLs."""
    proof_status: str = ""
    """A ProofStatus, or the kernel's error."""
    messages: list[ReplMessage] = []
    sorries: list[Sorry] = []
    traces: list[str] = []
    goal_infos: list[GoalInfo] | msgspec.UnsetType = msgspec.UNSET
    mctx_after: MetavariableContext | msgspec.UnsetType = msgspec.UNSET
    step_verification: str | msgspec.UnsetType = msgspec.UNSET
    """`OK`, or the error of the step. LeanTree adds this field and the two before it."""


class Refusal(msgspec.Struct):
    """The answer if there is an error instead of a result."""

    message: str


class BadRequest(ValueError):
    """The text is not a request; the message is like the REPL's."""


Answer = CommandAnswer | ReplTacticAnswer | Refusal

_request = msgspec.json.Decoder(Request)
_encoder = msgspec.json.Encoder()

MOST_STARTS = 64
"""Most opening braces of an output that are tried as the start of an answer."""


def read_request(text: str) -> Request:
    """Parse a request. Raises BadRequest."""
    try:
        raw = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadRequest(f"Could not parse JSON:\n{error}") from error
    try:
        request = msgspec.convert(raw, Request)
    except (msgspec.ValidationError, RecursionError) as error:
        raise BadRequest(f"Could not parse as a valid JSON command:\n{error}") from error
    commands = (request.cmd, request.path, request.tactic, request.pickle_to)
    if all(item is None for item in (*commands, request.unpickle_env_from, request.unpickle_proof_state_from)):
        raise BadRequest("Could not parse as a valid JSON command:\nit has no `cmd`, `tactic` or other command")
    if request.tactic is not None and request.proof_state is None:
        raise BadRequest("Could not parse as a valid JSON command:\n`tactic` needs `proofState`")
    if request.pickle_to is not None and request.env is None and request.proof_state is None:
        raise BadRequest("Could not parse as a valid JSON command:\n`pickleTo` needs `env` or `proofState`")
    return request


def write(item: Request | Answer) -> bytes:
    """Encode a request or an answer, with a final blank line."""
    return _encoder.encode(item) + b"\n\n"


def read_answer(text: str) -> Answer | None:
    """The answer in the output of a process up to a blank line; None if it contains no answer.

    Other output may come before the answer, even in the same line.
    """
    for start in _starts(text):
        try:
            raw = msgspec.json.decode(text[start:])
        except (msgspec.DecodeError, RecursionError):
            continue
        answer = _answer(raw)
        if answer is not None:
            return answer
    return None


def _starts(text: str) -> Iterator[int]:
    start = text.find("{")
    for _ in range(MOST_STARTS):
        if start < 0:
            return
        yield start
        start = text.find("{", start + 1)


def _answer(raw: Any) -> Answer | None:
    kinds: dict[str, type[Answer]] = {"proofState": ReplTacticAnswer, "env": CommandAnswer, "message": Refusal}
    for key, kind in kinds.items():
        if isinstance(raw, dict) and key in raw:
            try:
                return msgspec.convert(raw, kind)
            except msgspec.ValidationError:
                return None
    return None


# --- options in `setOptions`, a field of `lean-interact` --------------------------------------------------------------

_NAME = re.compile(r"[^\W\d][\w'!?]*(?:\.[^\W\d][\w'!?]*)*")

_IGNORED = {"Elab.async"}
"""Options that are not set: Lean's server always elaborates in threads."""


def lines_of_options(options: Sequence[Any] | None) -> list[str]:
    """The `set_option` lines for a request's options. Raises BadRequest."""
    return [line for option in options or () for line in _option_line(option)]


def _option_line(option: Any) -> list[str]:
    match option:
        case [[*parts], bool() | int() | str() as value] if _NAME.fullmatch(name := ".".join(map(str, parts))):
            if name in _IGNORED:
                return []
            return [f"set_option {name} {_option_value(value)}"]
        case _:
            raise BadRequest(
                f"Could not parse as a valid JSON command:\n`setOptions`: {option!r} is not an option; use "
                "[[NAME_PART, ...], VALUE]"
            )


def _option_value(value: bool | int | str) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    return str(value).lower()


# --- fields that LeanTree's REPL adds to answers ----------------------------------------------------------------------
# LeanTree's client uses them to split goals into branches. Its REPL is a fork of the community's with these fields in
# every answer. A `ReplSession` adds them if its `leantree` is set.

ANONYMOUS = "[anonymous]"

VERIFIED = "OK"


def goal_id(state: int, number: int) -> str:
    """The id of a goal, from the number of its proof state and its index among the goals."""
    return f"_proofmesh.{state}.{number}"


def goal_info(goal: str, name: str) -> GoalInfo:
    """The parts of a printed goal. `name`: its id."""
    parts = from_text(goal)
    hypotheses = [
        HypothesisInfo(item.user_name, item.type, item.value, f"{name}.{number}")
        for number, item in enumerate(parts.hypotheses)
    ]
    return GoalInfo(parts.tag or ANONYMOUS, parts.type, hypotheses, name)


def metavariable_context(goals: Sequence[GoalInfo], printed: Sequence[str]) -> MetavariableContext:
    """The metavariables of the goals, each with the metavariables in its type. One that is a goal has the goal's id."""
    owners = {f"?{goal.username}": goal.id for goal in goals if goal.username != ANONYMOUS}
    return MetavariableContext(
        [
            MetavariableDeclaration(
                goal.id, goal.username, goal.type, sorted(owners.get(name, name) for name in metavariables(text))
            )
            for goal, text in zip(goals, printed, strict=True)
        ]
    )


def verification(status: str) -> str:
    """The error of a step that led to a state with this status; `OK` without an error."""
    if status == ProofStatus.HAS_METAVARIABLES:
        return "Error: the step leaves metavariables that are not goals"
    return status if status.startswith("Error: ") else VERIFIED
