"""Passwords and tokens of the broker stay out of what commands print, log, serve and show in lists of processes."""

import asyncio
import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from broker import streams
from broker.launcher import Server
from broker.settings import BrokerSettings
from common.bus import Bus
from common.config import load_node
from common.machine import listenable
from node.command.cli import main
from node.mesh.plan import UpSettings, make_plan
from node.mesh.supervisor import Supervisor
from tests.waiting import eventually, until

pytestmark = pytest.mark.process

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
