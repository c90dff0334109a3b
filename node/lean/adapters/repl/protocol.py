"""What crosses the pipe of the community REPL's protocol, as typed structs: JSON objects, a blank line behind each.

Positions are lines from 1 and columns from 0, in characters; those of a tactic's messages are 0.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any

import msgspec

from node.lean.worker.framing import Diagnostic

UNKNOWN_ENVIRONMENT = "Unknown environment."
UNKNOWN_PROOF_STATE = "Unknown proof state."
UNKNOWN_PICKLED_STATE = "Unknown proof State."
"""The REPL writes it like this where a state is to be pickled."""


class ProofStatus(enum.StrEnum):
    """What the REPL says of a proof state; a kernel error is a text of its own."""

    COMPLETED = "Completed"
    OPEN = "Incomplete: open goals remain"
    HAS_SORRY = "Incomplete: contains sorry"
    HAS_METAVARIABLES = "Incomplete: contains metavariable(s)"
    MANY_ROOTS = "Not verified: more than one initial goal"


LEAN_ERROR = "Lean error:\n"
"""Begins the answer to a tactic that Lean did not accept."""


class Request(msgspec.Struct, rename="camel", omit_defaults=True):
    """Any request: which one it is, its fields say. Those that are not known are passed over, as the REPL does."""

    cmd: str | None = None
    path: str | None = None
    """A file to read in place of `cmd`."""
    env: int | None = None
    """The environment to start from; without one, an empty one, and the command may import."""
    tactic: str | None = None
    proof_state: int | None = None
    pickle_to: str | None = None
    unpickle_env_from: str | None = None
    unpickle_proof_state_from: str | None = None
    all_tactics: bool | None = None
    root_goals: bool | None = None
    infotree: Any = None
    """full, tactics, original or substantive; anything else asks for nothing."""
    set_options: list[Any] | None = None
    """Options of this command alone: pairs of a name's parts and a value. `lean-interact`'s addition."""
    proof_trees: bool | None = None
    """Asks for the edges of proof trees. LeanTree's addition."""


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
"""By the language server's numbers; the others are `info`."""


def severity_name(item: Diagnostic) -> str:
    """A diagnostic's severity as the REPL writes it."""
    return _SEVERITIES.get(item.severity, "info")


class HypothesisInfo(msgspec.Struct, rename="camel"):
    """A name of a goal's context. LeanTree's addition."""

    username: str
    type: str
    value: str | None
    id: str
    is_proof: str = "N/A"


class GoalInfo(msgspec.Struct):
    """A goal in its parts. LeanTree's addition."""

    username: str
    """Its tag, or `[anonymous]`."""
    type: str
    hyps: list[HypothesisInfo]
    id: str


class MetavariableDeclaration(msgspec.Struct, rename="camel"):
    """A metavariable, and which others its goal mentions. LeanTree's addition."""

    mvar_id: str
    user_name: str
    type: str
    mvars_in_type: list[str]
    value: str = "N/A"


class MetavariableContext(msgspec.Struct):
    """The metavariables that are goals. LeanTree's addition."""

    decls: list[MetavariableDeclaration]


class Sorry(msgspec.Struct, rename="camel", omit_defaults=True):
    """A `sorry`, with the proof state in its place."""

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
    """Answer to `cmd`, `path`, and to the pickling of environments."""

    env: int
    messages: list[ReplMessage] = []
    sorries: list[Sorry] = []
    tactics: list[TacticReport] = []
    infotree: Any = None
    """Of `infotrees.InfoNode`s, where the request asks for them."""
    proof_tree_edges: Any = None
    """By command, of `leantree.ProofStep`s, where the request asks for them."""


class ReplTacticAnswer(msgspec.Struct, rename="camel", omit_defaults=True):
    """Answer to `tactic`."""

    proof_state: int
    goals: list[str] | msgspec.UnsetType = msgspec.UNSET
    """Some answers of real processes lack them."""
    proof_status: str = ""
    """A ProofStatus, or the kernel's error."""
    messages: list[ReplMessage] = []
    sorries: list[Sorry] = []
    traces: list[str] = []
    goal_infos: list[GoalInfo] | msgspec.UnsetType = msgspec.UNSET
    mctx_after: MetavariableContext | msgspec.UnsetType = msgspec.UNSET
    step_verification: str | msgspec.UnsetType = msgspec.UNSET
    """LeanTree's additions, as the two before it: `OK`, or what is wrong with the step."""


class Refusal(msgspec.Struct):
    """Answer when there is no other."""

    message: str


class BadRequest(ValueError):
    """What came is no request; the text is what the REPL would say."""


Answer = CommandAnswer | ReplTacticAnswer | Refusal

_request = msgspec.json.Decoder(Request)
_encoder = msgspec.json.Encoder()

MOST_STARTS = 64
"""Opening braces of a garbled answer at which the answer is looked for."""


def read_request(text: str) -> Request:
    """A request. Raises BadRequest."""
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
        raise BadRequest("Could not parse as a valid JSON command:\nno `cmd`, `tactic` or other command in it")
    if request.tactic is not None and request.proof_state is None:
        raise BadRequest("Could not parse as a valid JSON command:\n`tactic` without `proofState`")
    if request.pickle_to is not None and request.env is None and request.proof_state is None:
        raise BadRequest("Could not parse as a valid JSON command:\n`pickleTo` without `env` or `proofState`")
    return request


def write(item: Request | Answer) -> bytes:
    """A request or an answer, with the blank line that ends it."""
    return _encoder.encode(item) + b"\n\n"


def read_answer(text: str) -> Answer | None:
    """The answer in what a process has written up to a blank line; None when there is none: then it is garbage.

    Other output may stand before the answer, and even in its line.
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
