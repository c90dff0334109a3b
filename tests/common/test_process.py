import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import psutil
import pytest

from common.life.process import die_with_parent, kill_group, spawn_child
from tests.waiting import eventually

pytestmark = pytest.mark.process

PARENT = """
    import asyncio, sys
    from common.life.process import spawn_child

    async def main():
        child = await spawn_child([sys.executable, "-c", "import time; time.sleep(600)"])
        print(child.pid, flush=True)
        await asyncio.sleep(600)

    asyncio.run(main())
"""

STUBBORN = """
    import signal, subprocess, sys, time
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    print(child.pid, flush=True)
    time.sleep(600)
"""


def gone(pid: int) -> bool:
    """Whether a process has ended (zombies count as ended)."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def python(code: str) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(code)]


async def test_a_child_dies_when_its_parent_is_killed() -> None:
    parent = subprocess.Popen(python(PARENT), stdout=subprocess.PIPE, text=True)  # noqa: ASYNC220
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert not gone(child)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    await eventually(lambda: gone(child), what="death of the child")
    parent.stdout.close()


async def test_a_child_is_the_program_itself_in_its_own_group_environment_and_folder(tmp_path: Path) -> None:
    code = "import os; print(os.getpid(), os.getpgid(0), os.environ.get('FOO'), os.environ.get('HOME'), os.getcwd())"
    child = await spawn_child(python(code), env={"FOO": "bar"}, cwd=tmp_path, stdout=subprocess.PIPE)
    output, _ = await child.communicate()
    assert output.decode().split() == [str(child.pid), str(child.pid), "bar", "None", str(tmp_path)]
    assert child.returncode == 0


async def test_a_script_for_the_same_python_is_run_like_any_other_program(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import os, sys\nprint(__name__, os.getpid(), *sys.argv[1:], flush=True)\nopen('gone/file')\n")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    child = await spawn_child([sys.executable, "-I", "-S", script, "a", "-b"], cwd=tmp_path, **pipes)
    output, errors = await child.communicate()
    assert output.decode().split() == ["__main__", str(child.pid), "a", "-b"]
    assert child.returncode == 1 and b"FileNotFoundError" in errors and b"script.py" in errors
    child = await spawn_child([sys.executable, "-I", "-S", tmp_path / "none.py"], **pipes)
    _, errors = await child.communicate()
    assert child.returncode == 1 and b"No such file" in errors


async def test_a_stubborn_group_is_killed_with_its_grandchildren() -> None:
    child = await spawn_child(python(STUBBORN), stdout=subprocess.PIPE)
    assert child.stdout is not None
    grandchild = int(await child.stdout.readline())
    assert await kill_group(child, grace=0.2) == -signal.SIGKILL
    await eventually(lambda: gone(grandchild), what="death of the grandchild")


async def test_a_child_that_listens_ends_within_its_grace() -> None:
    child = await spawn_child(python("import time; print('up', flush=True); time.sleep(600)"), stdout=subprocess.PIPE)
    assert child.stdout is not None
    await child.stdout.readline()
    assert await kill_group(child, grace=30) == -signal.SIGTERM
    assert await kill_group(child) == -signal.SIGTERM  # again is harmless


async def test_a_program_that_does_not_exist_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such program"):
        await spawn_child([tmp_path / "nothing"])
    child = await spawn_child(["no-such-program-anywhere"], stderr=subprocess.PIPE)
    _, errors = await child.communicate()
    assert child.returncode == 1 and b"no-such-program-anywhere: No such file" in errors


def test_a_child_itself_asks_to_die_with_its_parent_and_notices_if_that_has_gone() -> None:
    code = "from common.life.process import die_with_parent; die_with_parent(1234567)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "the parent process 1234567 has ended" in ended.stderr
    pid = os.fork()
    if pid == 0:
        try:
            die_with_parent(os.getppid())
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0


async def test_a_start_that_is_cancelled_halfway_ends_and_leaves_no_process() -> None:
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    before = set(psutil.Process().children())
    for turns in range(8):
        starting = asyncio.create_task(spawn_child(["sleep", "600"], **pipes))
        for _ in range(turns):  # of the event loop: a start takes several
            await asyncio.sleep(0)
        starting.cancel()
        done, _ = await asyncio.wait({starting}, timeout=60)
        assert done, "it ends"
        if not starting.cancelled():
            await kill_group(starting.result(), grace=0)
    left = [child for child in psutil.Process().children() if child not in before]
    assert not [child for child in left if child.status() != psutil.STATUS_ZOMBIE]


PROGRAM = """
from common.life import faults
for turn in range(4):
    faults.reach("other")
    print("before", turn, flush=True)
    faults.reach("here")
"""


def test_process_is_killed_at_its_point_when_it_reaches_that_so_often() -> None:
    env = {**os.environ, "PROOFMESH_FAULT": "here#3"}
    run = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (-signal.SIGKILL, "before 0\nbefore 1\nbefore 2\n")
