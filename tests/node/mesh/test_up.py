"""`proofmesh up` as a user runs it: real processes, a real broker."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path

import psutil
import pytest

from common.bus import Bus
from common.lean import OutcomeKind, Theorem
from common.life.process import kill_group, spawn_child
from common.output.command import Exit
from common.protocol.messages import LeanRunReply, LeanRunRequest
from common.protocol.subjects import LEAN_RUN
from common.settings import BusSettings
from node.command import cli
from node.mesh.plan import free_port
from tests.commands import Called, Run
from tests.node.mesh.whole import mesh_file
from tests.waiting import eventually, until

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[3]


def up_file(folder: Path, port: int = 0, prover: int = 1, lean_proxy: int = 0, **sections: dict[str, object]) -> Path:
    counts = {"learner": 0, "inference": 0, "prover": prover, "lean_proxy": lean_proxy, "grace": 10.0}
    return mesh_file(folder, "up-test", port, up=counts, prover={"policy": "fixed"}, **sections)


Up = Callable[..., Awaitable[asyncio.subprocess.Process]]


@pytest.fixture
async def up() -> AsyncIterator[Up]:
    """Starts `proofmesh up FILE FLAGS`, and kills it at the end of the test."""
    started: list[asyncio.subprocess.Process] = []

    async def start(file: Path, *flags: str) -> asyncio.subprocess.Process:
        command = [sys.executable, "-m", "node.command.cli", "up", file, *flags]
        pipe = asyncio.subprocess.PIPE
        started.append(await spawn_child(command, cwd=ROOT, stdout=pipe, stderr=pipe))
        return started[-1]

    yield start
    for process in started:
        await kill_group(process, grace=0)


def descendants(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


def is_gone(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def logged(folder: Path, name: str, words: str) -> bool:
    log = folder / "runs" / "up-test" / "logs" / f"{name}.log"
    return log.exists() and words in log.read_text()


async def test_a_mesh_replaces_a_killed_broker_and_a_signal_stops_everything_in_order(up: Up, tmp_path: Path) -> None:
    """SIGINT; SIGTERM ends the meshes of test_served_policy.py and test_models_on_a_mesh.py. Other nodes that are
    killed: test_supervisor.py, test_faults.py."""
    # 1. All nodes run, and write lines of JSON.
    port = free_port()
    process = await up(up_file(tmp_path, port=port))
    await eventually(lambda: logged(tmp_path, "broker", "streams are ready"), 60, "the broker")
    await eventually(lambda: logged(tmp_path, "prover", "node runs"), 60, "the prover")
    await eventually(lambda: logged(tmp_path, "ui", "node runs"), 60, "the monitor")
    bus = await Bus.connect(BusSettings(url=f"nats://127.0.0.1:{port}"), run="up-test", name="test", wait=30)

    async def nodes(role: str) -> dict[str, int]:
        return {node.node_id: node.pid for node in await bus.nodes() if node.role == role}

    for name in ("broker", "prover", "ui"):
        lines = (tmp_path / f"runs/up-test/logs/{name}.log").read_text().splitlines()
        assert all(each["event"] and each["timestamp"][:2] == "20" for each in map(json.loads, lines))

    # 2. A broker that is killed is started again at its address, and the others go on.
    async def registered() -> bool:
        return all([await nodes(role) for role in ("broker", "prover", "ui")])

    await until(registered)
    others = await nodes("prover") | await nodes("ui")
    ((broker, pid),) = (await nodes("broker")).items()
    assert descendants(pid), "nats-server is a child of the broker's node"
    os.kill(pid, signal.SIGKILL)
    await eventually(lambda: not bus.connected)
    await eventually(lambda: bus.connected, 30)

    async def broker_again() -> bool:
        return bool((await nodes("broker")).keys() - {broker})

    await until(broker_again)
    assert await nodes("prover") | await nodes("ui") == others, "the other nodes go on"
    await bus.close()
    # 3. A signal stops all in order.
    below = descendants(process.pid)
    assert len(below) == 4  # broker, nats-server, ui, prover
    process.send_signal(signal.SIGINT)
    _, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    assert all(is_gone(child) for child in below)
    stopped = [line.split()[1] for line in errors.decode().splitlines() if line.endswith(": stopping")]
    assert stopped == ["prover:", "ui:", "broker:"]
    assert logged(tmp_path, "prover", "node left")


async def test_nothing_is_left_when_up_is_killed(up: Up, tmp_path: Path) -> None:
    port = free_port()
    process = await up(up_file(tmp_path, port, prover=0, lean_proxy=1))
    bus = await Bus.connect(BusSettings(url=f"nats://127.0.0.1:{port}"), run="up-test", name="test", wait=60)
    request = LeanRunRequest(theorem=Theorem("t", "", "True"), tactics=("trivial",))
    reply = await bus.request_patiently(LEAN_RUN, request, LeanRunReply, timeout=30, deadline=60)
    assert reply.outcomes[0].kind is OutcomeKind.PROVED
    await bus.close()
    below = descendants(process.pid)
    assert len(below) >= 5  # broker, nats-server, ui, lean-proxy, its Lean workers
    process.kill()
    await process.communicate()
    await eventually(lambda: all(is_gone(child) for child in below), what="the end of all processes")


@pytest.fixture
def called_up(called: Called) -> Run:
    """The command in this process, for what ends by itself."""
    return partial(called, cli.main, "up")


@pytest.mark.slow
def test_a_node_that_always_dies_ends_up_with_its_last_lines(called_up: Run, tmp_path: Path) -> None:
    node = {"host": "192.0.2.1"}  # an address for documentation (RFC 5737): nobody can listen on it
    code, _, err = called_up(up_file(tmp_path, node=node), "--restarts", "1")
    assert code == Exit.FAILED and "crashed 2 times" in err and "192.0.2.1" in err
