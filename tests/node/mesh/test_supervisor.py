"""Supervised real processes: restarted, failed for good, stopped in order, killed with their parent."""

import os
import signal
import sys
from pathlib import Path

import psutil
import pytest

from common.life import logging
from common.output.command import Exit
from node.mesh import supervisor as supervisor_module
from node.mesh.restarts import RestartRules
from node.mesh.supervisor import ChildFailed, ChildSpec, ChildState, Supervisor
from tests.waiting import eventually

pytestmark = pytest.mark.process

QUICK = RestartRules(first_delay=0.01, longest_delay=0.05, limit=3)
SLEEPER = "import time; print('awake', flush=True); time.sleep(600)"


def spec(folder: Path, name: str, code: str, **options: object) -> ChildSpec:
    return ChildSpec(name, [sys.executable, "-c", code], folder / f"{name}.log", **options)  # type: ignore[arg-type]


def alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


async def test_a_child_with_a_wrong_configuration_is_not_started_again(tmp_path: Path) -> None:
    async with Supervisor([spec(tmp_path, "wrong", "raise SystemExit(2)")], QUICK) as supervisor:
        with pytest.raises(ChildFailed, match="configuration is wrong"):
            await supervisor.wait()
    assert supervisor.children[0].restarts == 0


async def test_a_child_that_is_killed_is_started_again(tmp_path: Path) -> None:
    async with Supervisor([spec(tmp_path, "sleeper", SLEEPER)], QUICK) as supervisor:
        (child,) = supervisor.children
        await eventually(lambda: child.state is ChildState.RUNNING)
        os.kill(killed := child.pid, signal.SIGKILL)
        await eventually(lambda: child.state is ChildState.RUNNING and child.pid != killed)
    assert child.restarts == 1


async def test_a_child_that_was_asked_to_leave_is_not_started_again(tmp_path: Path) -> None:
    leaver = spec(tmp_path, "leaver", f"raise SystemExit({int(Exit.DRAINED)})")
    async with Supervisor([leaver, spec(tmp_path, "sleeper", SLEEPER)], QUICK) as supervisor:
        left, stays = supervisor.children
        await eventually(lambda: left.state is ChildState.DONE and stays.state is ChildState.RUNNING)
    assert left.restarts == 0


async def test_the_child_with_the_work_ends_the_mesh_when_it_is_done(tmp_path: Path) -> None:
    worker = spec(tmp_path, "worker", "print('all is done')", ends_mesh=True)
    async with Supervisor([worker, spec(tmp_path, "sleeper", SLEEPER)], QUICK) as supervisor:
        assert await supervisor.wait() == "worker"
    assert [child.state for child in supervisor.children] == [ChildState.DONE, ChildState.STOPPED]


async def test_a_child_that_ignores_sigterm_is_killed_with_its_group(tmp_path: Path) -> None:
    code = (
        "import signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    supervisor = Supervisor([spec(tmp_path, "stubborn", code)], QUICK)
    await supervisor.start()
    child = supervisor.children[0]
    await eventually(lambda: child.last_words().isdigit())
    grandchild, pid = int(child.last_words()), child.pid
    assert pid is not None
    await supervisor.stop(grace=0.1)
    await eventually(lambda: not alive(pid) and not alive(grandchild))


async def test_the_log_of_a_child_that_writes_much_is_put_aside_and_its_last_words_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor_module, "LOGS_EVERY", 0.01)
    monkeypatch.setattr(logging, "FILE_BYTES", 1000)
    code = "import time\nfor i in range(10**9): print('line', i, flush=True); time.sleep(0.0005)"
    async with Supervisor([spec(tmp_path, "chatty", code)], QUICK) as supervisor:
        child = supervisor.children[0]
        await eventually(lambda: (tmp_path / "chatty.log.3").exists())
        await eventually(lambda: "line" in child.last_words())
    assert len(list(tmp_path.iterdir())) == 4
