"""Evaluates weight versions while learning goes on: a few attempts at a time, on a share of the search slots.

One evaluation runs at a time, with a pinned weight version, on held-out statements. The next one begins when training
is `every` steps further, with the newest version at that time. An evaluation that is unfinished when learning ends has
no result.
"""

from __future__ import annotations

import asyncio

from common.life.waiting import wait_first
from common.protocol.attempts import Purpose
from common.records.rows import EvaluationRow
from common.records.store import Store
from node.learner.attempts.dispatcher import Dispatcher
from node.learner.attempts.evaluation_history import EvaluationHistory
from node.learner.attempts.tally import Tally, needs_attempt, tally
from node.learner.learning.publisher import Publisher
from node.learner.run.run import Recorded, Run, Stopping, now

HOLDER = "beside"
"""Holder name of these pins: evaluation phases pin weights under a different name."""

LOOK_EVERY = 1.0
"""Seconds between checks for new weights and for the mesh's capacity while no result arrives."""


class EvaluationBeside:
    """Runs the evaluations beside learning; continues one that an earlier process began."""

    def __init__(self, run: Run, dispatcher: Dispatcher, publisher: Publisher, history: EvaluationHistory) -> None:
        self._run = run
        self._dispatcher = dispatcher
        self._publisher = publisher
        self._history = history
        self._over = asyncio.Event()
        self._heard = asyncio.Event()
        run.on_recorded.append(self._hear)

    async def resume(self, *, learning: bool) -> None:
        """Pin the weight version of an evaluation that an earlier process began. Call this before a new version is
        published, because publishing deletes old versions. `learning` says whether learning goes on; if not, the
        evaluation is abandoned without a result."""
        row = await self._latest()
        if row is None:
            return
        if row.open and (reason := await self._hindrance(row, learning)):
            await self._give_up(row, reason)
        if await self._needed(row) and self._publisher.keeps(row.weights):
            await self._publisher.pin([row.weights], HOLDER)

    async def work(self) -> None:
        """Evaluate until `end` is called or the node stops."""
        if not self._run.settings.evaluation.every:
            return
        try:
            while not (self._over.is_set() or self._run.stopping):
                await self._turn()
                await self._wait()
            await self._let_go()
        except Stopping:
            return  # the next process continues the evaluation

    def end(self) -> None:
        """Learning has ended: begin no further evaluation and abandon an unfinished one."""
        self._over.set()

    # --- one evaluation after another -------------------------------------------------------------------------------

    async def _turn(self) -> None:
        row = await self._latest()
        if row is None or not row.open:
            row = await self._begun(row)
        if row is None:
            return
        settings, rows = self._run.settings.evaluation, self._run.data.beside
        outcomes = await self._run.store.call(Store.evaluated, row.evaluation_id)
        counts = tally(outcomes, settings.retries)
        self._report(row, counts)
        unattempted = [each for each in rows if needs_attempt(outcomes.get(each.theorem.name, []), settings.retries)]
        outstanding = sum(None in attempts for attempts in outcomes.values())
        if unattempted:
            self._dispatcher.reserved = await self._slots()
            chosen = unattempted[: max(0, self._dispatcher.reserved - outstanding)]
            await self._dispatcher.evaluate(chosen, row.evaluation_id, row.weights, row.simulations)
        elif not outstanding:
            await self._finish(row, counts)

    async def _begun(self, last: EvaluationRow | None) -> EvaluationRow | None:
        """Begin an evaluation of the newest version, if one is due."""
        settings, weights = self._run.settings.evaluation, self._publisher.latest
        if last is not None and weights.step < last.step + settings.every:
            return None
        await self._publisher.pin([weights.version], HOLDER)
        label = f"step-{weights.step}"
        begin = (label, weights.version, settings.beside_simulations, now(), True)
        await self._run.store.call(Store.begin_evaluation, *begin)
        self._run.log.info("evaluation beside learning", label=label, statements=len(self._run.data.beside))
        return await self._latest()

    async def _finish(self, row: EvaluationRow, counts: Tally) -> None:
        self._dispatcher.reserved = 0
        await self._history.finish(row.evaluation_id)
        await self._publisher.pin([], HOLDER)
        self._run.log.info(
            "evaluated", label=row.label, solved=counts.solved, undecided=counts.undecided, total=counts.settled
        )

    async def _slots(self) -> int:
        """Search slots that an evaluation may take."""
        return max(1, int(await self._dispatcher.slots() * self._run.settings.evaluation.share))

    # --- the end ----------------------------------------------------------------------------------------------------

    async def _let_go(self) -> None:
        """If learning has ended, abandon an unfinished evaluation. Its weights stay pinned until its outstanding
        attempts have results: without the weights, the attempts would occupy search slots in vain."""
        row = await self._latest()
        if row is None or not self._over.is_set():
            return
        if row.open:
            await self._give_up(row, "learning has ended")
        self._dispatcher.reserved = 0
        while await self._needed(row):
            if self._run.stopping:
                return
            await self._wait()
        await self._publisher.pin([], HOLDER)

    async def _hindrance(self, row: EvaluationRow, learning: bool) -> str:
        """Why an evaluation that was begun cannot go on; empty if it can."""
        if not learning:
            return "learning has ended"
        if not self._run.settings.evaluation.every:
            return "evaluations beside learning were switched off"
        if not self._publisher.keeps(row.weights):
            return f"weight version {row.weights} is missing in {self._run.directory.weights}"
        tried = (await self._run.store.call(Store.evaluated, row.evaluation_id)).keys()
        if not tried <= {each.theorem.name for each in self._run.data.beside}:
            return "the settings now choose other statements"
        return ""

    async def _give_up(self, row: EvaluationRow, reason: str) -> None:
        await self._run.store.call(Store.give_up_evaluation, row.evaluation_id, now(), reason)
        self._run.log.warning("evaluation beside learning is unfinished and has no result", label=row.label, why=reason)

    async def _needed(self, row: EvaluationRow) -> bool:
        """True while the evaluation is unfinished or has outstanding attempts, so that its weights are needed."""
        outcomes = await self._run.store.call(Store.evaluated, row.evaluation_id)
        open_now = (await self._run.store.call(Store.evaluation, row.label)) or row
        return open_now.open or any(None in attempts for attempts in outcomes.values())

    # --- events and reports -----------------------------------------------------------------------------------------

    async def _latest(self) -> EvaluationRow | None:
        """The evaluation beside learning that began last."""
        rows = await self._run.store.call(Store.evaluations)
        return next((row for row in reversed(rows) if row.beside), None)

    def _hear(self, event: Recorded) -> None:
        if event.purpose == Purpose.EVAL:
            self._heard.set()

    async def _wait(self) -> None:
        """Wait until an evaluation's result is recorded, learning or the node ends, or `LOOK_EVERY` has passed."""
        waited = [self._heard, self._run.ctx.stopping]
        if not self._over.is_set():
            waited.append(self._over)
        await wait_first(*waited, timeout=LOOK_EVERY)
        self._heard.clear()

    def _report(self, row: EvaluationRow, counts: Tally) -> None:
        self._run.ctx.report(
            beside_step=row.step,
            beside_done=counts.settled,
            beside_solved=counts.solved,
            beside_total=len(self._run.data.beside),
        )
