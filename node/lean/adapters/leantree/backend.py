"""The `leantree` backend: runs candidates on a LeanTree server over HTTP.

A batch holds one process of the server while it runs, if possible one that has opened its theorem. If the process
fails, the batch continues on another one. If the server stays unreachable, the backend raises `BackendDown`, and no
tactic gets a failure for it. Idle processes are returned, so that several lean-proxies can share a server.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import ClassVar

import stamina
import structlog

from common.lean import BadStatement, Branch, Layout, Outcome, OutcomeKind, Step, Theorem
from node.lean.adapters.leantree.client import (
    DeadlinePassed,
    Handle,
    LeanTreeClient,
    ProcessFailed,
    ProcessLost,
    Rejected,
    ServerBusy,
    ServerLost,
)
from node.lean.adapters.leantree.protocol import BranchAnswer, TacticAnswer
from node.lean.adapters.run import AdapterRun, NotReplayed, Places
from node.lean.backend import BackendDown, BackendFull, BatchResult, StateKey, TacticBatch, state_key
from node.lean.text.goals import state_text, to_text
from node.lean.text.statement import completed, statement_lines
from node.lean.worker.plan import CRASHES_ALONE
from node.lean.worker.reading import MAX_GOALS, MAX_MESSAGE

_WORDS = (
    (OutcomeKind.TIMEOUT, r"\(deterministic\) timeout|maximum number of heartbeats|timed out|did not respond within"),
    (OutcomeKind.MEMORY, r"out of memory|cannot allocate memory|bad_alloc|RLIMIT_AS|memory ceiling"),
    (OutcomeKind.REFUSED, r"Search tactics .* not allowed|`sorry` not allowed"),
)

_DIED = re.compile(
    r"ended unexpectedly|has terminated|stack overflow|broken pipe|failed to send data to REPL|killed by|segfault",
    re.IGNORECASE,
)

_KINDS = {str(kind): kind for kind in OutcomeKind}


def outcome(answer: TacticAnswer) -> Outcome:
    """The outcome of a tactic."""
    if answer.error is not None or answer.value is None:
        return _outcome_of_failure(answer.error or "the server's answer has no error message", answer.kind)
    branches = [branch for branch in answer.value if branch.goals]
    if not branches:
        return Outcome(OutcomeKind.PROVED)
    size = sum(len(to_text(goal)) for branch in branches for goal in branch.goals)
    if size > MAX_GOALS:
        message = f"it leaves goals of {size} characters; the limit is {MAX_GOALS} characters"
        return Outcome(OutcomeKind.ERROR, message=message)
    if sum(len(branch.goals) > 1 for branch in branches) > 1:
        return Outcome(OutcomeKind.ERROR, message="it leaves several groups of goals that share metavariables")
    return Outcome(OutcomeKind.GOALS, tuple(Branch(text_of(branch), places) for branch, places in placed(branches)))


def process_failure(reason: str) -> OutcomeKind:
    """The outcome of a tactic whose process ended for this reason; LOST if the tactic may not be the cause."""
    for kind, words in _WORDS[:2]:
        if re.search(words, reason, re.IGNORECASE):
            return kind
    return OutcomeKind.CRASHED if _DIED.search(reason) else OutcomeKind.LOST


def text_of(branch: BranchAnswer) -> str:
    """The text of a state, in the form that all backends use."""
    return state_text([to_text(goal) for goal in branch.goals])


def placed(branches: list[BranchAnswer]) -> list[tuple[BranchAnswer, tuple[int, ...]]]:
    """Branches with the indices of their goals in Lean's list; a branch with several goals comes last.

    If the server sends no indices, the goals are numbered in the order of the branches. This is nearly always correct:
    such servers list branches by their first goal, and goals that share a metavariable are nearly always adjacent. With
    wrong indices the joined proof is wrong, and verification rejects it.
    """
    counted: list[tuple[BranchAnswer, tuple[int, ...]]] = []
    first = 0
    for branch in branches:
        places = branch.positions or tuple(range(first, first + len(branch.goals)))
        counted.append((branch, places))
        first += len(branch.goals)
    return sorted(counted, key=lambda item: len(item[1]) > 1)


def _outcome_of_failure(error: str, kind: str | None) -> Outcome:
    outcome_kind = _KINDS.get(kind or "")
    if outcome_kind is None or outcome_kind in (OutcomeKind.PROVED, OutcomeKind.GOALS):
        outcome_kind = next((kind for kind, words in _WORDS if re.search(words, error)), OutcomeKind.ERROR)
    return Outcome(outcome_kind, message=error[:MAX_MESSAGE])


# --- the backend ------------------------------------------------------------------------------------------------------

# --- runs candidates on one process of a LeanTree server, and keeps its proof states by path --------------------------

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
        state = KnownState(Handle.of(answer.value), text_of(answer.value))
        self._states[state_key(theorem, ())] = state
        return state


def _branches(answer: TacticAnswer) -> list[BranchAnswer]:
    """The branches of an answer, in the order of the outcome's branches."""
    return [branch for branch, _ in placed([branch for branch in answer.value or () if branch.goals])]


# ----------------------------------------------------------------------------------------------------------------------

log = structlog.get_logger("leantree")

TRIES = 4
"""Attempts to run a batch, each on another process. With the pauses below, this is longer than a restart of the server
within a second. After that the request gets Busy, and the prover can ask another lean-proxy."""

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 1.0
"""Seconds between two attempts. The pause doubles each time."""

PROCESS_WAIT = 2.0
"""Seconds before a request that waits for a free process of the server gets Busy."""

IDLE_SECONDS = 20.0
"""Seconds without use after which a process is returned, because other clients may wait for it."""


class _Again(Exception):
    """The batch must be tried again; the text says why."""


@dataclass
class LeanTreeBackend:
    """Runs batches on a LeanTree server. Use it from one event loop."""

    in_files: ClassVar[bool] = False
    header_seconds: ClassVar[float] = 0.0

    url: str
    processes: int
    """Most processes of the server that are held at the same time."""
    queue: int
    """Most batches that wait for a process."""
    default_header: str = ""
    """The header of each theorem whose own header imports nothing."""
    lost: int = 0
    """Processes that failed or were lost."""
    _idle: list[Link] = field(default_factory=list)
    _busy: int = 0
    _sweeper: asyncio.Task[None] | None = None
    _leaving: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.client = LeanTreeClient(self.url)
        self._places = Places(self.processes, self.queue)

    def start(self) -> None:
        """Get ready. The first batch sends the first request to the server."""
        self.client.open()
        self._sweeper = asyncio.create_task(self._sweep(), name="idle LeanTree processes")

    async def stop(self) -> None:
        """End open attempts, return all processes, close all connections."""
        await self._places.cancel()
        if self._sweeper is not None:
            self._sweeper.cancel()
            await asyncio.gather(self._sweeper, return_exceptions=True)
        while self._idle:
            self._leave(self._idle.pop())
        await asyncio.gather(*self._leaving, return_exceptions=True)
        await self.client.close()

    @property
    def waiting(self) -> int:
        return self._places.waiting

    @property
    def live(self) -> int:
        return len(self._idle) + self._busy

    @property
    def restarts(self) -> int:
        """Processes that failed or were lost. A process that the server replaces unnoticed does not count."""
        return self.lost

    def resident_mb(self) -> float:
        """0, because the processes run on the server."""
        return 0.0

    async def attempt(self, batch: TacticBatch) -> BatchResult:
        """Run a batch. Raises BackendFull, BackendDown, BadStatement."""
        return await self._places.attend(self._attempt(batch), "LeanTree batch")

    async def _attempt(self, batch: TacticBatch) -> BatchResult:
        async with self._places.hold(PROCESS_WAIT / 2):
            began = time.monotonic()
            run = _LeanTreeRun(batch)
            try:
                # What a lost process had already answered stays in `run`: a repetition asks only for the rest.
                async for attempt in stamina.retry_context(
                    on=_Again,
                    attempts=TRIES,
                    timeout=None,
                    wait_initial=FIRST_PAUSE,
                    wait_max=LONGEST_PAUSE,
                    wait_jitter=FIRST_PAUSE,
                ):
                    with attempt:
                        await self._try(run)
            except _Again as error:
                raise BackendDown(str(error)) from error
            return run.result(time.monotonic() - began)

    async def _try(self, run: _LeanTreeRun) -> None:
        """Continue a run until it is done, on other processes if one fails.

        Raises _Again if a process fails without progress of the run. Raises BackendFull, BadStatement.
        """
        while True:
            before = run.progress
            try:
                async with self._link(run.batch) as link:
                    await run.go(link)
                return
            except ServerBusy as error:
                raise BackendFull(error.retry_after, self.waiting) from error
            except (ServerLost, ProcessLost, ProcessFailed, Rejected) as error:
                if isinstance(error, ServerLost):
                    self._idle.clear()  # after a restart, the server may give these numbers to other clients
                if run.progress == before:
                    raise _Again(str(error)) from error

    @asynccontextmanager
    async def _link(self, batch: TacticBatch) -> AsyncIterator[Link]:
        """A process with the batch's header, for this batch only. Afterwards it is idle, or returned if it failed."""
        self._busy += 1
        link: Link | None = None
        sound = False
        try:
            # A process that has this state already comes first: it need not elaborate the statement again.
            header = completed(batch.theorem.header, self.default_header)
            link = self._idle_link(batch, header) or await self._new(header)
            yield link
            sound = True
        except (BadStatement, ServerBusy):
            sound = True  # these errors are not the fault of the process
            raise
        finally:
            self._busy -= 1
            # A process after an error of its own may be in any state, so it is not used again.
            if link is not None and sound and not link.worn:
                link.used, link.warm = time.monotonic(), state_key(batch.theorem, ())
                self._idle.append(link)
            elif link is not None:
                self.lost += not sound
                self._leave(link)

    def _idle_link(self, batch: TacticBatch, header: str) -> Link | None:
        """An idle process with this header, if possible one whose last theorem was the same."""
        matching = [link for link in self._idle if link.header == header]
        if not matching:
            return None
        key = state_key(batch.theorem, ())
        link = next((link for link in matching if link.warm == key), matching[0])
        self._idle.remove(link)
        return link

    async def _new(self, header: str) -> Link:
        """Get another process from the server. Raises BackendFull if none is free."""
        if self._idle and self.live > self.processes:
            await self.client.give_back(self._idle.pop(0).process)
        process = await self.client.take(PROCESS_WAIT)
        if process is None:
            raise BackendFull(PROCESS_WAIT, self.waiting)
        link = Link(self.client, process)
        try:
            await link.begin(header)
        except BaseException:
            self._leave(link)
            raise
        return link

    def _leave(self, link: Link) -> None:
        """Return a process to the server in the background."""
        task = asyncio.create_task(self.client.give_back(link.process), name="return a LeanTree process")
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(IDLE_SECONDS / 4)
            now = time.monotonic()
            for link in [link for link in self._idle if now - link.used > IDLE_SECONDS]:
                self._idle.remove(link)
                self._leave(link)


class _LeanTreeRun(AdapterRun):
    """A batch and its progress, which continues on another process if one fails."""

    @property
    def progress(self) -> int:
        """A number that grows with each outcome and each crash."""
        return len(self.outcomes) + sum(self.crashes.values())

    async def go(self, link: Link) -> None:
        """Run the remaining candidates. Raises BadStatement, ServerLost, ProcessLost, ProcessFailed."""
        batch = self.batch
        try:
            state = await link.state(batch.theorem, batch.path, batch.timeout)
        except NotReplayed as error:
            self.give_up(str(error))
            return
        await self.settle_rest(state.text, lambda tactic: self._settle(link, state, tactic))

    async def _settle(self, link: Link, state: KnownState, tactic: str) -> Outcome:
        batch = self.batch
        try:
            return await link.attempt(batch.theorem, batch.path, state, tactic, batch.timeout)
        except DeadlinePassed as error:
            # The tactic had its own process. If the server still answers a status request, the tactic is the cause.
            await link.client.status()
            self.outcomes[tactic] = Outcome(OutcomeKind.TIMEOUT, message=str(error))
            raise
        except ProcessFailed as error:
            self._process_failed(tactic, str(error))
            raise

    def _process_failed(self, tactic: str, reason: str) -> None:
        """Record that the process ended while it ran the tactic. After a first crash the tactic runs once more, because
        something else may have killed the process."""
        kind = process_failure(reason)
        crashes = self.count_crash(tactic)
        if kind in (OutcomeKind.TIMEOUT, OutcomeKind.MEMORY) or crashes >= CRASHES_ALONE:
            self.outcomes[tactic] = Outcome(kind, message=reason)
