"""`proofmesh up` as a user runs it, its supervisor, and passwords that stay out of all it shows: real processes."""

import asyncio
import json
import os
import signal
import sys
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import psutil
import pytest

from broker import streams
from broker.launcher import Server
from broker.settings import BrokerSettings
from common.bus import Bus
from common.config import load_node
from common.lean import OutcomeKind, Theorem
from common.life import logging
from common.life.process import kill_group, spawn_child
from common.machine import listenable
from common.output.command import Exit
from common.protocol.messages import LeanRunReply, LeanRunRequest
from common.protocol.subjects import LEAN_RUN
from common.settings import BusSettings
from node.command.cli import main
from node.mesh import supervisor as supervisor_module
from node.mesh.plan import UpSettings, free_port, make_plan
from node.mesh.restarts import RestartRules
from node.mesh.supervisor import ChildFailed, ChildSpec, ChildState, Supervisor
from tests.commands import Run
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
    """SIGINT; SIGTERM ends the meshes of test_plan.py and test_models_on_a_mesh.py. Other nodes that are
    killed: below, and in test_whole_mesh.py."""
    # 1. All nodes run, and write lines of JSON.
    port = free_port()
    process = await up(up_file(tmp_path, port=port))
    for name, words in (("broker", "streams are ready"), ("prover", "node runs"), ("ui", "node runs")):
        await eventually(lambda name=name, words=words: logged(tmp_path, name, words), 60, name)  # type: ignore[misc]
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


@pytest.mark.slow
def test_a_node_that_always_dies_ends_up_with_its_last_lines(proofmesh: Run, tmp_path: Path) -> None:
    # An address for documentation (RFC 5737): nobody can listen on it. Without a token the node would not even try.
    node = {"host": "192.0.2.1", "token": "of the test"}
    code, _, err = proofmesh("up", up_file(tmp_path, node=node), "--restarts", "1")
    assert code == Exit.FAILED and "crashed 2 times" in err and "192.0.2.1" in err


# --- supervised real processes: restarted, failed for good, stopped in order, killed with their parent ----------------
QUICK = RestartRules(first_delay=0.01, longest_delay=0.05, limit=3)
SLEEPER = "import time; print('awake', flush=True); time.sleep(600)"


def spec(folder: Path, name: str, code: str, **options: object) -> ChildSpec:
    return ChildSpec(name, [sys.executable, "-c", code], folder / f"{name}.log", **options)  # type: ignore[arg-type]


async def test_only_a_child_that_is_killed_is_started_again(tmp_path: Path) -> None:
    leaver = spec(tmp_path, "leaver", f"raise SystemExit({int(Exit.DRAINED)})")  # as one that was asked to
    async with Supervisor([leaver, spec(tmp_path, "sleeper", SLEEPER)], QUICK) as supervisor:
        left, child = supervisor.children
        await eventually(lambda: left.state is ChildState.DONE and child.state is ChildState.RUNNING)
        os.kill(killed := child.pid, signal.SIGKILL)
        await eventually(lambda: child.state is ChildState.RUNNING and child.pid != killed)
    assert (left.state, left.restarts, child.restarts) == (ChildState.DONE, 0, 1)
    async with Supervisor([spec(tmp_path, "wrong", "raise SystemExit(2)")], QUICK) as supervisor:
        with pytest.raises(ChildFailed, match="configuration is wrong"):
            await supervisor.wait()
    assert supervisor.children[0].restarts == 0


async def test_the_child_with_the_work_ends_the_mesh_when_it_is_done(tmp_path: Path) -> None:
    worker = spec(tmp_path, "worker", "print('all is done')", ends_mesh=True)
    async with Supervisor([worker, spec(tmp_path, "sleeper", SLEEPER)], QUICK) as supervisor:
        assert await supervisor.wait() == "worker"
    assert [child.state for child in supervisor.children] == [ChildState.DONE, ChildState.STOPPED]


async def test_a_child_that_ignores_sigterm_is_killed_with_its_group(tmp_path: Path) -> None:
    ignore = "import signal, subprocess, sys, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    child = "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
    code = f"{ignore}{child}print(child.pid, flush=True)\ntime.sleep(600)\n"
    supervisor = Supervisor([spec(tmp_path, "stubborn", code)], QUICK)
    await supervisor.start()
    child = supervisor.children[0]
    await eventually(lambda: child.last_words().isdigit())
    family = [psutil.Process(pid) for pid in (int(child.last_words()), child.pid)]
    await supervisor.stop(grace=0.1)
    await eventually(lambda: all(is_gone(process) for process in family))


async def test_the_log_of_a_child_that_writes_much_is_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor_module, "LOGS_EVERY", 0.01)
    monkeypatch.setattr(logging, "FILE_BYTES", 1000)
    code = "import time\nfor i in range(10**9): print('line', i, flush=True); time.sleep(0.0005)"
    async with Supervisor([spec(tmp_path, "chatty", code)], QUICK) as supervisor:
        child = supervisor.children[0]
        await eventually(lambda: (tmp_path / "chatty.log.3").exists())
        await eventually(lambda: "line" in child.last_words())
    assert len(list(tmp_path.iterdir())) == 4


# --- passwords stay out of what commands print, log, serve and show in lists of processes -----------------------------
SECRET = "pass-word-7"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """HOST:PORT of a broker with the user `mesh`."""
    server = Server(BrokerSettings(port=0, store=str(tmp_path_factory.mktemp("broker") / "store")), ("mesh", SECRET))
    with asyncio.Runner() as runner:
        runner.run(server.start())
        yield server.bus.url.removeprefix("nats://")
        runner.run(server.stop(grace=0))


@pytest.mark.parametrize(
    ("command", "form"),
    [
        ("status --json --wait 3 --url", "nats://mesh:wrong-{}@{}"),
        ("status --json --wait 3 --url", "nats://{}@{}"),
        ("status --json --wait 3 --url", "mesh:wrong-{}@{}"),
        ("serve --port 0 --url", "nats://{}@{}"),
        ("ui --port 0 --patience 3 --node.log-dir logs --bus.url", "mesh:wrong-{}@{}"),
        ("prover --node.broker-wait 3 --node.log-dir logs --node.log-json --bus.url", "nats://mesh:wrong-{}@{}"),
    ],
)
def test_a_command_that_the_broker_refuses_does_not_show_the_password(
    place: str,
    command: str,
    form: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*command.split(), form.format(SECRET, place)]) != 0
    shown = "".join(capfd.readouterr()) + "".join(file.read_text() for file in tmp_path.rglob("*.log"))
    assert SECRET not in shown and place in shown


async def test_a_child_of_up_shows_no_password_and_gets_no_secret_that_it_does_not_need(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "key-of-another")
    monitor = listenable("127.0.0.1", 0)
    file = tmp_path / "mesh.toml"
    file.write_text(
        f'[run]\nname = "r"\ndir = "{tmp_path}"\n[bus]\nurl = "nats://mesh:{SECRET}@{place}"\n[ui]\nport = {monitor}\n'
    )
    none = UpSettings(broker=0, learner=0, inference=0, prover=0, lean_proxy=0)
    plan = make_plan(file, none, load_node(file))
    bus = await Bus.connect(plan.node.bus, run="r", name="test", wait=10)
    await streams.ensure(bus)
    await bus.close()
    async with Supervisor(plan.children, none.rules()) as supervisor:
        (ui,) = supervisor.children
        page = f"http://127.0.0.1:{monitor}"

        async def answers() -> bool:
            try:
                return '"alive":1' in await asyncio.to_thread(get, f"{page}/api/state")
            except OSError:
                return False

        await until(answers, what="the monitor")
        await eventually(lambda: '"node runs"' in ui.spec.log.read_text(), what="the broker's answer")
        lines = map(json.loads, ui.spec.log.read_text().splitlines())
        (metrics,) = [line["metrics"] for line in lines if line["event"] == "node runs"]
        shown = [f"{page}/api/state", metrics, metrics.replace("/metrics", "/healthz")]
        texts = [await asyncio.to_thread(get, url) for url in shown]
        process = psutil.Process(ui.pid)
        assert process.environ()["PROOFMESH_NATS_PASSWORD"] == SECRET, "it has connected with it"
        assert "key-of-another" not in process.environ().values()
        assert SECRET not in " ".join([*process.cmdline(), *texts])
    assert SECRET not in ui.spec.log.read_text()


def get(url: str) -> str:
    with urllib.request.urlopen(url) as answer:
        text: str = answer.read().decode()
        return text
