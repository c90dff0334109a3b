"""One REPL process and what it knows: environments of headers, and proof states of paths.

The REPL's answers are not taken on trust. Its state without goals is a proof only if the candidate stands in the whole
script, as a command, without an error: the REPL has lost goals, let placeholders pass, and accepted the theorem as its
own proof.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from common.lean import BadStatement, Outcome, OutcomeKind, Step, Theorem
from node.lean.adapters.repl import protocol
from node.lean.adapters.repl.process import ReplEnded, ReplProcess
from node.lean.adapters.repl.protocol import CommandAnswer, Refusal, ReplMessage, Request
from node.lean.adapters.run import NotReplayed
from node.lean.cache import StateKey, state_key
from node.lean.process.child import Ending
from node.lean.text.goals import factorise, split_goals, state_text
from node.lean.text.headers import import_lines
from node.lean.text.script import INDENT, indent_tactic, path_lines
from node.lean.text.statement import statement_lines
from node.lean.worker.plan import KINDS
from node.lean.worker.reading import ALREADY_DECLARED, HEARTBEATS, MAX_GOALS, MAX_MESSAGE

_OURS = re.compile(rf"{protocol.LEAN_ERROR}({'|'.join(Ending)}): ")
"""How `proofmesh repl` says that its Lean came to no end."""


@dataclass(frozen=True)
class ReplState:
    """A proof state of the process."""

    number: int
    goals: tuple[str, ...]
    """As Lean prints them, tags included."""

    @property
    def text(self) -> str:
        return state_text(self.goals)


@dataclass
class ReplLink:
    """A process, used for one thing at a time."""

    process: ReplProcess
    header_seconds: float
    heartbeats: int
    imports: tuple[str, ...] = ()
    """What it has imported first."""
    started_in: float = 0.0
    """Seconds that it worked on its first environment."""
    warm: object = None
    """The theorem that it worked on last."""
    _environments: dict[str, int] = field(default_factory=dict)
    _states: dict[StateKey, ReplState] = field(default_factory=dict)

    async def state(self, theorem: Theorem, header: str, path: Sequence[Step], limit: float) -> ReplState:
        """The state at the end of a path, replayed from the last that is known.

        Raises BadStatement, NotReplayed, ReplEnded.
        """
        done = len(path)
        while done and state_key(theorem, path[:done]) not in self._states:
            done -= 1
        known = self._states.get(state_key(theorem, path[:done])) or await self._open(theorem, header, limit)
        for number in range(done, len(path)):
            known = await self._follow(known, path[number], limit)
            self._states[state_key(theorem, path[: number + 1])] = known
        return known

    async def attempt(
        self, theorem: Theorem, header: str, path: Sequence[Step], known: ReplState, tactic: str, limit: float
    ) -> Outcome:
        """What becomes of a candidate on a state. Raises ReplEnded."""
        answer = await self.process.tactic(wrapped(tactic), known.number, limit)
        if isinstance(answer, Refusal):
            return await self._refused(answer.message)
        errors = _errors(answer.messages)
        if errors:
            return _error(errors[0])
        if answer.sorries:
            return Outcome(OutcomeKind.ERROR, message="it leaves something without a proof")
        if answer.goals is msgspec.UNSET or not answer.goals:
            return await self._confirmed(theorem, header, path, tactic, limit)
        return outcome_of(answer.goals)

    async def parser_refuses(self, header: str, tactic: str, limit: float) -> str:
        """What Lean's parser says of a candidate that is not to be elaborated; empty when it parses.

        REPLs that elaborate what could be parsed run half a `repeat` for ever. Raises ReplEnded.
        """
        lines = [INDENT + line for line in wrapped(tactic).split("\n")]
        answer = await self._command(header, ["theorem _root_.True : True := by", *lines], limit)
        return next((error[:MAX_MESSAGE] for error in _errors(answer.messages) if ALREADY_DECLARED not in error), "")

    async def environment(self, header: str) -> int:
        """The environment behind a header. Raises BadStatement, ReplEnded."""
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
        """The header with the worker's options, before those that it sets itself."""
        lines = header.split("\n") if header else []
        first = import_lines(header)
        # As in verification, where the statement is a term: a free name is an error, not one more binder.
        options = [f"set_option maxHeartbeats {self.heartbeats}", "set_option autoImplicit false"]
        return "\n".join([*lines[:first], *options, *lines[first:]])

    async def _open(self, theorem: Theorem, header: str, limit: float) -> ReplState:
        answer = await self._command(header, [*statement_lines("example", theorem), f"{INDENT}sorry"], limit)
        if errors := _errors(answer.messages):
            raise BadStatement(errors[0])
        if len(answer.sorries) != 1 or answer.sorries[0].proof_state is None:
            raise ReplEnded(Ending.DIED, "the REPL showed no proof state for a `sorry`")
        known = ReplState(answer.sorries[0].proof_state, tuple(split_goals(answer.sorries[0].goal)))
        self._states[state_key(theorem, ())] = known
        return known

    async def _follow(self, known: ReplState, step: Step, limit: float) -> ReplState:
        """The state behind a step. Raises NotReplayed, ReplEnded."""
        after = await self._replay(known, wrapped(step.tactic), limit)
        followed = step.layout[step.branch]
        number = sum(map(len, step.layout))
        if len(after.goals) != number:
            raise NotReplayed(f"{step.tactic[:60]!r} left {number} goals, and now {len(after.goals)}")
        if len(followed) == number:
            return after
        # The other branches' goals are put off; after a full turn those kept stand in their order again.
        turn = "; ".join("rotate_left 1" if goal in followed else "sorry" for goal in range(number))
        return await self._replay(after, f"({turn})", limit)

    async def _replay(self, known: ReplState, tactic: str, limit: float) -> ReplState:
        answer = await self.process.tactic(tactic, known.number, limit)
        if isinstance(answer, Refusal):
            await self._check_handle(answer.message)
            raise NotReplayed(f"the path to the state did not replay: {_said(answer.message)}")
        if errors := _errors(answer.messages):
            raise NotReplayed(f"the path to the state did not replay: {errors[0]}")
        if answer.goals is msgspec.UNSET:
            raise ReplEnded(Ending.DIED, "the REPL showed no goals")
        return ReplState(answer.proof_state, tuple(answer.goals))

    async def _confirmed(
        self, theorem: Theorem, header: str, path: Sequence[Step], tactic: str, limit: float
    ) -> Outcome:
        """What Lean says of the whole script with the candidate at its end, as a command."""
        statement = statement_lines("example", theorem)
        begin: list[str] = []

        def hole(prefix: str) -> list[str]:
            begin.append(prefix)
            return [prefix + line for line in wrapped(tactic).split("\n")]

        lines = path_lines(path, hole)
        answer = await self._command(header, [*statement, *lines], limit)
        errors = [message for message in answer.messages if message.severity == "error"]
        place = len(statement) + _row(lines, wrapped(tactic).split("\n")) + 1
        for message in errors:
            before = (message.pos.line, message.pos.column) < (place, len(begin[0]))
            if not (before and message.data.startswith("unsolved goals")):
                return _error(message.data)
        if errors:
            return outcome_of(split_goals(errors[0].data))
        if "sorry" not in "\n".join(lines) and any(_uses_sorry(message) for message in answer.messages):
            return Outcome(OutcomeKind.ERROR, message="it leaves something without a proof")
        return Outcome(OutcomeKind.PROVED)

    async def _command(self, header: str, lines: Sequence[str], limit: float) -> CommandAnswer:
        """The answer to a theorem behind a header. Raises BadStatement, ReplEnded."""
        environment = await self.environment(header)
        answer = await self.process.command(Request(cmd="\n".join(lines), env=environment), limit)
        if isinstance(answer, Refusal):
            if (ours := _OURS.match(answer.message)) is not None:
                raise ReplEnded(Ending(ours.group(1)), answer.message)
            raise ReplEnded(Ending.DIED, f"the REPL refused a command: {answer.message}")
        return answer

    async def _refused(self, message: str) -> Outcome:
        await self._check_handle(message)
        if (ours := _OURS.match(message)) is not None:
            return Outcome(KINDS[Ending(ours.group(1))], message=_said(message))
        return _error(_said(message))

    async def _check_handle(self, message: str) -> None:
        """Raises ReplEnded when the process has forgotten a state: that says nothing about a tactic."""
        if message.strip() == protocol.UNKNOWN_PROOF_STATE:
            raise ReplEnded(Ending.DIED, "the REPL has forgotten a proof state")


def wrapped(tactic: str) -> str:
    """A tactic in parentheses: it must be a tactic block on its own terms."""
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
    """Where the candidate's lines begin: the only place where they all stand, up to bullets before the first."""
    for row in range(len(lines) - len(block), -1, -1):
        if all(lines[row + number].endswith(line) for number, line in enumerate(block)):
            return row
    return 0


def _errors(messages: Sequence[ReplMessage]) -> list[str]:
    return [message.data for message in messages if message.severity == "error"]


def _error(message: str) -> Outcome:
    kind = OutcomeKind.TIMEOUT if HEARTBEATS.search(message) else OutcomeKind.ERROR
    return Outcome(kind, message=message[:MAX_MESSAGE])


def _said(message: str) -> str:
    return message.removeprefix(protocol.LEAN_ERROR)


def _uses_sorry(message: ReplMessage) -> bool:
    return "declaration uses" in message.data and "sorry" in message.data
