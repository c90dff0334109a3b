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
from tests.ui.monitors import make_run, mesh
from tests.waiting import eventually, until
from ui.runs import Runs
from ui.server import Monitor
from ui.service import listen, serving
from ui.settings import UiSettings

LEARNER = named("learner")
POINTS = telemetry("learner", LEARNER, "point")


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
    monitor = Monitor(Runs(None, mesh()))
    ctx = NodeContext("ui", NodeSettings())
    async with serving(ctx, UiSettings(port=0), monitor) as url, ClientSession() as session:
        assert (await session.get(url)).status == 200


async def test_a_port_in_use_is_named() -> None:
    monitor = Monitor(Runs(None, mesh()))
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
    run = mesh(bus.run)
    state = run.mesh
    assert state is not None
    ctx = NodeContext("ui", NodeSettings())
    ctx.bus = bus
    await listen(ctx, run)
    await bus.publish(POINTS, Point(time=2.0, step=2, values={}))  # again: shown once
    await bus.publish(POINTS, Point(time=3.0, step=3, values={}))
    await eventually(lambda: len(state.points) >= 4)
    assert [point.step for point in state.points] == [0, 1, 2, 3]
    assert [proof.attempt_id for proof in state.proofs] == ["1"]


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
            shown = await (await session.get(f"{url}api/run/ended/overview")).json()
        assert (state["run"], state["live"], state["finished"]) == ("ended", False, True)
        assert shown["summary"]["solved_after"] == 3 and [each["theorem_id"] for each in shown["proofs"]] == ["t"]
    finally:
        process.kill()
        await process.wait()
    code, _, said = await asyncio.to_thread(called, cli.main, *flags, "--run", "endde")
    assert (code, said) == (2, f"proofmesh ui: {tmp_path} has no run endde (there are: ended)\n")
