"""Meshes of real nodes that are killed one after another with -9, and meshes whose broker asks for keys."""

import asyncio
import dataclasses
import os
import signal
import sys
import uuid
from pathlib import Path

import pytest

from broker import keys
from common.bus import Bus, Role
from common.life import faults
from common.life.process import kill_group, spawn_child
from common.settings import Invite
from node.command.cli import main
from node.mesh.mesh import Mesh
from node.mesh.supervisor import Child
from node.rewards.asking import close as close_rewards
from node.rewards.lean_reward import LeanReward
from tests.node.mesh.whole import MARK, check_records, marked, private_cache, ranks, recorded, running_nodes, whole_mesh
from tests.node.stp.tiny_run import finished
from tests.waiting import eventually

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.timeout(900)]

PATIENCE = 300.0
"""Seconds until a mesh of six roles makes progress on two busy cores."""

POINTS = {
    "prover": "prover:published-not-acked",
    "inference": "inference:batch-running#400",
    "lean-proxy": "lean-proxy:request-open#80",
    "learner": "learner:recorded-not-acked#7",
}
"""The points at which the nodes of each role kill themselves after every start."""

SECOND_PROVER = ["--policy", "fixed", "--searches", "1", "--poll-seconds", "0.05"]


async def has_recorded(folder: Path, count: int) -> None:
    await eventually(lambda: len(recorded(folder)) >= count, PATIENCE, f"{count} recorded results")


async def test_roles_die_at_critical_points_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = uuid.uuid4().hex
    monkeypatch.setenv(MARK, mark)
    monkeypatch.setenv("PROOFMESH_CACHE", str(private_cache(tmp_path)))
    plan = Mesh.from_file(whole_mesh(tmp_path)).plan
    plan.children = [
        dataclasses.replace(spec, env={**spec.env, faults.VARIABLE: POINTS.get(spec.name, "")})
        for spec in plan.children
    ]
    (tmp_path / "elsewhere").mkdir()
    async with Mesh(plan) as mesh:
        # One more prover, in another directory, with nothing but run and URL: its fixed tactics find proofs.
        argv = ["prover", "--run", mesh.run, "--bus.url", mesh.bus.url, *SECOND_PROVER]
        second = await spawn_child([sys.executable, "-m", "node.command.cli", *argv], cwd=tmp_path / "elsewhere")
        children = {child.spec.name: child for child in mesh.children}
        for name in POINTS:
            await eventually(lambda name=name: children[name].restarts >= 1, PATIENCE, f"a death of {name}")  # type: ignore[misc]
            assert children[name].note == "was killed by signal 9"
        await kill_broker(mesh, children["broker"])
        await kill_a_rank(mark)
        before = recorded(tmp_path)
        await has_recorded(tmp_path, len(before) + 10)
        assert second.returncode is None, "the mesh's faults are not its own"
        await kill_group(second, grace=15)
    check_records(tmp_path, before)
    outcomes = {outcome for _, outcome, _ in recorded(tmp_path)}
    assert "proved" in outcomes, "the second prover contributed"
    assert outcomes <= {"proved", "failed"}, "no fault of the mesh is taken for one of a theorem"
    assert marked(mark) == []


async def kill_broker(mesh: Mesh, broker: Child) -> None:
    """kill -9 of the broker's node, and with it of nats-server; wait until nodes can talk again."""
    bus = await Bus.connect(mesh.bus, run=mesh.run, name="test", wait=30)
    before = broker.restarts
    assert broker.pid is not None
    os.kill(broker.pid, signal.SIGKILL)
    await eventually(lambda: broker.restarts > before and bus.connected, PATIENCE, "the broker's return")
    await bus.close()


async def kill_a_rank(mark: str) -> None:
    """kill -9 of a trainer rank; wait for its replacement."""
    await eventually(lambda: bool(ranks(mark)), PATIENCE, "a trainer rank")
    victim = ranks(mark)[0]
    victim.kill()
    await eventually(lambda: any(rank.pid != victim.pid for rank in ranks(mark)), PATIENCE, "a new trainer rank")


async def test_up_killed_with_everything_at_work_leaves_nothing_and_goes_on_where_it_was(tmp_path: Path) -> None:
    mark = uuid.uuid4().hex
    env = {**os.environ, MARK: mark, "PROOFMESH_CACHE": str(private_cache(tmp_path))}
    file = whole_mesh(tmp_path)
    command = [sys.executable, "-m", "node.command.cli", "up", str(file)]
    first = await spawn_child(command, env=env, stderr=asyncio.subprocess.DEVNULL)
    try:
        await has_recorded(tmp_path, 4)
        await eventually(lambda: bool(ranks(mark)), PATIENCE, "a trainer rank")
        assert len(marked(mark)) >= 8, "broker, nats-server, learner, rank, inference, prover, lean-proxy, ui"
        first.kill()
        await first.wait()
        await eventually(lambda: not marked(mark), 30, "the end of every process")
        before = recorded(tmp_path)
        check_records(tmp_path)
        second = await spawn_child(command, env=env, stderr=asyncio.subprocess.DEVNULL)
        await has_recorded(tmp_path, len(before) + 4)
        second.terminate()
        assert await asyncio.wait_for(second.wait(), 120) == 0
    finally:
        await kill_group(first, grace=0)
        for process in marked(mark):
            process.kill()
    check_records(tmp_path, before)
    assert marked(mark) == []


# --- every role learns, searches and judges with keys of its own, and clients use theirs ------------------------------
async def test_a_mesh_with_keys_learns_and_serves_its_guests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, store = whole_mesh(tmp_path), tmp_path / "store"
    folder = keys.make(store, "whole")
    seeds = keys.invite(store, "whole", [Role.CLIENT, Role.VIEWER], "ada")
    async with Mesh.from_file(file) as mesh:
        # 1. All roles are there, and inference has taken weights from the learner.
        bus = await Bus.connect(mesh.bus, run=mesh.run, name="me", role=Role.VIEWER, wait=30)
        await running_nodes(bus, 5)
        log = tmp_path / "runs" / "whole" / "logs" / "inference.log"

        await eventually(lambda: '"weights loaded"' in log.read_text(), 120, "weights of the learner")
        await bus.close()
        # 2. A guest proves with an invite, and looks at the mesh; without one nobody does.
        url, run = mesh.bus.url, ["--run", "whole"]
        asked = ["prove", "--url", url, *run, "theorem t (a : Nat) : a + 0 = a"]
        assert await asyncio.to_thread(main, asked) != 0
        assert "refused the credentials; set [bus] key" in "".join(capsys.readouterr())
        monkeypatch.setenv("PROOFMESH_INVITE", Invite("whole", url, "ada", seeds, mesh.bus.verifiers).text())
        assert await asyncio.to_thread(main, asked) == 0
        assert "accepted by Lean" in "".join(capsys.readouterr())
        assert await asyncio.to_thread(main, ["status", "--url", url, *run]) == 0
        assert await asyncio.to_thread(main, ["suggest", "--url", url, *run, "⊢ True"]) == 0
        # Lean as a reward asks the mesh as a client does.
        judged = await LeanReward(where=url, run="whole").score(
            completions=["rfl", "exact Nat.succ_ne_self _"], theorem=["theorem t (a : Nat) : a + 0 = a"] * 2
        )
        assert judged == [1.0, 0.0]
        await asyncio.to_thread(close_rewards)
        monkeypatch.delenv("PROOFMESH_INVITE")
        # 3. The operator sees the run with the keys of all runs.
        monkeypatch.setenv("PROOFMESH_KEY", str(folder.parent))
        capsys.readouterr()
        assert await asyncio.to_thread(main, ["runs", "list", "--url", url]) == 0
        assert "whole" in "".join(capsys.readouterr())
    # 4. Nobody had to do what its role may not.
    assert " Violation " not in (store / "nats-server.log").read_text()


async def test_self_play_runs_with_the_keys_of_its_run(tmp_path: Path) -> None:
    store = tmp_path / "runs" / "tiny" / "broker"
    keys.make(store, "tiny")
    await finished(tmp_path, rounds=1)
    assert "nkey" in (store / "nats-server.json").read_text()
    assert " Violation " not in (store / "nats-server.log").read_text()


async def test_a_run_that_gets_keys_goes_on_where_it_was(tmp_path: Path) -> None:
    file = whole_mesh(tmp_path)

    async with Mesh.from_file(file):
        await has_recorded(tmp_path, 1)
    before = recorded(tmp_path)
    keys.make(tmp_path / "store", "whole")
    async with Mesh.from_file(file):
        await has_recorded(tmp_path, len(before) + 1)
    assert "nkey" in (tmp_path / "store" / "nats-server.json").read_text()
    check_records(tmp_path, before)
