"""The monitor as a node, on a real broker, and its reading of a run's own file."""

import asyncio
import json
import re
import sys
from pathlib import Path

import pytest
from aiohttp import ClientSession

from common.bus import Bus, BusSettings
from common.life.node import NodeContext, NodeFailure, NodeSettings
from common.protocol.messages import Heartbeat, LogRecord, NodeInfo, Point, ProofFound
from common.protocol.subjects import telemetry
from node.command import cli
from tests.commands import Called
from tests.message_values import named
from tests.ui.test_run_files import make_run
from tests.waiting import eventually, until
from ui.mesh_state import MeshState
from ui.server import Monitor
from ui.service import listen, read_history, serving
from ui.settings import UiSettings


def test_history_is_read_and_a_torn_last_line_is_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    lines = [json.dumps({"time": float(i), "step": i, "values": {"loss": 1.0 / (i + 1)}}) for i in range(3)]
    file.write_text("\n".join(lines) + '\n{"time": 3.0, "st')
    assert [point.step for point in read_history(str(file))] == [0, 1, 2]


LEARNER = named("learner")
POINTS = telemetry("learner", LEARNER, "point")


def test_no_history_is_no_error(tmp_path: Path) -> None:
    assert read_history("") == []
    assert read_history(str(tmp_path / "absent.jsonl")) == []


async def test_telemetry_reaches_the_page_and_a_kill_of_the_monitor_loses_nothing(
    bus: Bus, broker: BusSettings
) -> None:
    command = [sys.executable, "-m", "node.command.cli", "ui", "--port", "0"]
    command += ["--run", bus.run, "--bus.url", broker.url]
    for _ in range(2):  # the second one is started after a kill -9 of the first
        process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
        try:
            url = await asyncio.wait_for(_address(process), 30)
            await bus.register(
                NodeInfo(node_id=named("prover"), role="prover", host="h", pid=1, version="0", started=0)
            )
            async with ClientSession() as session:

                async def shown(session: ClientSession = session, url: str = url) -> bool:
                    beat = Heartbeat(
                        node_id=named("prover"), role="prover", time=1, state="running", values={"expansions": 7}
                    )
                    await bus.publish(telemetry("prover", named("prover"), "heartbeat"), beat)
                    state = await (await session.get(f"{url}api/state")).json()
                    return bool(state["totals"].get("prover.expansions") == 7)

                await until(shown, what="the heartbeat on the page")
        finally:
            process.kill()
            await process.wait()


async def test_the_page_is_there_before_the_broker_and_says_so() -> None:
    state = MeshState()
    monitor = Monitor(state, "demo")
    ctx = NodeContext("ui", NodeSettings())
    async with serving(ctx, UiSettings(port=0), monitor) as url, ClientSession() as session:
        assert (await session.get(url)).status == 200


async def test_a_port_in_use_is_named() -> None:
    monitor = Monitor(MeshState(), "demo")
    ctx = NodeContext("ui", NodeSettings())
    async with serving(ctx, UiSettings(port=0), monitor) as url:
        port = int(url.rstrip("/").rpartition(":")[2])
        with pytest.raises(NodeFailure, match=str(port)):
            async with serving(ctx, UiSettings(port=port), monitor):
                pass


async def _address(process: asyncio.subprocess.Process) -> str:
    """The monitor's address, from its log."""
    assert process.stderr is not None
    seen = []
    async for line in process.stderr:
        seen.append(line.decode())
        if match := re.search(r"url=(http://[^\s\x1b]+/)", re.sub(r"\x1b\[[0-9;]*m", "", line.decode())):
            return match.group(1)
    pytest.fail("the monitor ended: " + "".join(seen))


async def test_a_monitor_that_starts_late_shows_the_run_from_its_beginning(bus: Bus) -> None:
    for i in range(3):
        point = Point(time=float(i), step=i, values={"loss": 1.0})
        await bus.publish(POINTS, point)
    proof = ProofFound(theorem_id="t", attempt_id="1", purpose="train", time=9.0, lean="theorem t : True := trivial")
    await bus.publish(telemetry("learner", LEARNER, "proof"), proof)
    await bus.publish(
        telemetry("learner", LEARNER, "log"),
        LogRecord(node_id=LEARNER, role="learner", time=0, level="info", event="e"),
    )

    async def stored() -> bool:
        return len(await bus.history((Point, ProofFound))) == 4

    await until(stored, what="the history on the broker")
    monitor = Monitor(MeshState(), bus.run)
    ctx = NodeContext("ui", NodeSettings())
    ctx.bus = bus
    await listen(ctx, monitor)
    await bus.publish(POINTS, Point(time=2.0, step=2, values={}))  # again: shown once
    await bus.publish(POINTS, Point(time=3.0, step=3, values={}))
    await eventually(lambda: len(monitor.state.points) >= 4)
    assert [point.step for point in monitor.state.points] == [0, 1, 2, 3]
    assert [proof.attempt_id for proof in monitor.state.proofs] == ["1"]


async def test_an_evaluation_reaches_the_page_once_and_also_one_that_opens_late(bus: Bus) -> None:
    values = {"eval_solve_rate": 0.5, "eval_statements": 2.0, "eval_solved": 1.0, "eval_simulations": 16.0}
    point = Point(time=3.25, step=7, values=values)
    await bus.publish(POINTS, point)

    async def stored() -> bool:
        return len(await bus.history((Point,))) == 1

    await until(stored, what="the history on the broker")
    monitor = Monitor(MeshState(), bus.run)
    told: list[tuple[str, object]] = []
    monitor.publish = lambda kind, data: told.append((kind, data))  # type: ignore[method-assign]
    ctx = NodeContext("ui", NodeSettings())
    ctx.bus = bus
    await listen(ctx, monitor)
    for each in (point, Point(time=4.0, step=9, values=values)):
        await bus.publish(POINTS, each)
    await eventually(lambda: len(monitor.state.points) == 2)
    assert [kind for kind, _ in told].count("evaluation") == 2
    assert [each["step"] for each in monitor.history()["evaluations"]] == [7, 9]


@pytest.mark.process
async def test_a_run_is_shown_from_its_files_without_a_broker(called: Called, tmp_path: Path) -> None:
    make_run(tmp_path / "ended").close()
    (tmp_path / "ended" / "summary.json").write_text(json.dumps({"solved_before": 1, "solved_after": 3}))
    flags = ["ui", "--port", "0", "--directory", str(tmp_path), "--no-mesh"]
    command = [sys.executable, "-m", "node.command.cli", *flags, "--run", "ended"]
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    try:
        url = await asyncio.wait_for(_address(process), 60)
        async with ClientSession() as session:
            state = await (await session.get(f"{url}api/state")).json()
        assert state["run"] == "ended" and state["files"]["finished"] and state["summary"]["solved_after"] == 3
        assert [each["label"] for each in state["evaluations"]] == ["step-7"]
        assert [each["theorem_id"] for each in state["proofs"]] == ["t"] and state["points"][0]["step"] == 1
    finally:
        process.kill()
        await process.wait()
    code, _, said = await asyncio.to_thread(called, cli.main, *flags, "--run", "endde")
    assert (code, said) == (2, f"proofmesh ui: {tmp_path} has no run endde (there are: ended)\n")
