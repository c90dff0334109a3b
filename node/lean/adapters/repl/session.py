"""What a REPL client has built: environments and proof states, and what a request makes of them.

Both are texts here, not objects of a Lean process. So they outlive every process, and a tactic that hangs Lean or kills
it fails alone. The price: each step elaborates its theorem again, which takes milliseconds for small ones.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from node.lean.adapters.repl import protocol
from node.lean.adapters.repl.elaborator import ElaboratedCommand, Elaborator, Goals
from node.lean.adapters.repl.holes import Filled, Hole, Mention, characters, fill, leaves_out, mentions, position
from node.lean.adapters.repl.protocol import (
    Answer,
    CommandAnswer,
    CommandPosition,
    ProofStatus,
    Refusal,
    ReplMessage,
    ReplTacticAnswer,
    Request,
    Sorry,
    severity_name,
)
from node.lean.text.lexing import lex
from node.lean.worker.document import SENTINEL
from node.lean.worker.framing import Diagnostic, Position
from node.lean.worker.process import WorkerEnded
from node.lean.worker.reading import PARSER_MESSAGE

_METAVARIABLES = re.compile(
    r"\(kernel\) declaration has metavariables|don't know how to synthesize|contains metavariable"
)
_KERNEL = re.compile(r"\(kernel\) |fail to show termination|failed to infer structural recursion")

_NOT_SERVED = {
    "pickle_to": "pickling: environments and proof states are texts here; send the commands again instead",
    "unpickle_env_from": "pickling: send the commands that made the environment again",
    "unpickle_proof_state_from": "pickling: send the commands and tactics that made the state again",
    "all_tactics": "`allTactics`; `proofmesh trace` shows the tactics of a file with their states",
    "root_goals": "`rootGoals`; put `sorry` in place of the proof to get its goal",
    "infotree": "`infotree`; `proofmesh trace` shows the tactics of a file with their states",
}


@dataclass(frozen=True)
class ProofState:
    """Where a tactic can be run: a hole of a text, and the tactics in it so far."""

    hole: Hole | None
    """None where there is no one place: a `sorry` that runs for several goals."""
    script: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    sorry: bool = False
    """Whether something in the script has no proof."""


class ReplSession:
    """Answers requests, one after the other."""

    def __init__(self, elaborator: Elaborator, header: str = "") -> None:
        """`header`: what an environment begins with that imports nothing by itself."""
        self._lean = elaborator
        self._header = header
        self._environments: list[str] = []
        self._states: list[ProofState] = []

    async def answer(self, text: str) -> Answer:
        """The answer to a request, whatever it is."""
        try:
            request = protocol.read_request(text)
        except protocol.BadRequest as error:
            return Refusal(str(error))
        for name, what in _NOT_SERVED.items():
            if getattr(request, name) not in (None, False):
                return Refusal(f"proofmesh repl does not serve {what}.")
        try:
            if request.tactic is not None:
                return await self._tactic(request.tactic, request.proof_state or 0)
            return await self._command(request)
        except WorkerEnded as end:
            return Refusal(f"{protocol.LEAN_ERROR}{end.ending}: {end.reason}")
        except (OSError, UnicodeDecodeError) as error:
            return Refusal(f"Lean does not start, or the file cannot be read: {error}")

    # --- commands ---------------------------------------------------------------------------------------------------

    async def _command(self, request: Request) -> Answer:
        if request.env is not None and not 0 <= request.env < len(self._environments):
            return Refusal(protocol.UNKNOWN_ENVIRONMENT)
        code = request.cmd if request.cmd is not None else Path(request.path or "").read_text(encoding="utf-8")
        before = self._header if request.env is None else self._environments[request.env]
        if request.env is None and re.search(r"^[ \t]*import\b", lex(code).code, re.MULTILINE):
            before = ""
        before = before + "\n" if before else ""
        text = before + code
        sorries_of_code = [Mention(len(before) + item.start, item.many) for item in mentions(code)]
        elaborated = await self._lean.run(text, [position(text, item.start) for item in sorries_of_code])
        first = before.count("\n")
        lines = code.split("\n")
        messages = [_message(item, first, lines) for item in elaborated.diagnostics if item.range.start.line >= first]
        sorries = [
            entry
            for item, goals in zip(sorries_of_code, elaborated.goals, strict=True)
            for entry in self._sorries(text, item, goals, len(before))
        ]
        # What is not closed in itself would swallow the commands behind it.
        environment = before.rstrip("\n") if lex(code).problem else text
        self._environments.append(environment)
        return CommandAnswer(len(self._environments) - 1, messages, sorries)

    def _sorries(self, text: str, mention: Mention, goals: Goals, begin: int | None) -> list[Sorry]:
        """The proof states in place of a `sorry`, numbered. `begin`: where positions count from; None: nowhere."""
        tactic = goals.term is None
        shown = goals.tactic if tactic and mention.many else goals.tactic[:1] if tactic else (goals.term or "",)
        one_place = not (mention.many and len(shown) > 1)
        hole = Hole(text[: mention.start], text[mention.end :], tactic) if one_place else None
        entries = []
        for goal in shown:
            entry = Sorry(goal, self._add(ProofState(hole, goals=(goal,))))
            if begin is not None:
                entry.pos, entry.end_pos = _place(text, begin, mention.start), _place(text, begin, mention.end)
            entries.append(entry)
        return entries

    # --- tactics ----------------------------------------------------------------------------------------------------

    async def _tactic(self, tactic: str, number: int) -> Answer:
        if not 0 <= number < len(self._states):
            return Refusal(protocol.UNKNOWN_PROOF_STATE)
        state = self._states[number]
        if state.hole is None:
            return Refusal(f"{protocol.LEAN_ERROR}this `sorry` runs for several goals; write one for each of them")
        if problem := lex(tactic).problem or ("" if tactic.strip() else "an empty tactic"):
            return Refusal(f"{protocol.LEAN_ERROR}<input>:1:0: {problem}")
        filled = fill(state.hole, state.script, tactic)
        sorries_of_tactic = [Mention(filled.start + item.start, item.many) for item in _in_tactic(filled, tactic)]
        places = [position(filled.text, item.start) for item in sorries_of_tactic]
        elaborated = await self._lean.run(filled.text, [filled.sentinel, *places])
        if not _reached(elaborated, filled):
            return Refusal(protocol.LEAN_ERROR + _error(elaborated.diagnostics, filled))
        sorries = [
            entry
            for item, goals in zip(sorries_of_tactic, elaborated.goals[1:], strict=True)
            for entry in self._sorries(filled.text, item, goals, None)
        ]
        return self._next(state, tactic, filled, elaborated, sorries)

    def _next(
        self, state: ProofState, tactic: str, filled: Filled, elaborated: ElaboratedCommand, sorries: list[Sorry]
    ) -> Answer:
        inside = [item for item in elaborated.diagnostics if _inside(item, filled)]
        # Lean goes on behind some errors, with `sorry` in place of what was wrong.
        sorry = state.sorry or leaves_out(tactic) or any(item.is_error for item in inside)
        goals = elaborated.goals[0].tactic
        number = self._add(ProofState(state.hole, (*state.script, tactic), goals, sorry))
        messages = [ReplMessage(severity_name(item), item.message, end_pos=protocol.NOWHERE) for item in inside]
        status = ProofStatus.OPEN if goals else _status(elaborated.diagnostics, filled, sorry)
        return ReplTacticAnswer(number, list(goals), status, messages, sorries)

    def _add(self, state: ProofState) -> int:
        self._states.append(state)
        return len(self._states) - 1


def _in_tactic(filled: Filled, tactic: str) -> list[Mention]:
    """Every `sorry` of a tactic, where it stands in the text behind the tactic's begin."""
    length = filled.text.index(f'trace "{SENTINEL}"', filled.start) - filled.start
    return mentions(filled.text[filled.start : filled.start + length].rstrip().removesuffix(")")) if tactic else []


def _reached(elaborated: ElaboratedCommand, filled: Filled) -> bool:
    return any(
        item.message == SENTINEL and item.range.start.line == filled.sentinel.line for item in elaborated.diagnostics
    )


def _inside(item: Diagnostic, filled: Filled) -> bool:
    """Whether a message is about the tactic, and not about what stands around it, perhaps in the same line."""
    start, begin = (item.full_range or item.range).start, position(filled.text, filled.start)
    return (begin.line, begin.character) <= (start.line, start.character) < (filled.sentinel.line, 0)


def _status(diagnostics: Sequence[Diagnostic], filled: Filled, sorry: bool) -> str:
    """What the REPL says of a state without goals."""
    if sorry:
        return ProofStatus.HAS_SORRY
    for item in diagnostics:
        if item.is_error and _METAVARIABLES.search(item.message):
            return ProofStatus.HAS_METAVARIABLES
        if item.is_error and _KERNEL.search(item.message):
            return f"Error: kernel type check failed: {item.message}"
    return ProofStatus.COMPLETED


def _error(diagnostics: Sequence[Diagnostic], filled: Filled) -> str:
    """Why Lean did not get to the end of a tactic."""
    inside = [item for item in diagnostics if item.is_error and _inside(item, filled)]
    for item in inside:
        if PARSER_MESSAGE.match(item.message):
            line = item.range.start.line - filled.first + 1
            return f"<input>:{line}:{_column(item.range.start, filled)}: {item.message}"
    others = [item for item in diagnostics if item.is_error]
    return (inside or others)[0].message if inside or others else "Lean did not reach the end of the tactic"


def _column(place: Position, filled: Filled) -> int:
    """Column of a place in the tactic's own text."""
    line = filled.text.split("\n")[place.line]
    return max(0, characters(line, place.character) - filled.indent)


def _message(item: Diagnostic, first: int, lines: Sequence[str]) -> ReplMessage:
    whole = item.full_range or item.range
    return ReplMessage(
        severity_name(item), item.message, _counted(whole.start, first, lines), _counted(whole.end, first, lines)
    )


def _counted(place: Position, first: int, lines: Sequence[str]) -> CommandPosition:
    """A place of the document as the REPL counts: from the command's first line, in characters."""
    row = place.line - first
    text = lines[row] if 0 <= row < len(lines) else ""
    return CommandPosition(row + 1, characters(text, place.character))


def _place(text: str, begin: int, at: int) -> CommandPosition:
    start = text.rfind("\n", 0, at) + 1
    return CommandPosition(text.count("\n", begin, at) + 1, at - start)
