"""Plays an evaluation's missing attempts, in this process or on a mesh, and has their proofs verified.

Several attempts are played at once. Proofs that are found within `Venue.gather_seconds` are verified in one batch.
Each record is written when its attempt ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from common.bus import BusError
from common.lean import Theorem
from common.life.waiting import Gathering
from common.output.command import Exit, UserError
from common.protocol.attempts import Attempt, AttemptOutcome, AttemptResult, Purpose
from common.protocol.messages import ANY_PROOF, FailureKind, MessageError
from common.records.searches import KeptSearches
from common.seeds import derive_seed
from node.eval.folder import AttemptRecord, EvaluationFolder, Plan, Standing, StatementRecord, standing
from node.eval.venue import Venue
from node.lean.text.script import proof_script
from node.lean.toolchain.advice import HEADER_REFUSED
from node.play.attempts import Attempts

# --- one attempt at a time --------------------------------------------------------------------------------------------


LOOK_EVERY = 1.0
"""Seconds between two looks at the capacity: provers join and leave."""


class Slots:
    """Limits how many searches run at once."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.taken = 0
        self._more = True
        self.over = asyncio.Event()
        """Set when no search runs and none will start: only verifications remain."""
        self._room = asyncio.Event()

    async def take(self) -> Slot:
        """Waits for a free slot and takes it."""
        await self.enter()
        return Slot(self)

    async def enter(self) -> None:
        """Waits for a free slot and counts it as taken."""
        while self.taken >= self.count:
            self._room.clear()
            await self._room.wait()
        self.taken += 1
        self.over.clear()

    def give_back(self) -> None:
        """Frees a slot."""
        self.taken -= 1
        self._room.set()
        self.expect(self._more)

    def expect(self, more: bool) -> None:
        """Sets whether further searches will start."""
        self._more = more
        if self.taken or more:
            self.over.clear()
        else:
            self.over.set()

    def resize(self, count: int) -> None:
        """Changes the number of slots. Running searches beyond it continue."""
        self.count = count
        self._room.set()


class Slot:
    """The slot of one search. The search may leave it for a while and come back; it is freed once at the end."""

    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._held = True

    def leave(self) -> None:
        """Frees the slot for another search."""
        if self._held:
            self._held = False
            self._slots.give_back()

    async def come_back(self) -> None:
        """Waits for a free slot and takes it again."""
        if not self._held:
            await self._slots.enter()
            self._held = True


class Player:
    """Plays the attempts of an evaluation, and has each proof verified. Create it with `open_player`."""

    def __init__(self, plan: Plan, attempts: Attempts, venue: Venue, searches: KeptSearches | None = None) -> None:
        """`searches`: keeps the search of each attempt."""
        self._searches = searches
        self._plan = plan
        self._attempts = attempts
        self._venue = venue
        self._tag = secrets.token_hex(4)
        self._numbers = itertools.count(1)
        self.slots = Slots(venue.searches or 1)
        self._gathering = Gathering(venue.gather_seconds, self.slots.over)

    async def play(self, statement: StatementRecord, number: int, slot: Slot) -> AttemptRecord:
        """Plays one attempt to its end. A failure gives it the standing `undecided`; nothing is raised. The caller
        frees the slot.

        If Lean refuses the proof, the attempt is played once more; this time each proof is verified during the search,
        which continues after a refusal.
        """
        try:
            return (
                await self._played(statement, number, slot, verify=False)
                or await self._played(statement, number, slot, verify=True)
                or _undecided(statement, number, "a prover reported a proof as verified that the lean-proxies refuse")
            )
        except (BusError, MessageError, _WrongHeader) as error:
            return _undecided(statement, number, f"{type(error).__name__}: {error}")

    async def follow(self) -> None:
        """Runs until cancelled: keeps as many searches running as there is capacity for, if the number is not fixed."""
        while not self._venue.searches:
            with contextlib.suppress(BusError):  # the broker is unreachable; the next round tries again
                self.slots.resize((await self._attempts.capacity()).searches)
            await asyncio.sleep(LOOK_EVERY)

    async def _played(
        self, statement: StatementRecord, number: int, slot: Slot, *, verify: bool
    ) -> AttemptRecord | None:
        """Returns None if the proof was refused. Raises BusError, MessageError, _WrongHeader."""
        # 1. The search.
        await slot.come_back()
        attempt = attempt_of(
            self._plan,
            statement,
            number,
            f"eval-{self._tag}-{next(self._numbers)}",
            policy=self._venue.asked,
            verify=verify,
            keep_search=self._searches is not None,
        )
        result = await self._attempts.play(attempt)
        # While the proof is being verified, another search uses the slot, so that workers and network stay busy.
        slot.leave()
        if result.outcome is AttemptOutcome.BAD_STATEMENT and not await self._refuses(statement.theorem):
            return _undecided(statement, number, "a prover says that Lean refuses the statement, and no verifier does")
        if result.outcome is not AttemptOutcome.PROVED or result.proof is None:
            self._keep(attempt, result)
            return record_of(result, statement.name, number)
        try:
            script = proof_script(result.proof)
        except ValueError:
            return None
        # 2. Verification, in one batch with other proofs that were found meanwhile.
        self._gathering.seconds = self._venue.gather_seconds  # it is known when Lean has imported the header
        await self._gathering.wait()
        began = time.perf_counter()
        reply = await self._attempts.verify(statement.theorem, script)
        if not reply.accepted:
            return None
        if reply.header != self._venue.lean.header:
            raise _WrongHeader("a lean-proxy verified the proof with another header than the registered one")
        result = _with_verification(result, time.perf_counter() - began)
        self._keep(attempt, result)
        return record_of(result, statement.name, number, proof={"script": script, "axioms": reply.axioms})

    async def _refuses(self, theorem: Theorem) -> bool:
        """Whether a verifier says that Lean refuses the statement. Without it, a prover's word could take any statement
        out of the count. Raises BusError."""
        reply = await self._attempts.verify(msgspec.structs.replace(theorem, rule=None), ANY_PROOF)
        return reply.reason.startswith(FailureKind.BAD_STATEMENT)

    def _keep(self, attempt: Attempt, result: AttemptResult) -> None:
        if self._searches is not None:
            self._searches.keep(attempt, result, result.outcome)


class _WrongHeader(Exception):
    """A verdict is about another Lean than the one that the results name."""


@asynccontextmanager
async def open_player(venue: Venue, plan: Plan, searches: KeptSearches | None = None) -> AsyncIterator[Player]:
    """The player of a venue for the block. Raises BadPolicy, ProvingFailed, BusError."""
    async with venue.attempts(plan) as attempts:
        player = Player(plan, attempts, venue, searches)
        following = asyncio.create_task(player.follow())
        try:
            yield player
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)


def _with_verification(result: AttemptResult, seconds: float) -> AttemptResult:
    """The result, with the time of its final verification."""
    spent = result.statistics
    statistics = msgspec.structs.replace(
        spent, seconds=spent.seconds + seconds, seconds_verify=spent.seconds_verify + seconds
    )
    return msgspec.structs.replace(result, statistics=statistics)


def _undecided(statement: StatementRecord, number: int, reason: str) -> AttemptRecord:
    return AttemptRecord(name=statement.name, number=number, standing=Standing.UNDECIDED, ended="error", reason=reason)


def attempt_of(plan: Plan, statement: StatementRecord, number: int, attempt_id: str, **more: object) -> Attempt:
    """The attempt of a pass at a statement. The first pass has the same seed as an evaluation during training."""
    return Attempt(
        attempt_id=attempt_id,
        theorem_id=statement.name,
        theorem=statement.theorem,
        purpose=Purpose.EVAL,
        simulations=plan.budgets.simulations,
        seed=seed_of(plan.seed, statement.name, number),
        samples=plan.samples,
        method=plan.method,
        correct=plan.correct,
        then=plan.then,
        first=number * proofs_of_a_pass(plan),
        lean_attempts=plan.budgets.lean_attempts,
        seconds=plan.budgets.seconds,
        **more,  # type: ignore[arg-type]
    )


def proofs_of_a_pass(plan: Plan) -> int:
    """Most whole proofs that a pass samples: half of its simulations if a search follows them."""
    return (plan.budgets.simulations + 1) // 2 if plan.then else plan.budgets.simulations


def seed_of(seed: int, name: str, number: int) -> int:
    """The seed of a pass at a statement."""
    return derive_seed(seed, "eval", name, *([number] if number else []))


def record_of(
    result: AttemptResult, name: str, number: int, *, proof: Mapping[str, object] | None = None
) -> AttemptRecord:
    """The record of a result. `proof`: script and axioms of a verified proof."""
    decided = standing(result.outcome, result.statistics)
    ended = result.statistics.ended
    return AttemptRecord(
        name=name,
        number=number,
        standing=decided,
        ended=ended or ("" if result.outcome is AttemptOutcome.PROVED else result.outcome),
        reason="" if result.outcome is AttemptOutcome.PROVED else result.message,
        statistics=result.statistics,
        sources=result.proof.sources() if result.proof else {},
        **(proof or {}),  # type: ignore[arg-type]
    )


# --- all missing attempts ---------------------------------------------------------------------------------------------


TRIES = 3
"""How often one run of the command plays an attempt that fails because of infrastructure."""

FAILURES = 20
"""After this many undecided attempts in a row the evaluation stops with an error."""


class EvaluationFailed(UserError, RuntimeError):
    """Too many attempts in a row failed because of infrastructure; the text has the last reason."""

    exit_code = Exit.UNAVAILABLE


Due = tuple[StatementRecord, int]
"""A statement, and the number of the pass."""


def due(statements: Sequence[StatementRecord], attempts: Iterable[AttemptRecord], passes: int) -> list[Due]:
    """The missing attempts, pass by pass, in the order of the statements. Undecided attempts are played again, and
    those whose header Lean refused: somebody may have mended the project. A statement that does not elaborate gets no
    further attempts."""
    latest = {(each.name, each.number): each for each in attempts}
    not_elaborated = [each for each in latest.values() if each.standing is Standing.NOT_ELABORATED]
    refused = {each.name for each in not_elaborated if not each.reason.startswith(HEADER_REFUSED)}
    refused |= {each.name for each in statements if each.refused}
    return [
        (statement, number)
        for number in range(passes)
        for statement in statements
        if statement.name not in refused
        and ((record := latest.get((statement.name, number))) is None or not record.decided)
    ]


class Runner:
    """Plays attempts until none is missing, or `stopping` is set."""

    def __init__(
        self,
        player: Player,
        folder: EvaluationFolder,
        stopping: asyncio.Event,
        recorded: Callable[[AttemptRecord], None] = lambda record: None,
    ) -> None:
        self._player = player
        self._folder = folder
        self._stopping = stopping
        self._recorded = recorded
        self._playing: set[asyncio.Task[None]] = set()
        self._refused: set[str] = set()
        self._failures = 0

    async def run(self, missing: Sequence[Due]) -> None:
        """Plays the missing attempts. When `stopping` is set, running attempts are cancelled and not recorded. Raises
        EvaluationFailed, FolderError."""
        stop = asyncio.create_task(self._stopping.wait())
        self._player.slots.expect(more=True)
        try:
            for statement, number in self._playable(missing):
                slot = await self._slot(stop)
                if slot is None:
                    return
                self._playing.add(asyncio.create_task(self._one(statement, number, slot)))
            self._player.slots.expect(more=False)
            while self._playing and not stop.done():
                await self._next_end(stop)
        finally:
            for task in (stop, *self._playing):
                task.cancel()
            await asyncio.gather(stop, *self._playing, return_exceptions=True)

    async def _slot(self, stop: asyncio.Task[bool]) -> Slot | None:
        """Waits for a free slot; returns None if `stop` is set first. Raises the errors of running attempts."""
        taking = asyncio.create_task(self._player.slots.take())
        try:
            while not (taking.done() or stop.done()):
                await self._next_end(stop, taking)
            return None if stop.done() else taking.result()
        finally:
            taking.cancel()

    async def _next_end(self, *others: asyncio.Task[Any]) -> None:
        """Waits until an attempt or one of the other tasks ends. Raises the errors of attempts."""
        await asyncio.wait({*self._playing, *others}, return_when=asyncio.FIRST_COMPLETED)
        ended = {task for task in self._playing if task.done()}
        self._playing -= ended
        for task in ended:
            task.result()

    def _playable(self, missing: Sequence[Due]) -> Iterator[Due]:
        """The missing attempts, without statements that an attempt found not to elaborate."""
        return (each for each in missing if each[0].name not in self._refused)

    async def _one(self, statement: StatementRecord, number: int, slot: Slot) -> None:
        try:
            record = await self._decided(statement, number, slot)
        finally:
            slot.leave()
        if record.standing is Standing.NOT_ELABORATED:
            self._refused.add(statement.name)
        self._folder.add(record)
        self._recorded(record)
        self._failures = self._failures + 1 if record.standing is Standing.UNDECIDED else 0
        if self._failures >= FAILURES:
            raise EvaluationFailed(
                f"{FAILURES} attempts in a row failed because of infrastructure, the last one with: {record.reason}"
            )

    async def _decided(self, statement: StatementRecord, number: int, slot: Slot) -> AttemptRecord:
        """Plays an attempt, again if infrastructure fails, at most TRIES times."""
        tries = 0
        while True:
            tries += 1
            await slot.come_back()
            record = await self._player.play(statement, number, slot)
            if record.standing is not Standing.UNDECIDED or tries == TRIES:
                return msgspec.structs.replace(record, tries=tries, time=round(time.time(), 3))
