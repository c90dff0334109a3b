import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientSession

from common.bus import Bus, BusSettings
from common.life.node import NodeContext, NodeFailure, NodeSettings
from common.machine import listenable
from common.protocol.messages import LogRecord, Point, ProofFound
from common.protocol.subjects import telemetry
from node.command import cli
from tests.commands import Called
from tests.message_values import heartbeat, named, node_info
from tests.ui.monitors import mesh, small_run
from tests.waiting import answered, eventually
from ui.runs import Runs
from ui.server import Monitor
from ui.service import NoSuchRun, choose, listen, serving
from ui.settings import TRAINING, UiSettings

LEARNER = named("learner")
POINTS = telemetry("learner", LEARNER, "point")


@asynccontextmanager
async def monitor(*flags: str) -> AsyncIterator[str]:
    """The address of `proofmesh ui`, in a process that is killed at the end."""
    command = [sys.executable, "-m", "node.command.cli", "ui", "--port", "0", *flags]
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    assert process.stderr is not None
    seen = b""
    try:
        async with asyncio.timeout(60):
            while (found := re.search(rb"url=(http://[^\s\x1b]+/)", re.sub(rb"\x1b\[[0-9;]*m", b"", seen))) is None:
                seen += (line := await process.stderr.readline())
                assert line, f"the monitor ended: {seen.decode()}"
        yield found[1].decode()
    finally:
        process.kill()
        await process.wait()


async def test_the_page_is_there_before_the_broker_and_a_port_in_use_is_named() -> None:
    monitor = Monitor(Runs(None, mesh()))
    ctx = NodeContext("ui", NodeSettings())
    async with serving(ctx, UiSettings(port=0), monitor) as url:
        async with ClientSession() as session:
            assert (await session.get(url)).status == 200, "before the broker is there"
        port = int(url.rstrip("/").rpartition(":")[2])
        with pytest.raises(NodeFailure, match=str(port)):
            async with serving(ctx, UiSettings(port=port), monitor):
                pass


async def test_a_monitor_that_starts_late_shows_the_run_from_its_beginning(bus: Bus) -> None:
    for i in range(3):
        await bus.publish(POINTS, Point(time=float(i), step=i, values={"loss": 1.0}))
    proof = ProofFound(theorem_id="t", attempt_id="1", purpose="train", time=9.0, lean="theorem t : True := trivial")
    await bus.publish(telemetry("learner", LEARNER, "proof"), proof)
    record = LogRecord(node_id=LEARNER, role="learner", time=0, level="info", event="e")
    await bus.publish(telemetry("learner", LEARNER, "log"), record)
    await answered(lambda: bus.history((Point, ProofFound)), lambda stored: len(stored) == 4)
    await bus.register(node_info(named("prover")))
    run = mesh(bus.run)
    state = run.mesh
    ctx = NodeContext("ui", NodeSettings())
    ctx.bus = bus
    await listen(ctx, run)
    await bus.publish(POINTS, Point(time=2.0, step=2, values={}))  # again: shown once
    await bus.publish(POINTS, Point(time=3.0, step=3, values={}))
    state.see_registry(await bus.nodes(), 10.0)
    await bus.publish(telemetry("prover", named("prover"), "heartbeat"), heartbeat(named("prover"), expansions=7))
    await eventually(lambda: state.totals().get("prover.expansions") == 7 and len(state.points) >= 4)
    assert [point.step for point in state.points] == [0, 1, 2, 3]
    assert [proof.attempt_id for proof in state.proofs] == ["1"]


@pytest.mark.process
async def test_a_run_is_shown_from_its_files_without_a_broker(called: Called, tmp_path: Path) -> None:
    small_run(tmp_path / "ended").close()
    (tmp_path / "ended" / "summary.json").write_text(json.dumps({"solved_before": 1, "solved_after": 3}))
    flags = ["--directory", str(tmp_path), "--no-mesh"]
    async with monitor(*flags, "--run", "ended") as url, ClientSession() as session:
        state = await (await session.get(f"{url}api/state")).json()
        shown = await (await session.get(f"{url}api/run/ended/overview")).json()
    assert (state["run"], state["live"], state["finished"]) == ("ended", False, True)
    assert shown["summary"]["solved_after"] == 3 and [each["theorem_id"] for each in shown["proofs"]] == ["t"]
    code, _, said = await asyncio.to_thread(called, cli.main, "ui", "--port", "0", *flags, "--run", "endde")
    assert (code, said) == (2, f"proofmesh ui: {tmp_path} has no run endde (there are: ended)\n")


def settings(runs: Path, **changes: object) -> UiSettings:
    return UiSettings(**{"runs": str(runs), "patience": 5.0, **changes})  # type: ignore[arg-type]


def nobody() -> BusSettings:
    return BusSettings(f"nats://127.0.0.1:{listenable('127.0.0.1', 0)}")


async def test_a_run_at_work_is_watched_and_an_ended_one_is_read(bus: Bus, broker: BusSettings, tmp_path: Path) -> None:
    node = NodeSettings(run=bus.run, bus=broker)
    assert (await choose(settings(tmp_path), node)).mesh is not None, "without files, whoever answers is watched"
    small_run(tmp_path / bus.run).close()
    found = await choose(settings(tmp_path), node)  # the broker is there for other runs
    assert found is not None and found.mesh is None and found.folder == tmp_path / bus.run
    await bus.register(node_info(named("learner"), "learner"))
    assert (await choose(settings(tmp_path), node)).mesh is not None
    assert (await choose(settings(tmp_path, mesh=False), node)).mesh is None


async def test_without_a_broker_the_files_are_shown_and_a_run_that_is_nowhere_is_named(tmp_path: Path) -> None:
    for name in ("first", "second"):
        small_run(tmp_path / name).close()
    quick = settings(tmp_path, patience=0.2)
    assert (await choose(quick, NodeSettings(run="first", bus=nobody()))).mesh is None
    with pytest.raises(NoSuchRun, match=r"no broker answers.*has no run thrid \(there are: first, second\)"):
        await choose(quick, NodeSettings(run="thrid", bus=nobody()))
    with pytest.raises(NoSuchRun, match=r"it holds no run"):
        await choose(settings(tmp_path / "absent", patience=0.2), NodeSettings(run="first", bus=nobody()))
    with pytest.raises(NoSuchRun, match=r"absent is the folder of no run$"):
        await choose(settings(tmp_path, folder=str(tmp_path / "absent"), mesh=False), NodeSettings(run="first"))
    # A monitor that is to wait asks nobody.
    assert (await choose(settings(tmp_path, patience=None), NodeSettings(run="first", bus=nobody()))).mesh is not None
    # Without a mesh, training runs need no run, and a wrong name is said.
    alone = settings(tmp_path / "training", mesh=False)
    assert await choose(alone, NodeSettings()) is None and await choose(alone, NodeSettings(run=TRAINING)) is None
    with pytest.raises(NoSuchRun, match="has no run other"):
        await choose(alone, NodeSettings(run="other"))
