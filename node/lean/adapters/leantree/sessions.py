"""The sessions of a LeanTree server's clients. Pure: the caller passes the time.

A client sees a session as its own Lean process. A session only stores the client's commands, and the path of each state
from its theorem. All sessions share the workers, which store no state that could be lost.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cachetools import FIFOCache

from common.lean import Step, Theorem
from node.lean.adapters.leantree.texts import joined

MOST_STATES = 20_000
"""Most states in one session, about 10 MB of paths. A search with 16,000 simulations reaches about as many states."""


class UnknownProcess(LookupError):
    """There is no process with this number: it never existed, was returned, or expired because it was idle."""


class UnknownState(LookupError):
    """There is no state with this number in this process."""


@dataclass(frozen=True)
class State:
    """A proof state on which a tactic can run."""

    theorem: Theorem
    path: tuple[Step, ...]
    text: str
    """Its goals as Lean prints them; empty if no goal is left."""


@dataclass
class Session:
    """A process that a client holds."""

    number: int
    header: str
    """The commands so far, which come before each theorem."""
    used: float
    """Time of its last request."""
    commands: int = 0
    open_requests: int = 0
    _states: FIFOCache[int, State] = field(default_factory=lambda: FIFOCache(MOST_STATES))
    _last: int = 0

    def add(self, state: State) -> int:
        """Store a state and return its number. With more than MOST_STATES, the oldest state is dropped."""
        self._last += 1
        self._states[self._last] = state
        return self._last

    def state(self, number: int) -> State:
        """The state with this number. Raises UnknownState."""
        state = self._states.get(number)
        if state is None:
            dropped = f"; only the last {MOST_STATES} are kept" if 0 < number <= self._last else ""
            raise UnknownState(f"state {number} not found in process {self.number}{dropped}")
        return state

    @property
    def states(self) -> int:
        return len(self._states)

    def accept(self, command: str) -> int:
        """Add a command that Lean has accepted. Returns the number of the environment after it."""
        self.header = joined(self.header, command)
        self.commands += 1
        return self.commands


class Sessions:
    """Holds at most `most` sessions at the same time. A session expires after `idle_seconds` without a request."""

    def __init__(self, most: int, idle_seconds: float, header: str = "", *, first: int = 1) -> None:
        """`header`: the commands with which each session starts. `first`: the first number. It should differ after a
        restart of the server; otherwise a client could reach another client's session with its old number."""
        self.most = most
        self.idle_seconds = idle_seconds
        self._header = header
        self._sessions: dict[int, Session] = {}
        self._last = first - 1

    def __len__(self) -> int:
        return len(self._sessions)

    def all(self) -> list[Session]:
        """All open sessions."""
        return list(self._sessions.values())

    def open(self, now: float) -> Session | None:
        """Open a new session. Returns None if `most` sessions are open."""
        if len(self._sessions) >= self.most:
            return None
        self._last += 1
        session = self._sessions[self._last] = Session(self._last, self._header, now)
        return session

    def get(self, number: int, now: float) -> Session:
        """The session with this number, which counts as used now. Raises UnknownProcess."""
        session = self._sessions.get(number)
        if session is None:
            raise UnknownProcess(
                f"process {number} not found: it never existed, was returned, or was idle for too long; get a new one "
                "with /process/get"
            )
        session.used = now
        return session

    def close(self, number: int) -> bool:
        """Close a session. Returns False if it was not open."""
        return self._sessions.pop(number, None) is not None

    def expire(self, now: float) -> list[int]:
        """Close all idle sessions. Returns their numbers."""
        idle = [
            session.number
            for session in self._sessions.values()
            if not session.open_requests and now - session.used > self.idle_seconds
        ]
        for number in idle:
            del self._sessions[number]
        return idle
