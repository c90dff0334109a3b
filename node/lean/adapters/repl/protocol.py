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


class ProofStatus(enum.StrEnum):
    """What the REPL says of a proof state; a kernel error is a text of its own."""

    COMPLETED = "Completed"
    OPEN = "Incomplete: open goals remain"
    HAS_SORRY = "Incomplete: contains sorry"
    HAS_METAVARIABLES = "Incomplete: contains metavariable(s)"


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


class Sorry(msgspec.Struct, rename="camel", omit_defaults=True):
    """A `sorry`, with the proof state in its place."""

    goal: str
    proof_state: int | None = None
    pos: CommandPosition | None = None
    end_pos: CommandPosition | None = None


class CommandAnswer(msgspec.Struct, omit_defaults=True):
    """Answer to `cmd`."""

    env: int
    messages: list[ReplMessage] = []
    sorries: list[Sorry] = []


class ReplTacticAnswer(msgspec.Struct, rename="camel", omit_defaults=True):
    """Answer to `tactic`."""

    proof_state: int
    goals: list[str] | msgspec.UnsetType = msgspec.UNSET
    """Some answers of real processes lack them."""
    proof_status: str = ""
    """A ProofStatus, or the kernel's error."""
    messages: list[ReplMessage] = []
    sorries: list[Sorry] = []


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
