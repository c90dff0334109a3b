"""Dispatches attempts: stores them in the outbox, publishes them to the broker, and republishes those that it lost."""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from collections.abc import Iterable, Mapping

from common.bus import BusError, Queue, names
from common.life.waiting import Overdue
from common.protocol import subjects
from common.protocol.attempts import HELD_SECONDS, LEARNER, TRAINED_PURPOSES, Attempt, Purpose
from common.records.rows import Planned, TheoremRow
from common.records.store import Store
from common.seeds import derive_seed
from common.watch.spans import sampled
from node.lean.text.script import negated
from node.learner.run import DISPATCHED, Run, now

BATCH = 64
"""Attempts published at once."""

LOOK_EVERY = 1.0
"""Seconds between reads of the mesh's capacity."""

MOST_SEARCHES = 1024
"""Upper bound on the search slots that one prover may report: four on each of 256 cores. A larger number is a mistake.
Attempts dispatched for it would be chosen long before they are tried."""

LOST_AFTER = 20.0
"""Seconds for which the broker must hold fewer attempts than are outstanding until they count as lost. A result may be
on its way for a moment."""


def wanted_outstanding(slots: int, ahead: float = 1.5, least: int = 4) -> int:
    """Attempts to keep outstanding for provers with `slots` search slots in all: enough that no slot waits, but few, so
    that they are chosen with the latest outcomes. `least` attempts are ready for the first prover that joins."""
    return max(least, round(slots * ahead))


class Dispatcher:
    """Keeps enough attempts outstanding for the provers. Train attempts are dispatched while `learning` is True."""

    def __init__(self, run: Run, tag: str, next_number: int, outstanding: dict[str, int]) -> None:
        """`tag` is unique to this run directory: it tells our attempts from those of a deleted run of the same name."""
        self._run = run
        self._tag = tag
        self._number = next_number
        self._theorems = {row.theorem.name: row for row in run.data.train}
        self._to_publish = asyncio.Event()
        self._missing_since: dict[str, float] = {}
        self._held = Overdue()
        """Attempts that provers have."""
        self._looked_for_losses = time.monotonic()
        self.outstanding = dict(outstanding)
        self._capacity = 0
        self._looked = -LOOK_EVERY
        self.learning = False
        self.paused = False
        """Whether the operator has paused it: no train attempts are dispatched."""
        self.reserved = 0
        """Search slots reserved for an evaluation beside learning; train attempts do not use them."""
        run.on_recorded.append(lambda event: self._recorded(event.purpose))
        run.on_judging.append(self._to_publish.set)

    @staticmethod
    async def create(run: Run) -> Dispatcher:
        """A dispatcher with the state from the run database. All outstanding attempts are published again with the
        same ids."""
        tag = await run.store.call(Store.noted, "tag")
        if tag is None:
            tag = secrets.token_hex(3)
            await run.store.call(Store.note, "tag", tag)
        again = await run.store.call(Store.publish_again)
        if again:
            run.log.info("outstanding attempts are dispatched again", attempts=again)
        number = await run.store.call(Store.next_number)
        return Dispatcher(run, tag, number, await run.store.call(Store.outstanding))

    @property
    def dispatched(self) -> int:
        """Attempts dispatched since the run began."""
        return self._number - 1

    async def pause(self) -> str:
        """Dispatch no train attempts until `resume`. Returns what to tell the operator."""
        self.paused = True
        self._run.log.warning("collection is paused, as the operator asked")
        return "no attempts to learn are dispatched; those that are outstanding end"

    async def resume(self) -> str:
        self.paused = False
        self._to_publish.set()
        self._run.log.info("collection goes on, as the operator asked")
        return "attempts are dispatched again"

    def _recorded(self, purpose: str) -> None:
        self.outstanding[purpose] = max(0, self.outstanding.get(purpose, 0) - 1)
        self._to_publish.set()

    async def evaluate(
        self,
        rows: Iterable[TheoremRow],
        evaluation: int,
        weights: int,
        simulations: int,
        budgets: Mapping[str, int] | None = None,
    ) -> None:
        """Dispatch attempts on test statements with pinned weights. Seeds derive from the theorem, so every evaluation
        of a theorem has the same seed. `budgets`: simulations of statements that have their own, whatever
        `simulations` and the factors of banks say."""
        planned = []
        for row in rows:
            seed = derive_seed(self._run.settings.seed, "eval", row.theorem.name)
            number = self._next()
            budget = (budgets or {}).get(row.theorem.name) or self._budget(row, simulations)
            attempt = self._attempt(number, row, Purpose.EVAL, budget, seed, weights)
            planned.append(Planned(number, attempt, evaluation))
        await self._dispatch(planned)

    async def work(self) -> None:
        """Top up the outstanding attempts and publish them, until cancelled."""
        while True:
            if self.learning and not self.paused:
                await self._top_up()
            published = await self._publish()
            if not published:
                await self._look_for_losses()
                try:
                    async with asyncio.timeout(LOOK_EVERY):
                        await self._to_publish.wait()
                except TimeoutError:
                    pass
                self._to_publish.clear()

    async def _top_up(self) -> None:
        slots = max(0, await self._slots_lately() - self.reserved)
        # An attempt whose proof is being verified holds no search slot, so it is not counted. The setting `results`
        # bounds their number, so this never dispatches far ahead of the recorded results.
        outstanding = sum(self.outstanding.get(purpose, 0) - self._run.judging[purpose] for purpose in TRAINED_PURPOSES)
        missing = wanted_outstanding(slots, self._run.settings.ahead) - outstanding
        planned = []
        for _ in range(max(0, min(missing, BATCH))):
            number = self._number
            choice = self._run.algorithm.choose(self._run.matchmaker, number)
            if choice is None:
                break
            self._next()
            row = self._theorems[choice.theorem_id]
            seed = derive_seed(self._run.settings.seed, "train", number)
            disproof = choice.disproof and negated(row.theorem) is not None
            purpose = Purpose.DISPROVE if disproof else Purpose.TRAIN
            budget = self._budget(row, choice.simulations)
            attempt = self._attempt(number, row, purpose, budget, seed, None, choice.explore)
            planned.append(Planned(number, attempt))
            self._run.matchmaker.dispatched(choice.theorem_id)
        await self._dispatch(planned)

    async def _slots_lately(self) -> int:
        """Search slots at the last read of the registry. Every recorded result leads to a top-up, and a read costs one
        entry per node. Caching the number keeps the cost of a result independent of the size of the mesh."""
        if time.monotonic() - self._looked >= LOOK_EVERY:
            self._capacity, self._looked = await self.slots(), time.monotonic()
        return self._capacity

    async def slots(self) -> int:
        """Search slots of all provers in the registry, at most `MOST_SEARCHES` for each."""
        try:
            nodes = await self._run.bus.nodes()
        except BusError:
            return 0
        reported = [node.capacity.get("searches", 0) for node in nodes if node.role == "prover"]
        return sum(max(0, min(searches, MOST_SEARCHES)) for searches in reported)

    def _next(self) -> int:
        self._number += 1
        return self._number - 1

    def _budget(self, row: TheoremRow, simulations: int) -> int:
        """The simulations of an attempt, after the factor of the statement's bank."""
        return max(1, round(simulations * self._run.data.budget_factors.get(row.theorem.name, 1.0)))

    def _attempt(
        self,
        number: int,
        row: TheoremRow,
        purpose: Purpose,
        simulations: int,
        seed: int,
        weights: int | None,
        explore: int = 0,
    ) -> Attempt:
        if purpose in TRAINED_PURPOSES and row.split != "train":
            raise ValueError(f"{row.theorem.name} is a {row.split} statement: it must not train")
        asked = self._run.algorithm.attempt(purpose, explore)
        kept = self._run.settings.keep_searches
        drawn = (
            purpose is Purpose.EVAL
            or random.Random(derive_seed(self._run.settings.seed, "keep", number)).random() < kept
        )
        attempt_id, share = f"{self._tag}-{number}", self._run.settings.trace
        return Attempt(
            attempt_id=attempt_id,
            theorem_id=row.theorem.name,
            theorem=(negated(row.theorem) if purpose is Purpose.DISPROVE else None) or row.theorem,
            purpose=purpose,
            simulations=simulations,
            seed=seed,
            weights=weights,
            samples=asked.samples,
            explore=asked.explore,
            method=asked.method,
            sampling=asked.sampling,
            keep_search=kept > 0 and drawn,
            traced=share > 0 and (purpose is Purpose.EVAL or sampled(attempt_id, share)),
        )

    async def _dispatch(self, planned: list[Planned]) -> None:
        if not planned:
            return
        await self._run.store.call(Store.dispatch, planned, now())
        for plan in planned:
            purpose = plan.attempt.purpose
            self.outstanding[purpose] = self.outstanding.get(purpose, 0) + 1
            DISPATCHED.labels(purpose).inc()
        self._to_publish.set()

    async def _publish(self) -> bool:
        """Publish a batch of the outbox. Returns False if the outbox is empty or the broker unreachable."""
        batch = await self._run.store.call(Store.unpublished, BATCH)
        if not batch:
            return False
        answers = await asyncio.gather(*(self._send(*each) for each in batch), return_exceptions=True)
        published = [attempt.attempt_id for (attempt, _), answer in zip(batch, answers, strict=True) if answer is None]
        problems = [answer for answer in answers if answer is not None]
        for problem in problems:
            if not isinstance(problem, BusError):
                raise problem
        if problems:
            self._run.log.warning("attempts not published yet", attempts=len(problems), reason=str(problems[0]))
        await self._run.store.call(Store.published, published, now())
        return bool(published)

    async def _send(self, attempt: Attempt, tries: int) -> None:
        # The broker drops a second message with the same id within its deduplication window. A later copy is harmless:
        # a result counts once per attempt. An attempt that the broker lost needs a new message id to get past that.
        message_id = attempt.attempt_id if tries < 2 else f"{attempt.attempt_id}.{tries}"
        subject = subjects.todo(attempt.purpose, attempt.client)
        await self._run.bus.publish_durable(subject, attempt, message_id=message_id)

    async def _look_for_losses(self) -> None:
        """Publish the attempts of a purpose again if the broker holds fewer than are outstanding: its streams were
        deleted or purged, or it was killed. Those that a prover still plays are played twice, and count once."""
        # 1. A look now and then, and not while the broker refuses attempts: those are not lost.
        time_now = time.monotonic()
        if time_now - self._looked_for_losses < LOST_AFTER / 4:
            return
        if len(await self._run.store.call(Store.unpublished, 1)):
            return
        self._looked_for_losses = time_now
        # 2. What the broker holds: attempts that wait or are being played, and results that nobody has read.
        try:
            queues = await self._run.bus.queues()
        except BusError:
            return
        results = names.RESULTS_PREFIX + LEARNER
        unread = queues[results].waiting + queues[results].leased
        await self._look_for_held(queues)
        # 3. Fewer than are outstanding, and no results that explain it, for some time: they are lost.
        for purpose, outstanding in self.outstanding.items():
            queue = queues[names.TODO_PREFIX + purpose]
            missing = outstanding - queue.waiting - queue.leased
            if missing <= 0:
                self._missing_since.pop(purpose, None)
            elif missing > unread and time_now - self._missing_since.setdefault(purpose, time_now) >= LOST_AFTER:
                del self._missing_since[purpose]
                again = await self._run.store.call(Store.publish_again, purpose)
                self._run.log.warning(
                    "the broker lost attempts; all outstanding ones are dispatched again",
                    purpose=purpose,
                    lost=missing,
                    attempts=again,
                )
                self._to_publish.set()

    async def _look_for_held(self, queues: Mapping[str, Queue]) -> None:
        """Dispatch attempts again that provers have had for too long."""
        # 1. Which ones are out. The queue is in order, so the newest ones are those that wait. Other clients' attempts
        #    in the same queue count as ours here: then fewer seem to be out, and none too early.
        out: set[str] = set()
        for purpose, outstanding in self.outstanding.items():
            if outstanding > (inside := queues[names.TODO_PREFIX + purpose].waiting):
                out.update(await self._run.store.call(Store.published_first, purpose, inside))
        # 2. The first result counts, whoever sends it.
        if held := self._held.look(out, HELD_SECONDS):
            await self._run.store.call(Store.publish_again, None, held)
            self._run.log.warning(
                "provers have had attempts for too long without a result; they are dispatched again",
                attempts=len(held),
                seconds=HELD_SECONDS,
                first=held[0],
            )
            self._to_publish.set()
