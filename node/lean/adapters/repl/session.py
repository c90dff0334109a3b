"""A REPL client's session: stores its environments and proof states, and answers its requests.

Both are stored as texts, not as objects of a Lean process. They remain when a process ends, and a tactic that hangs or
kills Lean fails alone. The cost: each step elaborates its theorem again, which takes milliseconds for small theorems.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from common.files import NOT_JSON, write_whole
from node.lean.adapters.repl.infotrees import STEPS, TREES, Traced, Writer, asks, read_trace
from node.lean.adapters.repl.prepared import Filled, Hole, Prepared, ProofState, fill, leaves_out, status_around
from node.lean.adapters.repl.protocol import (
    LEAN_ERROR,
    UNKNOWN_ENVIRONMENT,
    UNKNOWN_PICKLED_STATE,
    UNKNOWN_PROOF_STATE,
    VERIFIED,
    Answer,
    BadRequest,
    CommandAnswer,
    ProofStatus,
    Refusal,
    ReplTacticAnswer,
    Request,
    Sorry,
    TacticReport,
    goal_id,
    goal_info,
    lines_of_options,
    metavariable_context,
    read_request,
    verification,
)
from node.lean.adapters.repl.tactics import (
    SHOW_ALL,
    FoundTactic,
    ProofTreeEdge,
    constant_documents,
    messages_in_tactic,
    messages_of_command,
    offset,
    proof_status,
    proof_tree_edges,
    roots,
    tactic_failure,
    tactics,
    used_constants,
)
from node.lean.gaps.finder import ElaboratedCommand, Elaborator, Goals
from node.lean.gaps.gap import position
from node.lean.text.lexing import Mention, lex, mentions
from node.lean.trace.tracing import TraceLimits, Tracer
from node.lean.worker.document import SENTINEL
from node.lean.worker.process import WorkerEnded

# --- environments and proof states as files: their texts as JSON, with a format, a version and a digest ---------------
# Reading a file runs nothing in it. A file of another format is an error that says so. If another version of Lean reads
# the texts later, Lean reports what does not elaborate.

FORMAT = "proofmesh repl"
VERSION = 1

MAX_BYTES = 256 << 20
"""Largest file that is read. It is far larger than any text that Lean can elaborate within the time limit."""


class BadPickle(ValueError):
    """The file cannot be used; the text says why."""


class Environment(msgspec.Struct, frozen=True, tag="environment"):
    """An environment: the text of its commands."""

    text: str


class PickledState(msgspec.Struct, frozen=True, tag="proof state"):
    """A proof state."""

    state: ProofState


class _File(msgspec.Struct, frozen=True):
    format: str
    version: int
    digest: str
    """Digest of the content's bytes, which detects a truncated or changed file."""
    content: msgspec.Raw


def write_pickle(path: Path, item: Environment | PickledState) -> None:
    """Write a file atomically. Raises OSError."""
    content = msgspec.json.encode(item)
    write_whole(path, msgspec.json.encode(_File(FORMAT, VERSION, _digest(content), msgspec.Raw(content))))


def read_environment(path: Path) -> Environment:
    """Read an environment from a file. Raises BadPickle, OSError."""
    item = _read_pickle(path)
    if not isinstance(item, Environment):
        raise BadPickle(f"{path} contains a proof state, not an environment; use `unpickleProofStateFrom`")
    return item


def read_state(path: Path) -> ProofState:
    """Read a proof state from a file. Raises BadPickle, OSError."""
    item = _read_pickle(path)
    if not isinstance(item, PickledState):
        raise BadPickle(f"{path} contains an environment, not a proof state; use `unpickleEnvFrom`")
    return item.state


def _read_pickle(path: Path) -> Environment | PickledState:
    if not path.is_file():
        raise BadPickle(f"{path} is not a file" if path.exists() else f"there is no file {path}")
    if path.stat().st_size > MAX_BYTES:
        raise BadPickle(f"{path} is larger than {MAX_BYTES >> 20} MB")
    foreign = f"{path} was not written by proofmesh repl (the original REPL's files are memory images of one Lean)"
    try:
        file = msgspec.json.decode(path.read_bytes(), type=_File)
    except NOT_JSON as error:
        raise BadPickle(foreign) from error
    if file.format != FORMAT:
        raise BadPickle(foreign)
    if file.version != VERSION:
        raise BadPickle(
            f"{path} has version {file.version} of the format, but this proofmesh reads version {VERSION}; write it "
            "again"
        )
    if _digest(bytes(file.content)) != file.digest:
        raise BadPickle(f"{path} was changed or truncated after it was written; write it again")
    try:
        return msgspec.json.decode(file.content, type=Environment | PickledState)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadPickle(f"{path} is malformed: {error}") from error


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


# --- sessions ---------------------------------------------------------------------------------------------------------


class ReplSession:
    """Answers requests, one after the other."""

    def __init__(self, elaborator: Elaborator, header: str = "", *, leantree: bool = False) -> None:
        """`header`: the header of new environments whose command imports nothing. `leantree`: add the fields of
        LeanTree's REPL to answers."""
        self._lean = elaborator
        self._header = header
        self._leantree = leantree
        self._environments: list[str] = []
        self._states: list[ProofState] = []

    async def answer(self, text: str) -> Answer:
        """The answer to a request; a Refusal for errors of any kind."""
        try:
            return await self._answer(read_request(text))
        except (BadRequest, BadPickle) as error:
            return Refusal(str(error))
        except WorkerEnded as end:
            return Refusal(f"{LEAN_ERROR}{end.ending}: {end.reason}")
        except (OSError, UnicodeDecodeError) as error:
            return Refusal(f"Lean does not start, or a file cannot be read or written: {error}")

    async def _answer(self, request: Request) -> Answer:
        """The answer to a request. Its fields decide its kind, in the same order as in the REPL."""
        if request.tactic is not None:
            return await self._tactic(request.tactic, request.proof_state or 0)
        if request.pickle_to is not None:
            return self._pickle(request, Path(request.pickle_to))
        if request.unpickle_env_from is not None:
            return self._unpickle_environment(Path(request.unpickle_env_from))
        if request.unpickle_proof_state_from is not None:
            return self._unpickle_state(request, Path(request.unpickle_proof_state_from))
        return await self._command(request)

    # --- files ------------------------------------------------------------------------------------------------------

    def _pickle(self, request: Request, path: Path) -> Answer:
        if request.env is not None:
            if not self._has_environment(request.env):
                return Refusal(UNKNOWN_ENVIRONMENT)
            write_pickle(path, Environment(self._environments[request.env]))
            return CommandAnswer(request.env)
        number = request.proof_state or 0
        if not 0 <= number < len(self._states):
            return Refusal(UNKNOWN_PICKLED_STATE)
        write_pickle(path, PickledState(self._states[number]))
        return self._shown(self._states[number])

    def _unpickle_environment(self, path: Path) -> Answer:
        self._environments.append(read_environment(path).text)
        return CommandAnswer(len(self._environments) - 1)

    def _unpickle_state(self, request: Request, path: Path) -> Answer:
        # The state's text contains its whole environment. If the request names one too, it only has to exist.
        if request.env is not None and not self._has_environment(request.env):
            return Refusal(UNKNOWN_ENVIRONMENT)
        return self._shown(read_state(path))

    def _shown(self, state: ProofState) -> ReplTacticAnswer:
        """Store a state under a new number. Returns the answer that shows it."""
        return self._tactic_answer(self._add(state), state, state.status)

    # --- commands ---------------------------------------------------------------------------------------------------

    def _has_environment(self, number: int) -> bool:
        return 0 <= number < len(self._environments)

    async def _command(self, request: Request) -> Answer:
        if request.env is not None and not self._has_environment(request.env):
            return Refusal(UNKNOWN_ENVIRONMENT)
        option_lines = lines_of_options(request.set_options)
        code = request.cmd if request.cmd is not None else Path(request.path or "").read_text(encoding="utf-8")
        before = self._header if request.env is None else self._environments[request.env]
        if request.env is None and re.search(r"^[ \t]*import\b", lex(code).code, re.MULTILINE):
            before = ""
        before = before + "\n" if before else ""
        prepared = Prepared.of(before, code, option_lines)
        mentioned = mentions(code)
        elaborated = await self._lean.run(prepared.text, [prepared.position(item.start) for item in mentioned])
        answer = CommandAnswer(0, messages_of_command(elaborated.diagnostics, prepared))
        for item, goals in zip(mentioned, elaborated.goals, strict=True):
            for entry in self._sorries(before + code, item.moved(len(before)), goals):
                entry.pos, entry.end_pos = prepared.place_of(item.start), prepared.place_of(item.end)
                answer.sorries.append(entry)
        await Inside(self._lean, before, code, option_lines, self._add).complete(request, answer)
        # A text with an unclosed bracket, string or comment would swallow the commands after it.
        self._environments.append(before.rstrip("\n") if lex(code).problem else before + code)
        answer.env = len(self._environments) - 1
        return answer

    def _sorries(self, text: str, mention: Mention, goals: Goals, closed: str = "") -> list[Sorry]:
        """Store the proof states at a `sorry`. `closed`: their status without goals, see `ProofState.closed`."""
        tactic = goals.term is None
        shown = goals.tactic if tactic and mention.many else goals.tactic[:1] if tactic else (goals.term or "",)
        one_place = not (mention.many and len(shown) > 1)
        hole = Hole(text[: mention.start], text[mention.end :], tactic) if one_place else None
        entries = []
        for goal in shown:
            number = self._add(ProofState(hole, goals=(goal,), closed=closed))
            entry = Sorry(goal, number)
            if self._leantree:
                entry.goal_info = goal_info(goal, goal_id(number, 0))
            entries.append(entry)
        return entries

    # --- tactics ----------------------------------------------------------------------------------------------------

    async def _tactic(self, tactic: str, number: int) -> Answer:
        if not 0 <= number < len(self._states):
            return Refusal(UNKNOWN_PROOF_STATE)
        state = self._states[number]
        if state.hole is None:
            return Refusal(f"{LEAN_ERROR}this `sorry` runs for several goals; write one `sorry` for each goal")
        if problem := lex(tactic).problem or ("" if tactic.strip() else "an empty tactic"):
            return Refusal(f"{LEAN_ERROR}<input>:1:0: {problem}")
        filled = fill(state.hole, state.script, tactic)
        mentioned = [item.moved(filled.start) for item in _in_tactic(filled, tactic)]
        places = [position(filled.text, item.start) for item in mentioned]
        elaborated = await self._lean.run(filled.text, [filled.sentinel, *places])
        if not _reached(elaborated, filled):
            return Refusal(LEAN_ERROR + tactic_failure(elaborated.diagnostics, filled))
        open_goals = elaborated.goals[0].tactic
        sorries = [
            entry
            for place, (item, goals) in enumerate(zip(mentioned, elaborated.goals[1:], strict=True))
            for entry in self._sorries(
                filled.text, item, goals, status_around(open_goals, place, len(mentioned), state.sorry) or state.closed
            )
        ]
        return self._next(state, tactic, filled, elaborated, sorries)

    def _next(
        self, state: ProofState, tactic: str, filled: Filled, elaborated: ElaboratedCommand, sorries: list[Sorry]
    ) -> Answer:
        inside = messages_in_tactic(elaborated.diagnostics, filled)
        # After some errors Lean continues, with `sorry` in place of the wrong term.
        sorry = state.sorry or leaves_out(tactic) or any(item.severity == "error" for item in inside.messages)
        reached = ProofState(state.hole, (*state.script, tactic), elaborated.goals[0].tactic, sorry, state.closed)
        step = ProofStatus.OPEN if reached.goals else proof_status(elaborated.diagnostics, filled, sorry)
        answer = self._tactic_answer(self._add(reached), reached, step if reached.goals else reached.closed or step)
        if self._leantree:
            answer.step_verification = verification(step)
        answer.messages, answer.traces, answer.sorries = inside.messages, inside.traces, sorries
        return answer

    def _tactic_answer(self, number: int, state: ProofState, status: str) -> ReplTacticAnswer:
        answer = ReplTacticAnswer(number, list(state.goals), status)
        if self._leantree:
            goals = [goal_info(goal, goal_id(number, place)) for place, goal in enumerate(state.goals)]
            answer.goal_infos, answer.mctx_after = goals, metavariable_context(goals, state.goals)
            answer.step_verification = VERIFIED
        return answer

    def _add(self, state: ProofState) -> int:
        self._states.append(state)
        return len(self._states) - 1


def _in_tactic(filled: Filled, tactic: str) -> list[Mention]:
    """Each `sorry` in a tactic, with positions from the tactic's start in the text."""
    length = filled.text.index(f'trace "{SENTINEL}"', filled.start) - filled.start
    return mentions(filled.text[filled.start : filled.start + length].rstrip().removesuffix(")")) if tactic else []


def _reached(elaborated: ElaboratedCommand, filled: Filled) -> bool:
    return any(
        item.message == SENTINEL and item.range.start.line == filled.sentinel.line for item in elaborated.diagnostics
    )


# ----------------------------------------------------------------------------------------------------------------------
# Adds information from Lean's info trees to an answer: a command's tactics, the root goals of its proofs, the trees.
#
# For this the command is elaborated a second time, so clients that do not request it do not pay for it.


@dataclass(frozen=True)
class Inside:
    """The info trees of one command."""

    lean: Elaborator
    before: str
    """The environment's text, empty or with a final line break."""
    code: str
    inserted: Sequence[str]
    """Lines before the command."""
    add: Callable[[ProofState], int]
    """Stores a proof state and returns its number."""

    async def complete(self, request: Request, answer: CommandAnswer) -> None:
        """Add the requested information to an answer. Raises WorkerEnded."""
        with_trees = asks(request.infotree)
        if not (with_trees or request.all_tactics or request.root_goals or request.proof_trees):
            return
        prepared, shown = await self._traced(steps=with_trees or bool(request.all_tactics))
        if request.root_goals:
            for root in roots(shown.trees, prepared, self.before):
                place = prepared.place_of(root.start)
                answer.sorries.append(Sorry("\n".join(root.goals), self.add(root.state), place, place))
        if request.all_tactics:
            answer.tactics = await self._tactics(shown, prepared)
        if with_trees:
            answer.infotree = Writer(prepared, shown.layouts).nodes(shown.trees, request.infotree) or None
        if request.proof_trees:
            answer.proof_tree_edges = await self._proof_trees(shown, prepared) or None

    async def _traced(self, *, steps: bool) -> tuple[Prepared, Traced]:
        """The text of the second elaboration, and the info trees and layouts that Lean prints for it."""
        printing = [*self.inserted, *TREES, *(STEPS if steps else ())]
        prepared = Prepared.of(self.before, self.code, printing)
        shown = read_trace((await self.lean.run(prepared.text)).diagnostics)
        shown.trees = [tree for tree in shown.trees if tree.command and prepared.offsets(tree.command) is not None]
        return prepared, shown

    async def _tactics(self, shown: Traced, prepared: Prepared) -> list[TacticReport]:
        command_tactics = tactics(shown.trees, prepared, self.before)
        return [
            TacticReport(
                prepared.place_of(tactic.start),
                prepared.place_of(tactic.end),
                "\n".join(tactic.goals) or "no goals",
                shown.layouts.of(self.code[tactic.start : tactic.end]),
                self.add(tactic.state),
                names,
            )
            for tactic, names in zip(command_tactics, await self._constants(command_tactics), strict=True)
        ]

    async def _constants(self, command_tactics: Sequence[FoundTactic]) -> list[list[str]]:
        """The constants that each tactic uses; an empty list if Lean does not finish printing its term."""
        used: list[list[str]] = [[] for _ in command_tactics]
        for text, numbers in constant_documents(self.code, command_tactics):
            try:
                shown = await self.lean.run(Prepared.of(self.before, text, [*self.inserted, *SHOW_ALL]).text)
            except WorkerEnded:
                continue
            for number in numbers:
                used[number] = used_constants(shown.diagnostics, number)
        return used

    async def _proof_trees(self, shown: Traced, prepared: Prepared) -> list[list[ProofTreeEdge]]:
        """The edges of the proof trees of each command. Separate processes trace the whole text for them."""
        tracer = Tracer(self.lean.toolchain, Path.cwd(), TraceLimits(self.lean.seconds))
        file = await tracer.trace(self.before + self.code, "")
        line = self.before.count("\n")
        edges = []
        for tree in shown.trees:
            start, end = (prepared.offsets(tree.command) if tree.command else None) or (0, 0)
            theorems = [each for each in file.theorems if start <= self._offset(each.start, line) < end]
            edges.append([edge for each in theorems for edge in proof_tree_edges(each, self.code, line)])
        return edges

    def _offset(self, place: tuple[int, int], line: int) -> int:
        """The character of the command at a position in the whole text; -1 if it is before the command."""
        return offset(self.code, place, line)
