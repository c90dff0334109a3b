"""What confined processes cannot do, on this system and on one that allows less."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from common.life.process import kill_group, spawn_child
from node.lean.process.protections import Protections, detect, program_files, that_lean_starts_with

pytestmark = pytest.mark.lean

ROOT = Path(__file__).parents[4]
FORBID = Path(__file__).with_name("forbid.py")
FOUND = asyncio.run(detect())


def only_with(mechanism: str) -> pytest.MarkDecorator:
    """The test needs what this system may not have."""
    return pytest.mark.skipif(mechanism not in FOUND.mechanisms, reason=f"this system has no {mechanism}")


async def outcome(protections: Protections, code: str, writable: tuple[Path, ...] = ()) -> str:
    """What a confined Python prints."""
    command, keeper = [sys.executable, "-I", "-S", "-c", code], protections.keeper(writable)
    pipe, same = asyncio.subprocess.PIPE, asyncio.subprocess.STDOUT
    process = await spawn_child(command, keeper=keeper, stdout=pipe, stderr=same)
    output, _ = await process.communicate()
    return output.decode().strip()


def attempt(code: str) -> str:
    """Python text that runs code and prints `done`, or the error's name."""
    ending = "    print('done')\nexcept OSError as error: print(type(error).__name__)"
    return f"import os, socket\ntry:\n    {code}\n{ending}"


WRITE = "open({!r}, 'w').write('x')"


@only_with("landlock")
async def test_files_are_written_in_the_scratch_folder_only(tmp_path):
    inside, outside = tmp_path / "scratch", tmp_path / "kept"
    inside.mkdir()
    outside.write_text("kept")
    for code in (
        WRITE.format(str(outside)),
        WRITE.format(str(tmp_path / "new")),
        f"os.remove({str(outside)!r})",
        f"os.truncate({str(outside)!r}, 0)",
        f"os.rename({str(outside)!r}, {str(inside / 'moved')!r})",
        f"os.symlink('/', {str(tmp_path / 'link')!r})",
    ):
        assert await outcome(FOUND, attempt(code), (inside,)) in ("PermissionError", "OSError"), code
    assert outside.read_text() == "kept" and sorted(path.name for path in tmp_path.iterdir()) == ["kept", "scratch"]
    assert await outcome(FOUND, attempt(WRITE.format(str(inside / "mine"))), (inside,)) == "done"
    assert await outcome(FOUND, attempt(f"open({str(inside / 'mine')!r}).read()"), (inside,)) == "done"
    assert await outcome(FOUND, attempt("open('/dev/null', 'w').write('x')")) == "done"


@only_with("network")
async def test_there_is_no_network():
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    for code in (
        f"socket.create_connection(('127.0.0.1', {port}))",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
    ):
        assert await outcome(FOUND, attempt(code)) == "PermissionError"
        assert await outcome(Protections(), attempt(code)) == "done"
    server.close()


@only_with("processes")
async def test_no_process_is_started_and_no_process_group_left_but_threads_are_free():
    for code in ("os.fork()", "os.posix_spawn('/bin/true', ['true'], {})", "os.setsid()", "os.setpgid(0, 0)"):
        assert await outcome(FOUND, attempt(code)) == "PermissionError", code
    threads = "import threading; t = threading.Thread(target=print, args=['done']); t.start(); t.join()"
    assert await outcome(FOUND, threads) == "done"


@pytest.mark.skipif(not FOUND.signals, reason="this system cannot keep signals in")
async def test_no_signal_reaches_a_process_outside():
    assert await outcome(FOUND, attempt(f"os.kill({os.getpid()}, 0)")) == "PermissionError"


async def test_a_confined_process_still_dies_with_its_parent():
    lives = "import time, os\nprint(os.getpid(), flush=True)\ntime.sleep(600)"
    starter = (
        "import asyncio, subprocess, sys, time\n"
        "from node.lean.process.protections import Protections\n"
        f"keeper = Protections({FOUND.mechanisms!r}).keeper()\n"
        f"subprocess.Popen([*keeper, sys.executable, '-c', {lives!r}])\n"
        "time.sleep(600)"
    )
    parent = await spawn_child([sys.executable, "-c", starter], cwd=ROOT, stdout=asyncio.subprocess.PIPE)
    assert parent.stdout is not None
    child = psutil.Process(int(await parent.stdout.readline()))
    parent.kill()
    await parent.wait()
    psutil.wait_procs([child], timeout=20)
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE
    await kill_group(parent, grace=0)


def test_what_cannot_be_confined_does_not_run(tmp_path):
    keeper = Protections(("landlock",)).keeper([tmp_path / "nowhere"])
    done = subprocess.run([*keeper, "/bin/echo", "ran"], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and done.stdout == "" and "not confined" in done.stderr


TELL = """
import asyncio, json
from node.lean.process.protections import detect
found = asyncio.run(detect())
print(json.dumps({"mechanisms": found.mechanisms, "facts": found.facts(), "gaps": found.gaps()}))
"""


def detected_where(forbidden: str) -> dict:
    """What is found on a system that forbids these calls."""
    command = [sys.executable, str(FORBID), forbidden, sys.executable, "-c", TELL]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@only_with("network")
def test_where_user_namespaces_are_forbidden_seccomp_keeps_the_network_off():
    found = detected_where("unshare")
    assert "namespace" not in found["mechanisms"] and "network" in found["mechanisms"]
    assert found["facts"]["network"] == "off (seccomp)" and "network" not in found["gaps"]


@pytest.mark.skipif(sys.platform != "linux", reason="Linux")
def test_where_landlock_is_forbidden_files_are_mounted_read_only():
    found = detected_where("landlock")
    if "mounts" not in found["mechanisms"]:
        pytest.skip("this system forbids user namespaces")
    assert "read-only mounts" in found["facts"]["files"] and found["gaps"] == ["signals"]
    assert "a root folder of its own" in found["facts"]["reads"]


def test_where_everything_is_forbidden_it_says_what_is_not_protected_and_why():
    found = detected_where("unshare,landlock,seccomp")
    assert found["mechanisms"] == [] and found["gaps"] == ["network", "files", "reads", "processes", "signals"]
    assert "seccomp: Operation not permitted" in found["facts"]["network"]
    assert "not permitted" in found["facts"]["files"]


async def test_a_lean_that_must_start_processes_is_confined_by_the_rest(tmp_path):
    script = tmp_path / "lean"
    script.write_text('#!/bin/sh\necho "Lean (version $(echo 4.0.0))"\n')
    script.chmod(0o755)
    found = await that_lean_starts_with(FOUND, [str(script)], dict(os.environ), program_files([str(script)]))
    assert "processes" not in found.mechanisms and set(found.mechanisms) == set(FOUND.mechanisms) - {"processes"}
    if "processes" in FOUND.mechanisms:
        assert "does not start with it" in found.facts()["processes"]


@pytest.mark.skipif(not FOUND.reads, reason="nothing confines reading")
async def test_a_lean_that_must_read_more_is_confined_by_the_rest_and_it_is_said_what_was_refused(tmp_path):
    (tmp_path / "needed").write_text("4.0.0\n")
    script = tmp_path / "lean"
    script.write_text(f'#!/bin/sh\nread line < {tmp_path / "needed"} || exit 1\necho "Lean (version $line)"\n')
    script.chmod(0o755)
    found = await that_lean_starts_with(FOUND, [str(script)], dict(os.environ), program_files([str(script)]))
    assert found.gaps() == ["reads"]
    fact = found.facts()["reads"]
    assert "needed: Permission denied (a confined process reads only its toolchain, its project" in fact


def test_a_probe_that_forks_ends_its_child_and_waits_for_it():
    # A child that takes its time: one that ends at once is gone whether it was waited for or not.
    code = "import os, time\nfrom node.lean.process.probe import forks\nend = os._exit\n"
    code += "os._exit = lambda code: (time.sleep(0.2), end(code))\n"
    code += "assert forks()\nprint('once', flush=True)\nos.wait()"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == "once\n" and "ChildProcessError" in done.stderr
