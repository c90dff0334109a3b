"""The learner's agent: runs the phases of a run one after another. Pure asyncio; only the trainer's ranks use torch."""

from __future__ import annotations

import asyncio
import dataclasses
import time

import msgspec

from common.files import write_whole
from common.life.logging import keep_small
from common.protocol.attempts import TRAINED_PURPOSES
from common.protocol.messages import Diagnosis, Heartbeat
from common.records.database import explained
from common.records.store import Store
from common.watch.spans import keep_telemetry
from node.learner import summary
from node.learner.attempts.collector import Collector
from node.learner.attempts.dispatcher import Dispatcher
from node.learner.attempts.evaluation import EvaluationHistory, Evaluator, solved_by
from node.learner.errors import DataError
from node.learner.learning import phases
from node.learner.learning.compute_hold import ComputeHolder
from node.learner.learning.loop import Learning
from node.learner.learning.phases import Progress
from node.learner.learning.publisher import Publisher
from node.learner.learning.warm_start import WarmStart, warm_start
from node.learner.run import Recorded, Run, Stopping
from node.learner.trainer.group import ResilientTrainer

REPORT_EVERY = 1.0
KEEP_EVERY = 5.0
"""Seconds between saves of the progress: a killed run loses at most this much of its clock."""

CONTROL_TURN = 25
"""Steps of the control between two points of its curves."""


class Learner:
    """One learner: runs the phases, and the tasks beside them."""

    def __init__(self, run: Run, trainer: ResilientTrainer) -> None:
        self._run = run
        self._trainer = trainer
        self._plan = run.settings.plan
        self._progress = Progress()
        self._clock = time.monotonic()
        self._heard = summary.Heard()
        self._warm: WarmStart | None = None
        self._holder = ComputeHolder(run)
        self._publisher = Publisher(run, trainer)
        self._collector = Collector(run)
        self._learning = Learning(run, self._plan, trainer, self._publisher, self._holder)
        self._expansions = 0
        """Of all recorded attempts to learn from."""
        run.on_recorded.append(self._expanded)

    async def work(self) -> None:
        """Run all remaining phases, until the run ends or the node stops. Raises LearnerError."""
        store = self._run.store
        self._progress = msgspec.convert(await store.call(Store.noted, "progress", {}), Progress)
        self._heard = summary.Heard(await store.call(Store.noted, "heard", {}))
        self._expansions = await store.call(Store.learning_expansions)
        self._dispatcher = await Dispatcher.create(self._run)
        self._history = EvaluationHistory(self._run, self._worked)
        self._evaluator = Evaluator(self._run, self._dispatcher, self._publisher, self._history)
        self._run.ctx.actions |= {
            Diagnosis.PAUSE: self._dispatcher.pause,
            Diagnosis.RESUME: self._dispatcher.resume,
            Diagnosis.EVALUATE: self._evaluator.ask,
        }
        await self._run.bus.subscribe("telemetry.*.*.heartbeat", Heartbeat, self._hear)
        await keep_telemetry(self._run.bus, self._run.directory.path)
        collecting = self._run.ctx.spawn(self._collector.work(), "collector")
        self._run.ctx.spawn(self._dispatcher.work(), "dispatcher")
        self._run.ctx.spawn(self._report(), "report")
        self._run.ctx.spawn(self._publisher.keep(), "weights on the broker")
        try:
            await self._phases()
        except Stopping:
            pass
        finally:
            self._dispatcher.learning = False
            await self._keep()
            if self._trainer.group.running and self._progress.phase != phases.WARM_START:
                await self._trainer.save()
        if self._run.stopping:
            await asyncio.wait({collecting})
            await self._heard.settled()  # the lean-proxies count the last verifications
            await self._keep()

    def _expanded(self, event: Recorded) -> None:
        if event.purpose in TRAINED_PURPOSES:
            self._expansions += event.expansions

    def _hear(self, _: str, heartbeat: Heartbeat) -> None:
        self._heard.hear(heartbeat)

    # --- phases -----------------------------------------------------------------------------------------------------

    async def _phases(self) -> None:
        await self._resume()
        while self._progress.phase != phases.DONE and not self._run.stopping:
            self._show(self._progress.phase)
            if not await self._phase():
                return
            self._tick()
            self._progress = phases.advance(self._progress, self._plan)
            await self._keep()
        if self._progress.phase == phases.DONE:
            self._show(phases.DONE)
            await self._finish()

    async def _resume(self) -> None:
        """Prepare for the current phase; every start needs this."""
        await self._holder.restore()
        if self._progress.phase != phases.WARM_START:
            await self._started()

    async def _started(self) -> None:
        """The network exists: start the trainer with it, and publish it."""
        noted = await self._run.store.call(Store.noted, "warm-start")
        self._warm = msgspec.convert(noted, WarmStart) if noted else None
        self._learning.warm_steps = self._warm.steps if self._warm else 0
        await self._trainer.start()
        await self._publisher.restore()
        await self._evaluator.resume(learning=self._progress.phase == phases.RL)
        await self._history.write()
        if not self._acts():
            await self._publisher.publish()
        await self._run.fill_replay()
        await self._learning.restore(self._progress)

    def _acts(self) -> bool:
        """True if the published weights stay in use after a restart. With a gate, the trainer's checkpoint may be
        older, or hold weights that failed the gate."""
        gated = self._run.settings.gate.transitions > 0 and self._progress.phase == phases.RL
        return gated and self._publisher.latest_step is not None

    async def _phase(self) -> bool:
        """Run the current phase to its end. Returns False if the node stops first."""
        phase = self._progress.phase
        if phase == phases.WARM_START:
            await self._warm_start()
        elif phase in phases.EVALUATIONS:
            return await self._evaluator.evaluate(phases.EVALUATIONS[phase])
        elif phase == phases.RL:
            await self._learn()
        elif phase == phases.CONTROL:
            await self._control()
        return not self._run.stopping

    async def _warm_start(self) -> None:
        run = self._run
        result = await warm_start(run.settings, run.data, self._trainer, run.journal.point, run.log)
        await run.store.call(Store.note, "warm-start", msgspec.to_builtins(result))
        await self._started()

    async def _learn(self) -> None:
        self._dispatcher.learning = True
        self._learning.begin()
        self._run.ctx.spawn(self._evaluator.work(), "evaluations beside learning")
        try:
            while not phases.finished(self._progress, self._plan) and not self._run.stopping:
                await self._learning.turn(self._progress)
                self._tick()
        finally:
            self._dispatcher.learning = False
        if not self._run.stopping:
            self._evaluator.end()
        await self._learning.last_turn(self._progress)

    async def _control(self) -> None:
        saved = self._learning.steps
        while not phases.finished(self._progress, self._plan) and not self._run.stopping:
            left = (self._plan.control_steps or 0) - self._learning.steps
            await self._learning.control_turn(self._progress, min(left, CONTROL_TURN))
            self._tick()
            if self._learning.steps - saved >= self._run.settings.schedule.checkpoint_every:
                saved = self._learning.steps
                await self._learning.save()
        await self._learning.save()

    # --- clocks and notes -------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        """Add the time since the last tick to the progress."""
        current = time.monotonic()
        self._progress = phases.tick(self._progress, current - self._clock)
        if self._progress.phase == phases.CONTROL:  # by the trainer: steps that a crash has undone are due again
            self._progress = dataclasses.replace(self._progress, steps=self._learning.steps)
        if self._progress.phase == phases.RL:
            self._progress = dataclasses.replace(
                self._progress,
                transitions=self._run.replay.last_id,
                training_steps=self._learning.steps,
                expansions=self._expansions,
                undecided=self._run.matchmaker.undecided() if self._plan.until_decided else None,
            )
        self._clock = current

    def _worked(self) -> float:
        self._tick()
        return self._progress.worked

    async def _keep(self) -> None:
        """Save the progress, so that a killed run continues from here."""
        await self._run.store.call(Store.note, "progress", dataclasses.asdict(self._progress))
        await self._run.store.call(Store.note, "heard", self._heard.totals)

    def _show(self, phase: str) -> None:
        self._run.ctx.state = phase
        self._run.log.info("phase", phase=phase)

    async def _report(self) -> None:
        saved_at = time.monotonic()
        while True:
            await asyncio.sleep(REPORT_EVERY)
            left = phases.learning_left(self._progress, self._plan) if self._progress.phase == phases.RL else None
            counts = await self._run.store.call(Store.counts)
            self._run.ctx.report(
                attempts_dispatched=self._dispatcher.dispatched,
                attempts_outstanding=sum(self._dispatcher.outstanding.values()),
                results=counts["results"],
                proofs_verified=counts["proofs"],
                proofs_rejected=rejected(counts),
                transitions=counts["transitions"],
                train_steps=self._learning.steps,
                pause_fraction=round(self._learning.time.paused_share, 4),
                budget_left_s=round(max(0.0, left), 1) if left is not None else -1,
                solve_rate=round(self._run.journal.solve_rate(), 4),
            )
            if time.monotonic() - saved_at > KEEP_EVERY:
                saved_at = time.monotonic()
                lately = await self._run.store.call(Store.lately)
                self._run.ctx.report(**lately.values())
                self._tick()
                await self._keep()
                for log in self._run.directory.logs.glob("trainer-*.log"):
                    await asyncio.to_thread(keep_small, log)

    # --- the end ----------------------------------------------------------------------------------------------------

    async def _finish(self) -> None:
        """Write the summary."""
        if not self._plan.evaluate:
            return
        await self._heard.settled()
        content = await self._summary()
        path = self._run.directory.summary
        with explained(path):
            write_whole(path, msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")
        self._run.log.info("summary written", path=str(path))

    async def _summary(self) -> dict[str, object]:
        # 1. The evaluations before and after, compared statement by statement.
        store, settings = self._run.store, self._run.settings
        outcomes, simulations = {}, settings.evaluation.simulations
        for label in phases.EVALUATIONS.values():
            row = await store.call(Store.evaluation, label)
            if row is not None and row.finished is not None:
                simulations = row.simulations  # may differ from the settings, if a run continued with other ones
                outcomes[label] = solved_by(await store.call(Store.evaluated, row.evaluation_id))
        outcomes, left_out = summary.in_both(outcomes)
        if left_out:
            self._run.log.warning("evaluations of other statements: settings have changed", left_out=left_out)
        before, after = outcomes["before"], outcomes["after"]
        if not before:
            raise DataError(
                "the evaluations before and after learning have no statement in common, because the settings have "
                "changed since the run began: begin a run under another name"
            )
        comparison = summary.compare(before, after, settings.seed)
        # 2. What was recorded, and what the nodes counted.
        counts = await store.call(Store.counts)
        audit = await store.call(Store.audit)
        mesh = self._heard.sums()
        learned = self._progress.learned
        rl_expansions = counts["expansions"] - await store.call(Store.evaluation_expansions)
        # 3. All of it, in the order in which people read it.
        content: dict[str, object] = {
            "run": self._run.ctx.settings.run,
            "kind": "control" if self._plan.control_steps is not None else "rl",
            "lean_version": await store.call(Store.lean_version),
            **summary.comparison_fields(comparison),
            "banks": summary.by_bank(before, after, self._run.data.bank_of, settings.seed),
            "simulations": simulations,
            "budget_factors": settings.budget_factors,
            "roots_solved": mesh.get("prover.roots_solved", 0),
            "proofs_verified": mesh.get("lean-proxy.proofs_accepted", 0),
            "proofs_rejected": mesh.get("lean-proxy.proofs_rejected", 0),
            "recorded_proofs": counts["proofs"],
            "recorded_rejected": rejected(counts),
            "attempts": counts["results"],
            "attempts_dispatched": audit.dispatched,
            "attempts_outstanding": audit.outstanding,
            "records_sound": audit.sound,
            "transitions": counts["transitions"],
            "train_steps": self._learning.steps,
            "expansions": mesh.get("prover.expansions", 0),
            "expansions_per_s": round(rl_expansions / learned, 2) if learned else 0.0,
            "pause_fraction": round(self._learning.time.paused_share, 4),
            "wall_s": round(self._progress.worked, 1),
            "learning_s": round(learned, 1),
            "evaluation_s": round(self._progress.evaluation, 1),
            "warm_start": {
                "steps": self._learning.warm_steps,
                "seconds": self._warm.seconds if self._warm else 0.0,
                "cached": self._warm.cached if self._warm else False,
                "valid_loss": self._warm.losses[-1][1] if self._warm and self._warm.losses else None,
            },
            "seed": settings.seed,
            "costs": await store.call(Store.costs),
            "solved_by": summary.by_group(self._run.data.test, before, after),
            "outcomes": {key: value for key, value in sorted(counts.items()) if ":" in key},
        }
        if "before-again" in outcomes:
            repeated, _ = summary.in_both({"before": before, "after": outcomes["before-again"]})
            again = summary.compare(repeated["before"], repeated["after"], settings.seed)
            content["before_again"] = {"solved": again.after, "both_solved": again.both}
        return content


def rejected(counts: dict[str, int]) -> int:
    """Recorded results whose proof Lean refused."""
    return sum(number for key, number in counts.items() if key.endswith(":rejected"))
