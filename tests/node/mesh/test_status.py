"""The display of `up`."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from common.bus import Bus
from common.output.words import duration
from common.protocol.messages import Heartbeat
from common.protocol.subjects import telemetry
from common.settings import BusSettings
from node.command.up import Status, row
from node.mesh.restarts import RestartRules
from node.mesh.supervisor import Child, ChildSpec, ChildState
from tests.waiting import eventually


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (59.9, "59s"), (61, "1m01s"), (3599, "59m59s"), (7620, "2h07m")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def child(tmp_path: Path) -> Child:
    return Child(ChildSpec("prover", [sys.executable], tmp_path / "log"), RestartRules())


def test_a_child_that_waits_to_be_restarted_says_why(tmp_path: Path) -> None:
    dead = child(tmp_path)
    dead.state, dead.note, dead.restarts = ChildState.RESTARTING, "was killed by signal 9", 2
    assert row(dead, None) == ("prover", "restarting", "-", "0s", "2, last: was killed by signal 9", "")


def test_a_running_child_shows_what_it_reports(tmp_path: Path) -> None:
    running = child(tmp_path)
    running.state = ChildState.RUNNING
    values = {"attempts": 120.0, "searches": 8.0, "simulations": 5.0}
    heartbeat = Heartbeat(node_id="prover-host-1-ab", role="prover", time=0, state="draining", values=values)
    shown = row(running, heartbeat)
    assert shown[1] == "draining"
    assert shown[5] == "8 searches, 120 attempts"


async def test_heartbeats_of_the_mesh_are_heard_by_process(broker: BusSettings, bus: Bus) -> None:
    status = Status("title", live=False)
    following = asyncio.create_task(status.follow(broker, bus.run))
    node_id = f"prover-some-host-{os.getpid()}-ab12"
    heartbeat = Heartbeat(node_id=node_id, role="prover", time=0, state="running", values={"attempts": 3})

    async def beat() -> None:
        while True:
            await bus.publish(telemetry("prover", node_id, "heartbeat"), heartbeat)
            await asyncio.sleep(0.05)

    beating = asyncio.create_task(beat())
    await eventually(lambda: os.getpid() in status.heartbeats)
    assert status.heartbeats[os.getpid()].values == {"attempts": 3}
    for task in (beating, following):
        task.cancel()
    await asyncio.gather(beating, following, return_exceptions=True)
