"""Supervised real processes: restarted, failed for good, stopped in order, killed with their parent."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from common.life import logging
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


async def test_a_killed_child_is_started_again(tmp_path: Path) -> None:
    async with Supervisor([spec(tmp_path, "sleeper", SLEEPER)], QUICK) as supervisor:
        child = supervisor.children[0]
        await eventually(lambda: "awake" in child.last_words())
        first = child.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await eventually(lambda: child.pid not in (None, first))
        assert child.restarts == 1
        assert child.note == "was killed by signal 9"
        await eventually(lambda: "awake" in child.last_words())
    assert child.state is ChildState.STOPPED
    assert child.pid is None


async def test_a_child_with_a_wrong_configuration_is_not_started_again(tmp_path: Path) -> None:
    async with Supervisor([spec(tmp_path, "wrong", "raise SystemExit(2)")], QUICK) as supervisor:
        with pytest.raises(ChildFailed, match="configuration is wrong"):
            await supervisor.wait()
    assert supervisor.children[0].restarts == 0


async def test_a_program_that_does_not_exist_ends_the_mesh(tmp_path: Path) -> None:
    nothing = ChildSpec("nothing", [str(tmp_path / "nothing")], tmp_path / "nothing.log")
    async with Supervisor([nothing], QUICK) as supervisor:
        with pytest.raises(ChildFailed, match="no such program"):
            await supervisor.wait()


async def test_the_child_with_the_work_ends_the_mesh_when_it_is_done(tmp_path: Path) -> None:
    worker = spec(tmp_path, "worker", "print('all is done')", ends_mesh=True)
    async with Supervisor([worker, spec(tmp_path, "sleeper", SLEEPER)], QUICK) as supervisor:
        assert await supervisor.wait() == "worker"
    assert [child.state for child in supervisor.children] == [ChildState.DONE, ChildState.STOPPED]


async def test_children_are_stopped_in_order_and_may_drain(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    code = (
        "import signal, sys, time\n"
        "def end(*_):\n"
        f"    open({str(journal)!r}, 'a').write(sys.argv[1] + ' ')\n"
        "    sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "print('awake', flush=True)\n"
        "while True: time.sleep(600)\n"
    )
    order = ["prover", "learner", "broker"]
    specs = [
        ChildSpec(name, [sys.executable, "-c", code, name], tmp_path / f"{name}.log", rank=rank)
        for rank, name in reversed(list(enumerate(order)))
    ]
    async with Supervisor(specs, QUICK) as supervisor:
        for child in supervisor.children:
            await eventually(lambda child=child: "awake" in child.last_words())  # type: ignore[misc]
    assert journal.read_text().split() == order


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


async def test_nothing_is_left_when_the_supervisor_is_killed(tmp_path: Path) -> None:
    """kill -9 of the supervising process: its children are killed by the kernel."""
    code = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from node.mesh.supervisor import ChildSpec, Supervisor\n"
        "from node.mesh.restarts import RestartRules\n"
        "async def main():\n"
        f"    folder = Path({str(tmp_path)!r})\n"
        f"    argv = [sys.executable, '-c', {SLEEPER!r}]\n"
        "    specs = [ChildSpec(f'c{i}', argv, folder / f'c{i}.log') for i in range(3)]\n"
        "    async with Supervisor(specs, RestartRules()) as supervisor:\n"
        "        await supervisor.wait()\n"
        "asyncio.run(main())\n"
    )
    root = Path(__file__).parents[3]
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", code, cwd=root, stderr=subprocess.DEVNULL)
    logs = [tmp_path / f"c{index}.log" for index in range(3)]
    await eventually(lambda: all(log.exists() and "awake" in log.read_text() for log in logs))
    pids = [child.pid for child in psutil.Process(parent.pid).children(recursive=True)]
    assert len(pids) == 3
    parent.kill()
    await parent.wait()
    await eventually(lambda: not any(alive(pid) for pid in pids))


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
