"""A whole mesh whose broker asks for keys: every role learns, searches and judges with its own, and clients use it."""

import asyncio
from pathlib import Path

import pytest

from broker import keys
from common.bus import Bus, Role
from common.settings import Invite
from node.command.cli import main
from node.mesh.mesh import Mesh
from node.rewards.asking import close as close_rewards
from node.rewards.lean_reward import LeanReward
from tests.node.mesh.whole import check_records, recorded, running_nodes, whole_mesh
from tests.node.stp.tiny_run import finished
from tests.waiting import until

pytestmark = [pytest.mark.process, pytest.mark.slow]


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

        async def learned() -> bool:
            return '"weights loaded"' in log.read_text()

        await until(learned, timeout=120, what="weights of the learner")
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
    server_log = (store / "nats-server.log").read_text()
    assert (store / "nats-server.json").exists() and "nkey" in (store / "nats-server.json").read_text()
    assert " Violation " not in server_log


async def test_a_run_that_gets_keys_goes_on_where_it_was(tmp_path: Path) -> None:
    file = whole_mesh(tmp_path)

    async def learns(more_than: int) -> None:
        async def has_learned() -> bool:
            return len(recorded(tmp_path)) > more_than

        async with Mesh.from_file(file):
            await until(has_learned, timeout=120, what=f"more than {more_than} results")

    await learns(0)
    before = recorded(tmp_path)
    keys.make(tmp_path / "store", "whole")
    await learns(len(before))
    assert "nkey" in (tmp_path / "store" / "nats-server.json").read_text()
    check_records(tmp_path, before)
