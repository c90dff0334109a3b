"""Evaluations of weight versions on held-out statements: as a phase of the run, and beside learning.

An evaluation pins a version. Beside learning it takes a share of the search slots, one evaluation at a time: the next
one begins when training is `every` steps further, with the newest version at that time, and one that is unfinished when
learning ends has no result. As a phase (before and after learning) its share is 1, and the run waits for it.

An attempt is undecided if the infrastructure failed, which says nothing about the policy. The statement is then
attempted again. When its retries are used up, it counts as undecided: neither solved nor unsolved.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

from common.curves import Evaluated, Part, evaluation_line, read_evaluations
from common.files import append_line
from common.life.waiting import wait_first
from common.output.command import UserError
from common.protocol.attempts import AttemptOutcome, Purpose
from common.records.database import explained
from common.records.rows import EvaluationRow, TheoremRow, Tried
from common.records.store import Store
from node.learner.attempts.dispatcher import Dispatcher
from node.learner.learning import phases
from node.learner.learning.publisher import Publisher
from node.learner.run import Recorded, Run, Stopping, now

PHASE, BESIDE = "phase", "beside"
"""Who pins weights: both may at the same time."""

LOOK_EVERY = 1.0
"""Seconds between checks for new weights and for the mesh's capacity while no result arrives."""

K = TypeVar("K", int, str)


# ----------------------------------------------------------------------------------------------------------------------
# Counts of an evaluation, from the outcomes of its attempts. Pure.

Attempts = Sequence[AttemptOutcome | None]
"""Outcomes of the attempts on one statement, in order; None: still outstanding."""


@dataclass(frozen=True)
class Tally:
    """The progress of an evaluation, in statements."""

    settled: int = 0
    """Statements without an outstanding or a further attempt."""
    solved: int = 0
    undecided: int = 0
    """Settled statements without a decided attempt."""

    @property
    def solve_rate(self) -> float:
        """Share of the settled statements that were solved; undecided ones are left out."""
        return self.solved / max(1, self.settled - self.undecided)


def needs_attempt(attempts: Attempts, retries: int) -> bool:
    """True if a statement has no attempt yet, or only undecided ones and a retry is left."""
    undecided = all(outcome is not None and not outcome.decided for outcome in attempts)
    return undecided and len(attempts) <= retries


def solved(attempts: Attempts) -> bool | None:
    """True: proved, and the proof verified. False: decided without a proof. None: undecided or not attempted."""
    if AttemptOutcome.PROVED in attempts:
        return True
    return False if any(outcome is not None and outcome.decided for outcome in attempts) else None


def solved_by(outcomes: Mapping[str, Attempts]) -> dict[str, bool | None]:
    """`solved` of every statement."""
    return {theorem_id: solved(attempts) for theorem_id, attempts in outcomes.items()}


def tally(outcomes: Mapping[str, Attempts], retries: int) -> Tally:
    """Count an evaluation's statements. Statements without any attempt are not in `outcomes`."""
    settled = [
        solved(attempts)
        for attempts in outcomes.values()
        if None not in attempts and not needs_attempt(attempts, retries)
    ]
    return Tally(len(settled), settled.count(True), settled.count(None))


# ----------------------------------------------------------------------------------------------------------------------
# The history: `evaluations.jsonl` in the run's directory, and points for the monitor.


class EvaluationHistory:
    """Writes every finished evaluation to the history, once."""

    def __init__(self, run: Run, worked: Callable[[], float]) -> None:
        """`worked` returns the seconds that the run has been running so far, over all its processes."""
        self._run = run
        self._worked = worked
        self._writing = asyncio.Lock()

    async def finish(self, evaluation: int) -> None:
        """Mark an evaluation as finished, and write it. Raises RunDirectoryError."""
        await self._run.store.call(Store.finish_evaluation, evaluation, now(), round(self._worked(), 1))
        await self.write()

    async def write(self) -> None:
        """Append finished evaluations that are missing in the file. One is missing if a learner was killed after it
        finished the evaluation and before it wrote the line.

        Raises RunDirectoryError.
        """
        async with self._writing:  # an evaluation phase and one beside learning may finish at the same time
            await self._write()

    async def _write(self) -> None:
        path = self._run.directory.evaluations
        with explained(path):
            written = {each.label for each in read_evaluations(path)}
        rows = [row for row in await self._run.store.call(Store.evaluations) if row.finished is not None]
        for row in sorted(rows, key=lambda row: row.finished or 0.0):
            if row.label in written:
                continue
            evaluation = await self._evaluated(row)
            # The point comes first, because the line in the file marks the evaluation as written. A repeated point does
            # no harm: it carries the evaluation's time, so the monitor shows it once.
            await self._run.journal.evaluation(evaluation)
            with explained(path):
                append_line(path, evaluation_line(evaluation))

    async def _evaluated(self, row: EvaluationRow) -> Evaluated:
        tried = await self._run.store.call(Store.tried, row.evaluation_id)
        costs = await self._run.store.call(Store.evaluation_costs, row.evaluation_id)
        return evaluated(row, tried, costs, self._run.data.bank_of)


def evaluated(
    row: EvaluationRow, tried: list[Tried], costs: dict[str, float], bank_of: Mapping[str, str] | None = None
) -> Evaluated:
    """The counts and costs of a finished evaluation. `bank_of`: the bank of each statement, where there are several."""
    bank_of = bank_of or {}
    whole = part(tried)
    return Evaluated(
        label=row.label,
        beside=row.beside,
        step=row.step,
        weights=row.weights,
        time=round(row.finished or 0.0, 3),
        worked=row.worked,
        statements=whole.statements,
        solved=whole.solved,
        undecided=whole.undecided,
        simulations=row.simulations,
        simulations_used=int(costs["simulations"]),
        lean_attempts=int(costs["lean_attempts"]),
        tokens=int(costs["tokens"]) or None,
        levels=_parts(tried, lambda each: each.level),
        families=_parts(tried, lambda each: each.family),
        banks=_parts((each for each in tried if each.theorem_id in bank_of), lambda each: bank_of[each.theorem_id]),
    )


def part(tried: Iterable[Tried]) -> Part:
    """Counts the solved and undecided among these statements."""
    outcomes = [solved(each.outcomes) for each in tried]
    undecided = outcomes.count(None)
    share = round(outcomes.count(True) / max(1, len(outcomes) - undecided), 4)
    return Part(statements=len(outcomes), solved=outcomes.count(True), undecided=undecided, share=share)


def _parts(tried: Iterable[Tried], group: Callable[[Tried], K]) -> dict[str, Part]:
    groups = groupby(sorted(tried, key=group), group)
    return {str(name): part(some) for name, some in groups}


# ----------------------------------------------------------------------------------------------------------------------
# Evaluations under way.


class Evaluator:
    """Runs evaluations; continues those that an earlier process began."""

    def __init__(self, run: Run, dispatcher: Dispatcher, publisher: Publisher, history: EvaluationHistory) -> None:
        self._run = run
        self._dispatcher = dispatcher
        self._publisher = publisher
        self._history = history
        self._over = asyncio.Event()
        """Learning has ended."""
        self._heard = asyncio.Event()
        """A result of an evaluation was recorded, or the operator has asked for one."""
        self._asked = False
        self.tally = Tally()
        """Counts of the latest evaluation in a phase of its own."""
        run.on_recorded.append(self._hear)

    # --- as a phase of the run --------------------------------------------------------------------------------------

    async def evaluate(self, label: str) -> bool:
        """Evaluate the latest weights under this label. Returns False if the node stops before the end."""
        store, settings = self._run.store, self._run.settings.evaluation
        row = await store.call(Store.evaluation, label)
        weights = row.weights if row is not None else (await self._publisher.publish()).version
        # If a run continues with other settings, its evaluations still use the numbers of simulations of the first one.
        first = await store.call(Store.evaluation, phases.EVALUATIONS[phases.EVALUATE_BEFORE])
        simulations = (row or first or settings).simulations
        budgets = await store.call(Store.budgets, first.evaluation_id) if first is not None else {}
        await self._publisher.pin([weights], PHASE)
        await store.call(Store.begin_evaluation, label, weights, simulations, now())
        row = await store.call(Store.evaluation, label)
        assert row is not None
        while not self._run.stopping:
            if await self._go_on(row, self._run.data.test, share=1.0, budgets=budgets):
                return True
            await self._run.wait(LOOK_EVERY)
        return False

    # --- beside learning --------------------------------------------------------------------------------------------

    async def resume(self, *, learning: bool) -> None:
        """Pin the weight version of an evaluation beside learning that an earlier process began. Call this before a new
        version is published, because publishing deletes old versions. `learning` says whether learning goes on; if not,
        the evaluation is abandoned without a result."""
        row = await self._latest()
        if row is None:
            return
        if row.open and (reason := await self._hindrance(row, learning)):
            await self._give_up(row, reason)
        if await self._needed(row) and self._publisher.keeps(row.weights):
            await self._publisher.pin([row.weights], BESIDE)

    async def work(self) -> None:
        """Evaluate beside learning until `end` is called or the node stops."""
        if not self._run.settings.evaluation.every:
            return
        try:
            while not (self._over.is_set() or self._run.stopping):
                await self._turn()
                await self._wait()
            await self._let_go()
        except Stopping:
            return  # the next process continues the evaluation

    async def ask(self) -> str:
        """Begin an evaluation of the newest weights soon, whatever `every` says. Returns what to tell the operator.

        Raises UserError if evaluations beside learning are off, or these weights were evaluated."""
        if not self._run.settings.evaluation.every or self._over.is_set():
            raise UserError(
                "no evaluation beside learning: set [learner.evaluation] every, and ask while the run learns"
            )
        last, step = await self._latest(), self._publisher.latest.step
        if last is not None and last.open:
            raise UserError(f"the evaluation {last.label} is not over")
        if last is not None and last.step == step:
            raise UserError(f"the weights of step {step} are evaluated already")
        self._asked = True
        self._heard.set()
        return f"the weights of step {step} are evaluated"

    def end(self) -> None:
        """Learning has ended: begin no further evaluation and abandon an unfinished one."""
        self._over.set()

    async def _turn(self) -> None:
        """Go on with the open evaluation, or begin one that is due."""
        row = await self._latest()
        if row is None or not row.open:
            row = await self._begun(row)
        if row is not None:
            await self._go_on(row, self._run.data.beside, self._run.settings.evaluation.share)

    async def _begun(self, last: EvaluationRow | None) -> EvaluationRow | None:
        """Begin an evaluation of the newest version, if one is due."""
        settings, weights = self._run.settings.evaluation, self._publisher.latest
        due = last is None or weights.step >= last.step + settings.every
        if not due and not (self._asked and last is not None and weights.step > last.step):
            return None
        self._asked = False
        await self._publisher.pin([weights.version], BESIDE)
        label = f"step-{weights.step}"
        begin = (label, weights.version, settings.beside_simulations, now(), True)
        await self._run.store.call(Store.begin_evaluation, *begin)
        self._run.log.info("evaluation beside learning", label=label, statements=len(self._run.data.beside))
        return await self._latest()

    # --- one evaluation ---------------------------------------------------------------------------------------------

    async def _go_on(
        self,
        row: EvaluationRow,
        statements: Sequence[TheoremRow],
        share: float,
        budgets: Mapping[str, int] | None = None,
    ) -> bool:
        """Go on with an evaluation on a share of the search slots. Returns True when it has ended. `budgets`:
        simulations of statements that the run's first evaluation has attempted."""
        retries = self._run.settings.evaluation.retries
        # 1. What is known so far.
        outcomes = await self._run.store.call(Store.evaluated, row.evaluation_id)
        counts = tally(outcomes, retries)
        self._report(row, counts, len(statements))
        unattempted = [each for each in statements if needs_attempt(outcomes.get(each.theorem.name, []), retries)]
        outstanding = sum(None in attempts for attempts in outcomes.values())
        # 2. Statements without an attempt, or with a retry left, are attempted. A share of 1 takes all at once: the
        #    provers take evaluations first, and nothing else is wanted.
        if unattempted:
            if share < 1:
                self._dispatcher.reserved = max(1, int(await self._dispatcher.slots() * share))
                unattempted = unattempted[: max(0, self._dispatcher.reserved - outstanding)]
            await self._dispatcher.evaluate(unattempted, row.evaluation_id, row.weights, row.simulations, budgets)
            return False
        # 3. When the last attempt has its result, the evaluation has, too.
        if outstanding:
            return False
        if row.beside:
            self._dispatcher.reserved = 0
        await self._history.finish(row.evaluation_id)
        await self._publisher.pin([], BESIDE if row.beside else PHASE)
        self._log(row, counts, outcomes)
        return True

    def _report(self, row: EvaluationRow, counts: Tally, statements: int) -> None:
        if row.beside:
            self._run.ctx.report(
                beside_step=row.step,
                beside_done=counts.settled,
                beside_solved=counts.solved,
                beside_total=statements,
            )
            return
        self.tally = counts
        self._run.ctx.report(
            eval_done=counts.settled,
            eval_solved=counts.solved,
            eval_undecided=counts.undecided,
            eval_total=statements,
        )

    def _log(self, row: EvaluationRow, counts: Tally, outcomes: Mapping[str, Attempts]) -> None:
        self._run.log.info(
            "evaluated", label=row.label, solved=counts.solved, undecided=counts.undecided, total=len(outcomes)
        )
        if counts.undecided:
            names = [name for name, outcome in solved_by(outcomes).items() if outcome is None]
            self._run.log.warning(
                "statements left undecided: all their attempts failed because of the infrastructure",
                label=row.label,
                statements=names[:10],
            )

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
        await self._publisher.pin([], BESIDE)

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
