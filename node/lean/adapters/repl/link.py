"""A REPL process as it is used: one request and answer at a time, and candidates that run on it.

Any implementation of the REPL's protocol may run here. A REPL has no time limit, so it is killed after ours. It may
crash at any command, write anything to standard output, and use all memory, together with its child processes.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from common.lean import BadStatement, Outcome, OutcomeKind, Step, Theorem
from node.lean.adapters.repl.protocol import (
    LEAN_ERROR,
    UNKNOWN_PROOF_STATE,
    Answer,
    CommandAnswer,
    Refusal,
    ReplMessage,
    ReplTacticAnswer,
    Request,
    read_answer,
    write,
)
from node.lean.adapters.run import NotReplayed
from node.lean.backend import StateKey, state_key
from node.lean.process.child import ConfinedChild, Ending
from node.lean.text.goals import factorise, split_goals, state_text
from node.lean.text.script import INDENT, indent_tactic, path_lines
from node.lean.text.statement import import_lines, statement_lines
from node.lean.worker.plan import KINDS
from node.lean.worker.reading import ALREADY_DECLARED, HEARTBEATS, MAX_GOALS, MAX_MESSAGE

MOST_OUTPUT = 16 * 2**20
"""Most bytes from a request to the end of its answer. Ordinary answers have kilobytes."""


class ReplEnded(Exception):
    """The process has ended or was killed; the text says why."""

    def __init__(self, ending: Ending, reason: str) -> None:
        super().__init__(reason)
        self.ending = ending


@dataclass
class ReplProcess:
    """A running REPL. Call `start`, then `command` or `tactic`, one request at a time."""

    child: ConfinedChild
    commands: int = 0
    worked: float = 0.0
    """Seconds that it has worked."""

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        environment: Mapping[str, str],
        memory_mb: float,
        *,
        folder: str | None = None,
        keeper: Sequence[str] = (),
    ) -> ReplProcess:
        """Start a process. Raises OSError if it cannot be run.

        `memory_mb`: memory limit of the process and its descendants, in addition to the memory at `header_done`.
        """
        child = await ConfinedChild.start(
            command,
            environment=environment,
            keeper=keeper,
            folder=folder,
            memory_mb=memory_mb,
            tree=True,  # commands such as `lake env repl` start the REPL as a child process
            stdin=asyncio.subprocess.PIPE,
            line_bytes=MOST_OUTPUT,
        )
        child.drain_stderr()
        return cls(child)

    @property
    def pid(self) -> int:
        return self.child.pid

    @property
    def alive(self) -> bool:
        return self.child.alive

    def header_done(self) -> None:
        """Record the current memory, after the header and before any proof. It does not count towards the limit."""
        self.child.guard.base_mb = self.child.own_mb()

    async def command(self, request: Request, limit: float) -> CommandAnswer | Refusal:
        """The answer to a `cmd`. Raises ReplEnded."""
        answer = await self._ask(request, limit)
        if isinstance(answer, ReplTacticAnswer):
            raise await self._ended(Ending.DIED, "the REPL answered a command with a proof state")
        return answer

    async def tactic(self, tactic: str, state: int, limit: float) -> ReplTacticAnswer | Refusal:
        """The answer to a `tactic`. Raises ReplEnded."""
        answer = await self._ask(Request(tactic=tactic, proof_state=state), limit)
        if isinstance(answer, CommandAnswer):
            raise await self._ended(Ending.DIED, "the REPL answered a tactic with an environment")
        return answer

    async def kill(self) -> None:
        """Kill the process with its process group, and wait for its end."""
        await self.child.kill()

    def resident_mb(self) -> float:
        """Memory of the process and its descendants in MB, without mapped files."""
        return self.child.own_mb()

    def grown_mb(self) -> float:
        """Memory in MB that it has added since `header_done`."""
        return self.child.guard.grown_mb()

    async def _ask(self, request: Request, limit: float) -> Answer:
        self.commands += 1
        started = time.monotonic()
        try:
            async with self.child.guard, asyncio.timeout(limit):
                # A write error means that the process is dead. Reading the answer reports that, with the reason.
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    self.child.stdin.write(write(request))
                    await self.child.stdin.drain()
                answer = await self._answer()
        except TimeoutError:
            raise await self._ended(Ending.TIMEOUT, f"no answer in {limit:g} s") from None
        except asyncio.CancelledError:  # the next request would get the answer to this one
            await self.kill()
            raise
        finally:
            self.worked += time.monotonic() - started
        if answer is None:
            raise await self._ended(Ending.MEMORY if self.child.guard.exceeded else Ending.DIED, "the REPL ended")
        return answer

    async def _answer(self) -> Answer | None:
        """The next answer, after any other output; None if the process has ended or wrote too much."""
        block: list[bytes] = []
        written = 0
        while written < MOST_OUTPUT:
            try:
                line = await self.child.stdout.readline()
            except ValueError:  # a line beyond the limit
                break
            written += len(line)
            if line.strip():
                block.append(line)
            elif block:
                answer = read_answer(b"".join(block).decode("utf-8", errors="replace"))
                if answer is not None:
                    return answer
                block.clear()
            if not line:
                return None
        self.child.note(f"no answer in {MOST_OUTPUT} bytes of output")
        return None

    async def _ended(self, ending: Ending, reason: str) -> ReplEnded:
        await self.kill()
        return ReplEnded(ending, self.child.with_stderr(reason))


# --- runs candidates on one process, and keeps its environments by header and its proof states by path ----------------
# The REPL's answers are not trusted: some REPLs have lost goals, accepted placeholders, and accepted the theorem as its
# own proof. If a state has no goals left, the whole script with the candidate runs once more as a command, and the
# candidate is a proof only if that gives no error.

_LEAN_ENDED = re.compile(rf"{LEAN_ERROR}({'|'.join(Ending)}): ")
"""Start of the error of `proofmesh repl` for a command during which its Lean ended or timed out."""


@dataclass(frozen=True)
class ReplState:
    """A proof state of the process."""

    number: int
    goals: tuple[str, ...]
    """The goals as Lean prints them, with tags."""

    @property
    def text(self) -> str:
        return state_text(self.goals)


@dataclass
class ReplLink:
    """A REPL process with its environments and states. Use it for one request at a time."""

    process: ReplProcess
    header_seconds: float
    heartbeats: int
    imports: tuple[str, ...] = ()
    """The imports of its first environment."""
    started_in: float = 0.0
    """Seconds that its first environment took."""
    warm: object = None
    """The key of its last theorem."""
    _environments: dict[str, int] = field(default_factory=dict)
    _states: dict[StateKey, ReplState] = field(default_factory=dict)

    async def state(self, theorem: Theorem, header: str, path: Sequence[Step], limit: float) -> ReplState:
        """The state at the end of a path. The steps after the last known state are replayed.

        Raises BadStatement, NotReplayed, ReplEnded.
        """
        replayed = len(path)
        while replayed and state_key(theorem, path[:replayed]) not in self._states:
            replayed -= 1
        state = self._states.get(state_key(theorem, path[:replayed])) or await self._open(theorem, header, limit)
        for number in range(replayed, len(path)):
            state = await self._follow(state, path[number], limit)
            self._states[state_key(theorem, path[: number + 1])] = state
        return state

    async def attempt(
        self, theorem: Theorem, header: str, path: Sequence[Step], state: ReplState, tactic: str, limit: float
    ) -> Outcome:
        """The outcome of a candidate on a state. Raises ReplEnded."""
        answer = await self.process.tactic(wrapped(tactic), state.number, limit)
        if isinstance(answer, Refusal):
            return await self._refused(answer.message)
        errors = _errors(answer.messages)
        if errors:
            return _error(errors[0])
        if answer.sorries:
            return Outcome(OutcomeKind.ERROR, message=USES_SORRY)
        if answer.goals is msgspec.UNSET or not answer.goals:
            return await self._confirmed(theorem, header, path, tactic, limit)
        return outcome_of(answer.goals)

    async def parser_refuses(self, header: str, tactic: str, limit: float) -> str:
        """The error of Lean's parser for a candidate, without elaborating it; empty if it parses. Raises ReplEnded.

        Some REPLs elaborate the part of a candidate that parses, and run an incomplete `repeat` for ever.
        """
        lines = [INDENT + line for line in wrapped(tactic).split("\n")]
        answer = await self._command(header, ["theorem _root_.True : True := by", *lines], limit)
        return next((error[:MAX_MESSAGE] for error in _errors(answer.messages) if ALREADY_DECLARED not in error), "")

    async def environment(self, header: str) -> int:
        """The number of the environment after a header. Raises BadStatement, ReplEnded."""
        number = self._environments.get(header)
        if number is None:
            request = Request(cmd=self._with_options(header))
            answer = await self.process.command(request, self.header_seconds)
            if isinstance(answer, Refusal):
                raise BadStatement(f"Lean refuses the header: {answer.message}")
            if errors := _errors(answer.messages):
                raise BadStatement(f"Lean refuses the header: {errors[0]}")
            number = self._environments[header] = answer.env
            if len(self._environments) == 1:
                self.process.header_done()
                self.started_in = self.process.worked
        return number

    def _with_options(self, header: str) -> str:
        """The header with the worker's options after its imports, so that options of the header override them."""
        lines = header.split("\n") if header else []
        first = import_lines(header)
        # As in verification, where the statement is a term: an unbound name is an error, not an implicit binder.
        options = [f"set_option maxHeartbeats {self.heartbeats}", "set_option autoImplicit false"]
        return "\n".join([*lines[:first], *options, *lines[first:]])

    async def _open(self, theorem: Theorem, header: str, limit: float) -> ReplState:
        answer = await self._command(header, [*statement_lines("example", theorem), f"{INDENT}sorry"], limit)
        if errors := _errors(answer.messages):
            raise BadStatement(errors[0])
        if len(answer.sorries) != 1 or answer.sorries[0].proof_state is None:
            raise ReplEnded(Ending.DIED, "the REPL returned no proof state for a `sorry`")
        state = ReplState(answer.sorries[0].proof_state, tuple(split_goals(answer.sorries[0].goal)))
        self._states[state_key(theorem, ())] = state
        return state

    async def _follow(self, state: ReplState, step: Step, limit: float) -> ReplState:
        """The state after a step. Raises NotReplayed, ReplEnded."""
        after = await self._replay(state, wrapped(step.tactic), limit)
        followed = step.layout[step.branch]
        number = sum(map(len, step.layout))
        if len(after.goals) != number:
            raise NotReplayed(
                f"the path to the state did not replay: {step.tactic[:60]!r} left {number} goals before, and now "
                f"{len(after.goals)}"
            )
        if len(followed) == number:
            return after
        # Close the goals of the other branches with `sorry`. After a full rotation the followed goals are in order.
        rotation = "; ".join("rotate_left 1" if goal in followed else "sorry" for goal in range(number))
        return await self._replay(after, f"({rotation})", limit)

    async def _replay(self, state: ReplState, tactic: str, limit: float) -> ReplState:
        answer = await self.process.tactic(tactic, state.number, limit)
        if isinstance(answer, Refusal):
            await self._check_handle(answer.message)
            raise NotReplayed(f"the path to the state did not replay: {_lean_message(answer.message)}")
        if errors := _errors(answer.messages):
            raise NotReplayed(f"the path to the state did not replay: {errors[0]}")
        if answer.goals is msgspec.UNSET:
            raise ReplEnded(Ending.DIED, "the REPL returned no goals")
        return ReplState(answer.proof_state, tuple(answer.goals))

    async def _confirmed(
        self, theorem: Theorem, header: str, path: Sequence[Step], tactic: str, limit: float
    ) -> Outcome:
        """The outcome of the whole script, with the candidate at its end, as a command."""
        statement = statement_lines("example", theorem)
        begin: list[str] = []

        def hole(prefix: str) -> list[str]:
            begin.append(prefix)
            return [prefix + line for line in wrapped(tactic).split("\n")]

        lines = path_lines(path, hole)
        answer = await self._command(header, [*statement, *lines], limit)
        errors = [message for message in answer.messages if message.severity == "error"]
        place = len(statement) + _row(lines, wrapped(tactic).split("\n")) + 1
        # "unsolved goals" before the candidate are goals that it leaves open; any other error is the candidate's.
        for message in errors:
            before = (message.pos.line, message.pos.column) < (place, len(begin[0]))
            if not (before and message.data.startswith("unsolved goals")):
                return _error(message.data)
        if errors:
            return outcome_of(split_goals(errors[0].data))
        if "sorry" not in "\n".join(lines) and any(_uses_sorry(message) for message in answer.messages):
            return Outcome(OutcomeKind.ERROR, message=USES_SORRY)
        return Outcome(OutcomeKind.PROVED)

    async def _command(self, header: str, lines: Sequence[str], limit: float) -> CommandAnswer:
        """The answer to a theorem below a header. Raises BadStatement, ReplEnded."""
        environment = await self.environment(header)
        answer = await self.process.command(Request(cmd="\n".join(lines), env=environment), limit)
        if isinstance(answer, Refusal):
            if (ended := _LEAN_ENDED.match(answer.message)) is not None:
                raise ReplEnded(Ending(ended.group(1)), answer.message)
            raise ReplEnded(Ending.DIED, f"the REPL refused a command: {answer.message}")
        return answer

    async def _refused(self, message: str) -> Outcome:
        await self._check_handle(message)
        if (ended := _LEAN_ENDED.match(message)) is not None:
            return Outcome(KINDS[Ending(ended.group(1))], message=_lean_message(message))
        return _error(_lean_message(message))

    async def _check_handle(self, message: str) -> None:
        """Raises ReplEnded if the process has lost a state, which says nothing about the tactic."""
        if message.strip() == UNKNOWN_PROOF_STATE:
            raise ReplEnded(Ending.DIED, "the REPL has lost a proof state")


USES_SORRY = "it leaves something without a proof"
"""The error of a candidate that closes its goals with `sorry`."""


def wrapped(tactic: str) -> str:
    """A tactic in parentheses, so that it must be a complete tactic block."""
    first, *others = indent_tactic(tactic, "")
    return "\n".join(["(" + first, *(" " + line for line in others), ")"])


def outcome_of(goals: Sequence[str]) -> Outcome:
    """The outcome of a tactic that left goals."""
    size = sum(map(len, goals))
    if size > MAX_GOALS:
        message = f"it leaves {len(goals)} goals of {size} characters; the limit is {MAX_GOALS} characters"
        return Outcome(OutcomeKind.ERROR, message=message)
    return Outcome(OutcomeKind.GOALS, factorise(goals))


def _row(lines: Sequence[str], block: Sequence[str]) -> int:
    """The row where the candidate's lines start. The first of these lines may have bullets in front."""
    for row in range(len(lines) - len(block), -1, -1):
        if all(lines[row + number].endswith(line) for number, line in enumerate(block)):
            return row
    return 0


def _errors(messages: Sequence[ReplMessage]) -> list[str]:
    return [message.data for message in messages if message.severity == "error"]


def _error(message: str) -> Outcome:
    kind = OutcomeKind.TIMEOUT if HEARTBEATS.search(message) else OutcomeKind.ERROR
    return Outcome(kind, message=message[:MAX_MESSAGE])


def _lean_message(message: str) -> str:
    return message.removeprefix(LEAN_ERROR)


def _uses_sorry(message: ReplMessage) -> bool:
    return "declaration uses" in message.data and "sorry" in message.data
