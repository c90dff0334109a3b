"""What a learner tells its mesh over a real broker: the hold on the compute, gauges and counts in `/metrics`, points
and proofs for the monitor."""

import msgspec
import pytest

from common.bus import Bus
from common.curves import Tail
from common.lean import Context, Place, Theorem
from common.protocol.attempts import AttemptOutcome, Purpose
from common.protocol.messages import (
    Message,
    ModelFacts,
    NetworkFacts,
    NodeInfo,
    PauseAcknowledged,
    PauseHold,
    PauseRequest,
    Point,
    ProofFound,
)
from common.protocol.subjects import PAUSE, RESUME
from node.learner.learning import compute_hold
from node.learner.learning.compute_hold import KEY, ComputeHolder
from node.learner.run import SOLVE_WINDOW, Run
from tests.message_values import named
from tests.node.learner.builders import planned, shown
from tests.waiting import eventually


async def test_inference_is_held_for_an_epoch_and_released(run: Run, bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compute_hold, "RENEW_EVERY", 0.05)
    seen: list[PauseHold] = []
    heard: list[tuple[str, int]] = []

    async def pause(request: PauseRequest) -> Message:
        heard.append(("pause", request.epoch))
        return PauseAcknowledged(epoch=request.epoch, node_id="i1")

    async def resume(request: PauseRequest) -> Message:
        heard.append(("resume", request.epoch))
        return PauseAcknowledged(epoch=request.epoch, node_id="i1", paused=False)

    await bus.serve(PAUSE, PauseRequest, pause, queue=None, limit=1)
    await bus.serve(RESUME, PauseRequest, resume, queue=None, limit=1)
    info = NodeInfo(
        node_id=named("inference-1"), role="inference", host="h", pid=1, version="0", started=0.0, facts=NetworkFacts()
    )
    await bus.register(info)
    await bus.register(
        msgspec.structs.replace(info, node_id=named("inference-2"), facts=ModelFacts(model="openai:prover"))
    )
    await bus.put_state(KEY, PauseHold(epoch=4, seconds=9e9))
    holds = ComputeHolder(run)
    await holds.restore()
    left = await bus.get_state(KEY, PauseHold)
    assert left is not None and left.seconds == 0, "what a killed learner held is released"
    heard.clear()
    async with holds.held() as ours:
        state = await bus.get_state(KEY, PauseHold)
        assert ours() and state is not None and state.epoch == 5 and state.seconds > 0
        assert heard == [("pause", 5)]
        await bus.watch_state(KEY, PauseHold, lambda state: seen.append(state) if state else None)
        await eventually(lambda: len(seen) >= 3, what="a hold that is renewed while it lasts")
        assert all(state.epoch == 5 and state.seconds > 0 for state in seen)
    state = await bus.get_state(KEY, PauseHold)
    assert state is not None and state.seconds == 0 and not ours()
    assert heard == [("pause", 5), ("resume", 5)] and holds.paused > 0


async def test_the_solve_rate_is_of_recent_decided_attempts_to_prove_train_statements(run: Run) -> None:
    journal = run.journal
    assert journal.solve_rate() == 0.0
    for outcome in (AttemptOutcome.PROVED, AttemptOutcome.FAILED, AttemptOutcome.REJECTED):
        journal.counted(Purpose.TRAIN, outcome, 1)
    for outcome in AttemptOutcome:
        if not outcome.decided:
            journal.counted(Purpose.TRAIN, outcome, 1)
        journal.counted(Purpose.EVAL, outcome, 1)
        journal.counted(Purpose.DISPROVE, outcome, 1)
    assert journal.solve_rate() == pytest.approx(1 / 3)
    for _ in range(SOLVE_WINDOW):
        journal.counted(Purpose.TRAIN, AttemptOutcome.PROVED, 1)
    assert journal.solve_rate() == 1.0


async def test_points_and_proofs_are_told_to_the_monitor(run: Run, bus: Bus) -> None:
    points: list[Point] = []
    proofs: list[ProofFound] = []
    await bus.subscribe("telemetry.learner.*.point", Point, lambda _, point: points.append(point))
    await bus.subscribe("telemetry.learner.*.proof", ProofFound, lambda _, found: proofs.append(found))
    await run.journal.point(12, {"loss": 1.23456789, "value_loss": float("nan")})
    # A proof in a file is shown as its command.
    place = Place(Context.of("variable (p : Prop)\n"), "theorem t (h : p ∧ p) : p := by\n  ", "\n")
    for theorem in (Theorem("t", "", "p", place=place), Theorem("t", "(p : Prop)", "p → p")):
        attempt = msgspec.structs.replace(planned(1).attempt, theorem=theorem)
        await run.journal.proof(attempt, "  intro x\n  simp", 3)
    await eventually(lambda: bool(points) and len(proofs) == 2)
    assert [each.lean for each in proofs] == [
        "theorem t (h : p ∧ p) : p := by\n  intro x\n  simp",
        "theorem t (p : Prop) : p → p := by\n  intro x\n  simp",
    ]
    (point,) = Tail(run.directory.metrics).read().points
    assert (point.step, point.values) == (12, {"loss": 1.234568}) and points[0].step == 12
    assert shown("learner_train_step") == 12
