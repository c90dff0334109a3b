from pathlib import Path

import pytest

from common.bus import Bus, BusSettings
from common.life.node import NodeSettings
from common.machine import listenable
from tests.message_values import named, node_info
from tests.ui.monitors import small_run
from ui.service import NoSuchRun, choose
from ui.settings import TRAINING, UiSettings


def settings(runs: Path, **changes: object) -> UiSettings:
    return UiSettings(**{"runs": str(runs), "patience": 5.0, **changes})  # type: ignore[arg-type]


def nobody() -> BusSettings:
    return BusSettings(f"nats://127.0.0.1:{listenable('127.0.0.1', 0)}")


async def test_a_run_at_work_is_watched_and_one_that_has_ended_is_shown_from_its_files(
    bus: Bus, broker: BusSettings, tmp_path: Path
) -> None:
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


async def test_without_a_mesh_training_runs_need_no_run_and_a_wrong_name_is_said(tmp_path: Path) -> None:
    alone = settings(tmp_path, mesh=False)
    assert await choose(alone, NodeSettings()) is None
    assert await choose(alone, NodeSettings(run=TRAINING)) is None
    with pytest.raises(NoSuchRun, match="has no run other"):
        await choose(alone, NodeSettings(run="other"))
