from pathlib import Path

import pytest

from common.bus import Bus, BusSettings
from common.life.node import NodeSettings
from common.machine import listenable
from common.protocol.messages import NodeInfo
from tests.message_values import named
from tests.ui.monitors import make_run
from ui.runs import Run
from ui.service import NoSuchRun, choose
from ui.settings import TRAINING, UiSettings


def settings(folder: Path, **changes: object) -> UiSettings:
    return UiSettings(**{"runs": str(folder), "patience": 5.0, **changes})  # type: ignore[arg-type]


def nobody() -> BusSettings:
    return BusSettings(f"nats://127.0.0.1:{listenable('127.0.0.1', 0)}")


def watches(found: Run | None) -> bool:
    """Whether the run is a mesh's."""
    assert found is not None
    return found.mesh is not None


async def test_a_run_at_work_is_watched_and_one_that_has_ended_is_shown_from_its_files(
    bus: Bus, broker: BusSettings, tmp_path: Path
) -> None:
    make_run(tmp_path / bus.run).close()
    node = NodeSettings(run=bus.run, bus=broker)
    found = await choose(settings(tmp_path), node)  # the broker is there for other runs
    assert found is not None and found.mesh is None and found.folder == tmp_path / bus.run
    await bus.register(NodeInfo(node_id=named("learner"), role="learner", host="h", pid=1, version="0", started=0))
    assert watches(await choose(settings(tmp_path), node))
    assert not watches(await choose(settings(tmp_path, mesh=False), node))


async def test_without_files_whoever_answers_is_watched(bus: Bus, broker: BusSettings, tmp_path: Path) -> None:
    assert watches(await choose(settings(tmp_path), NodeSettings(run=bus.run, bus=broker)))


async def test_without_a_broker_the_files_are_shown_and_a_run_that_is_nowhere_is_named(tmp_path: Path) -> None:
    for name in ("first", "second"):
        make_run(tmp_path / name).close()
    quick = settings(tmp_path, patience=0.2)
    assert not watches(await choose(quick, NodeSettings(run="first", bus=nobody())))
    with pytest.raises(NoSuchRun, match=r"no broker answers.*has no run thrid \(there are: first, second\)"):
        await choose(quick, NodeSettings(run="thrid", bus=nobody()))
    with pytest.raises(NoSuchRun, match=r"it holds no run"):
        await choose(settings(tmp_path / "absent", patience=0.2), NodeSettings(run="first", bus=nobody()))


async def test_a_folder_of_no_run_is_named(tmp_path: Path) -> None:
    make_run(tmp_path / "demo").close()
    wrong = UiSettings(runs=str(tmp_path), folder=str(tmp_path / "absent"), mesh=False)
    with pytest.raises(NoSuchRun, match=r"absent is the folder of no run$"):
        await choose(wrong, NodeSettings(run="demo"))


async def test_a_monitor_that_is_to_wait_asks_nobody(tmp_path: Path) -> None:
    make_run(tmp_path / "first").close()
    assert watches(await choose(settings(tmp_path, patience=None), NodeSettings(run="first", bus=nobody())))


async def test_without_a_mesh_training_runs_need_no_run_and_a_wrong_name_is_said(tmp_path: Path) -> None:
    alone = settings(tmp_path, mesh=False)
    assert await choose(alone, NodeSettings()) is None
    assert await choose(alone, NodeSettings(run=TRAINING)) is None
    with pytest.raises(NoSuchRun, match="has no run other"):
        await choose(alone, NodeSettings(run="other"))
