"""Which LeanTree processes are given out, and what each client has built in its own. Pure: time comes from the caller.

To a client a process is a Lean of its own. To us it is a session: the commands that were sent, and for every state its
path from the theorem. The workers behind it are shared, and keep no state that could be lost.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cachetools import FIFOCache

from common.lean import Step, Theorem
from node.lean.adapters.leantree.texts import joined

MOST_STATES = 20_000
"""In one session: some 10 MB of paths; a search of 16,000 simulations reaches about as many states."""


class UnknownProcess(LookupError):
    """No such process: never given out, returned, or taken back because it was idle."""


class UnknownState(LookupError):
    """No such state in this process."""


@dataclass(frozen=True)
class State:
    """Where a tactic can be tried."""

    theorem: Theorem
    path: tuple[Step, ...]
    text: str
    """Its goals as Lean prints them; empty when none is left."""


@dataclass
class Session:
    """One process that a client holds."""

    number: int
    header: str
    """The commands so far: they stand before every theorem."""
    used: float
    """When it was last asked for something."""
    commands: int = 0
    at_work: int = 0
    """Requests that are open."""
    _states: FIFOCache[int, State] = field(default_factory=lambda: FIFOCache(MOST_STATES))
    _last: int = 0

    def add(self, state: State) -> int:
        """Remember a state; returns its number. The oldest is forgotten beyond MOST_STATES."""
        self._last += 1
        self._states[self._last] = state
        return self._last

    def state(self, number: int) -> State:
        """Raises UnknownState."""
        state = self._states.get(number)
        if state is None:
            forgotten = f"; the last {MOST_STATES} are kept" if 0 < number <= self._last else ""
            raise UnknownState(f"state {number} not found in process {self.number}{forgotten}")
        return state

    @property
    def states(self) -> int:
        return len(self._states)

    def accept(self, command: str) -> int:
        """Add a command that Lean has accepted; returns the number of the environment behind it."""
        self.header = joined(self.header, command)
        self.commands += 1
        return self.commands


class Sessions:
    """At most `most` sessions at a time; one that was idle for too long is taken back."""

    def __init__(self, most: int, idle_seconds: float, header: str = "", *, first: int = 1) -> None:
        """`header`: what every session begins with. `first`: the first number; a server that was started again should
        count from elsewhere, or clients of the old one would meet sessions of others."""
        self.most = most
        self.idle_seconds = idle_seconds
        self._header = header
        self._sessions: dict[int, Session] = {}
        self._last = first - 1

    def __len__(self) -> int:
        return len(self._sessions)

    def all(self) -> list[Session]:
        """The sessions that are given out."""
        return list(self._sessions.values())

    def open(self, now: float) -> Session | None:
        """A new session; none when all are given out."""
        if len(self._sessions) >= self.most:
            return None
        self._last += 1
        session = self._sessions[self._last] = Session(self._last, self._header, now)
        return session

    def get(self, number: int, now: float) -> Session:
        """A session that is about to be used. Raises UnknownProcess."""
        session = self._sessions.get(number)
        if session is None:
            raise UnknownProcess(f"process {number} not found: never given out, returned, or idle for too long")
        session.used = now
        return session

    def close(self, number: int) -> bool:
        """Take a session back; whether it was there."""
        return self._sessions.pop(number, None) is not None

    def expire(self, now: float) -> list[int]:
        """Take back what nobody has used for too long; returns the numbers."""
        idle = [
            session.number
            for session in self._sessions.values()
            if not session.at_work and now - session.used > self.idle_seconds
        ]
        for number in idle:
            del self._sessions[number]
        return idle
