"""The sessions of a LeanTree server's clients. Pure: the caller passes the time.

A client sees a session as its own Lean process. A session only stores the client's commands, and the path of each state
from its theorem. All sessions share the workers, which store no state that could be lost.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from cachetools import FIFOCache

from common.lean import Step, Theorem
from node.lean.text.lexing import Lexed, lex
from node.lean.text.statement import StatementError, parse_statement

_START = re.compile(r"^[ \t]*(theorem|lemma|example)\b|(?<=\sin)\s+(theorem|lemma|example)\b", re.MULTILINE)
_ALL_SORRY = re.compile(r":=\s*(?:by\s*)?sorry\s*$")
_SORRY = re.compile(r"\bsorry\b")
_IMPORT = re.compile(r"^[ \t]*(?:public |meta )*import\b", re.MULTILINE)

_IN = re.compile(r"\s+in\s*(?=$|open\b|set_option\b|variable\b|universe\b)")
"""The `in` of `open Nat in theorem ...`. Before a single theorem, `open Nat` without `in` means the same."""


class BadTheorem(ValueError):
    """The text is not a single theorem whose whole proof is `sorry`; the message says what is wrong."""


def read_theorem(text: str, header: str) -> Theorem:
    """The theorem in a text such as `open Nat in theorem t : P := by sorry`, with the session's header.

    Commands may come before it, and comments may be anywhere. Raises BadTheorem.
    """
    lexed = lex(text)
    if lexed.problem:
        raise BadTheorem(lexed.problem)
    starts = list(_START.finditer(lexed.code))
    if len(starts) != 1:
        raise BadTheorem(f"the text has {len(starts)} theorems; send one `theorem NAME BINDERS : P := by sorry`")
    code = _without_comments(text, lexed)
    before, statement = code[: starts[0].start()], code[starts[0].start() :]
    sorries = len(_SORRY.findall(lexed.code))
    if sorries != 1 or not _ALL_SORRY.search(statement):
        raise BadTheorem(f"the text has `sorry` {sorries} times; use it once, in place of the whole proof")
    try:
        return parse_statement(statement, joined(header, _IN.sub("\n", before.strip())))
    except StatementError as error:
        raise BadTheorem(str(error)) from error


def joined(header: str, more: str) -> str:
    """Two texts of commands as one."""
    return "\n".join(part for part in (header.strip(), more.strip()) if part)


def imports(text: str) -> bool:
    """True when a text has an import, so that no other command can come before it."""
    return bool(_IMPORT.search(lex(text).code))


def _without_comments(text: str, lexed: Lexed) -> str:
    """The text with its comments blanked. A text with literals stays unchanged, because `code` blanks these too. The
    rules for statements then refuse it for its comments."""
    return lexed.code if lexed.comments and not {'"', "'"} & set(text) else text


# --- sessions ---------------------------------------------------------------------------------------------------------

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
