"""Runs candidates on one process of a LeanTree server, and keeps its proof states by path."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from common.lean import BadStatement, Layout, Outcome, OutcomeKind, Step, Theorem
from node.lean.adapters.leantree.client import Handle, LeanTreeClient, ProcessFailed, Rejected, ServerLost
from node.lean.adapters.leantree.outcomes import outcome, placed, process_failure, text
from node.lean.adapters.leantree.protocol import BranchAnswer, TacticAnswer
from node.lean.adapters.run import NotReplayed
from node.lean.cache import StateKey, state_key
from node.lean.text.statement import statement_lines

MOST_STATES = 4096
"""Most known states of one process. After that it is replaced, because the server frees states only on return."""


_TOO_LATE = re.compile(r"invalid 'import' command")
_IMPORTS = re.compile(r"^[ \t]*(?:public |meta )*import\b.*\n?", re.MULTILINE)


@dataclass(frozen=True)
class KnownState:
    handle: Handle
    text: str


@dataclass
class Link:
    """A process of the server that we hold."""

    client: LeanTreeClient
    process: int
    header: str = ""
    used: float = 0.0
    """Time of its last use, by the owner's clock."""
    warm: StateKey | None = None
    """The key of its last theorem."""
    _states: dict[StateKey, KnownState] = field(default_factory=dict)

    @property
    def worn(self) -> bool:
        return len(self._states) >= MOST_STATES

    async def begin(self, header: str) -> None:
        """Run the header. Raises BadStatement, and the exceptions of the client."""
        try:
            await self._command(header)
        except BadStatement as error:
            # A server that has already loaded its library rejects imports. Use the library that its operator chose.
            if not _TOO_LATE.search(str(error)):
                raise
            await self._command(_IMPORTS.sub("", header))
        self.header = header

    async def _command(self, text: str) -> None:
        if not text.strip():
            return
        try:
            await self.client.command(self.process, text)
        except (Rejected, ProcessFailed) as error:
            if isinstance(error, ProcessFailed) and process_failure(str(error)) is not OutcomeKind.LOST:
                raise
            raise BadStatement(f"Lean refuses the header: {error}") from error

    async def state(self, theorem: Theorem, path: tuple[Step, ...], seconds: float) -> KnownState:
        """The state at the end of a path. The steps after the last known state are replayed.

        Raises NotReplayed, BadStatement.
        """
        replayed = max(n for n in range(len(path) + 1) if n == 0 or state_key(theorem, path[:n]) in self._states)
        state = self._states.get(state_key(theorem, path[:replayed])) or await self._open(theorem)
        for number in range(replayed, len(path)):
            step = path[number]
            await self.attempt(theorem, path[:number], state, step.tactic, seconds, expected=step.layout)
            after = self._states.get(state_key(theorem, path[: number + 1]))
            if after is None:
                raise NotReplayed(
                    f"the path to the state did not replay: `{step.tactic}` leaves other goals than before"
                )
            state = after
        return state

    async def attempt(
        self,
        theorem: Theorem,
        path: tuple[Step, ...],
        state: KnownState,
        tactic: str,
        seconds: float,
        expected: Layout | None = None,
    ) -> Outcome:
        """Run a tactic on a state, and store the states that it leads to. `expected`: raise NotReplayed if the outcome
        has another layout."""
        answer = await self.client.tactic(self.process, state.handle, tactic, seconds)
        result = outcome(answer)
        if expected is not None and result.layout != expected:
            difference = result.message or f"it leaves {len(result.branches)} branches"
            raise NotReplayed(f"the path to the state did not replay: `{tactic}`: {difference}")
        if result.kind is OutcomeKind.GOALS:
            for number, branch in enumerate(_branches(answer)):
                key = state_key(theorem, (*path, Step(tactic, number, result.layout)))
                self._states[key] = KnownState(Handle.of(branch), result.branches[number].state)
        return result

    async def _open(self, theorem: Theorem) -> KnownState:
        source = "\n".join([*statement_lines("example", theorem), "  sorry"])
        try:
            answer = await self.client.theorem(self.process, source)
        except Rejected as error:
            raise BadStatement(str(error)) from error
        if answer.error is not None:
            raise BadStatement(answer.error)
        if answer.value is None:
            raise ServerLost("the server opened a theorem without a state")
        state = KnownState(Handle.of(answer.value), text(answer.value))
        self._states[state_key(theorem, ())] = state
        return state


def _branches(answer: TacticAnswer) -> list[BranchAnswer]:
    """The branches of an answer, in the order of the outcome's branches."""
    return [branch for branch, _ in placed([branch for branch in answer.value or () if branch.goals])]
