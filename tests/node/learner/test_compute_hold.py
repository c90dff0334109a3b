"""The hold on the compute, over a real broker, with a node that acknowledges as inference does."""

from __future__ import annotations

import msgspec
import pytest

from common.bus import Bus
from common.protocol.messages import (
    Message,
    ModelFacts,
    NetworkFacts,
    NodeInfo,
    PauseAcknowledged,
    PauseHold,
    PauseRequest,
)
from common.protocol.subjects import PAUSE, RESUME
from node.learner.learning import compute_hold
from node.learner.learning.compute_hold import KEY, ComputeHolder
from node.learner.run import Run
from tests.message_values import named
from tests.waiting import eventually, until


async def test_inference_is_held_for_an_epoch_and_released(run: Run, bus: Bus) -> None:
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
    await bus.put_state(KEY, PauseHold(epoch=4, seconds=0.0))
    holds = ComputeHolder(run)
    await holds.restore()
    async with holds.held() as ours:
        state = await bus.get_state(KEY, PauseHold)
        assert ours() and state is not None and state.epoch == 5 and state.seconds > 0
        assert heard == [("pause", 5)]
    state = await bus.get_state(KEY, PauseHold)
    assert state is not None and state.seconds == 0 and not ours()
    assert heard == [("pause", 5), ("resume", 5)] and holds.paused > 0


async def test_a_hold_is_renewed_while_it_lasts(run: Run, bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compute_hold, "RENEW_EVERY", 0.05)
    seen: list[PauseHold] = []
    await bus.watch_state(KEY, PauseHold, lambda state: seen.append(state) if state else None)
    async with ComputeHolder(run).held():
        await eventually(lambda: sum(state.seconds > 0 for state in seen) >= 3)


async def test_what_a_killed_learner_held_is_released_by_the_next(run: Run, bus: Bus) -> None:
    await bus.put_state(KEY, PauseHold(epoch=7, seconds=9e9))
    await ComputeHolder(run).restore()

    async def released() -> bool:
        state = await bus.get_state(KEY, PauseHold)
        return state is not None and state.seconds == 0

    await until(released)
