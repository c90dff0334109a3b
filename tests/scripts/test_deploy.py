import asyncio
import os
import re
import signal
import sys
from dataclasses import replace
from pathlib import Path

import aiohttp
import psutil
import pytest

from common.life import faults
from common.life.process import kill_group, spawn_child
from node.mesh.mesh import Mesh
from scripts.docs.metrics import declared
from tests.commands import found
from tests.node.mesh.whole import private_cache, whole_mesh
from tests.prometheus import DEPLOY, Prometheus, promtool, queries
from tests.waiting import answered, until

BOARDS = sorted((DEPLOY / "dashboards").glob("*.json"))

SHAPES = {"counter": ("",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}


def test_alerts_and_dashboards_ask_for_metrics_that_are_there() -> None:
    known = {each.name + shape for each in declared() for shape in SHAPES[each.kind]}
    asked = {file.stem: "\n".join(queries(file)) for file in BOARDS}
    asked["alerts"] = (DEPLOY / "alerts.yml").read_text()
    assert set(asked) == {"alerts", "health", "learning", "throughput"}
    used = [(name, each) for name, text in asked.items() for each in re.findall(r"\bproofmesh_\w+", text)]
    assert [(name, each) for name, each in used if each not in known] == []
    assert len(re.findall("- alert:", asked["alerts"])) == 10


@pytest.mark.process
def test_each_alert_fires_on_its_fault_and_not_in_a_healthy_mesh() -> None:
    assert promtool("check", "config", str(DEPLOY / "prometheus.yml")) == ""
    assert promtool("test", "rules", str(Path(__file__).with_name("alerts_test.yml"))) == ""


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_prometheus_watches_a_mesh_and_names_its_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found("prometheus")
    monkeypatch.setenv("PROOFMESH_CACHE", str(private_cache(tmp_path)))
    async with Mesh.from_file(whole_mesh(tmp_path)) as mesh:
        flags = ["--run", mesh.run, "--url", mesh.bus.url, "--port", "0", "--every", "1"]
        command = [sys.executable, "-m", "node.command.cli", "targets", *flags]
        targets = await spawn_child(command, stdout=asyncio.subprocess.PIPE)
        assert targets.stdout is not None
        address = (await targets.stdout.readline()).decode().split()[-1]
        async with Prometheus(tmp_path, address) as prometheus:
            await _everything_is_shown(prometheus, address)
            await _faults_are_named(prometheus, mesh)
        targets.send_signal(signal.SIGTERM)
        assert await targets.wait() == 0
        await kill_group(targets)


async def _everything_is_shown(prometheus: Prometheus, address: str) -> None:
    # 1. All nodes, with labels that a restart does not change.
    async def up() -> set[tuple[str, str]]:
        return {(each["metric"]["role"], each["value"][1]) for each in await prometheus.ask('up{run="whole"}')}

    roles = ("broker", "inference", "lean-proxy", "learner", "prover", "ui")
    await answered(up, lambda found: found == {(role, "1") for role in roles}, what="six nodes that are up")
    # 2. Every query of every dashboard, as soon as there is something to show.
    missing = [query for file in BOARDS for query in queries(file) if "_gpu_" not in query]

    async def all_shown() -> bool:
        missing[:] = [query for query in missing if not await prometheus.ask(query)]
        return not missing

    try:
        await until(all_shown, 300, "data for every query")
    finally:
        assert missing == []
    # 3. What promtool says about each node's page.
    async with aiohttp.ClientSession() as session:
        for group in await (await session.get(address)).json():
            page = await (await session.get(f"http://{group['targets'][0]}/metrics")).text()
            assert promtool("check", "metrics", text=page) == "", group
            assert group["labels"]["__meta_proofmesh_node"] not in page


async def _faults_are_named(prometheus: Prometheus, mesh: Mesh) -> None:
    children = {child.spec.name: child.pid or 0 for child in mesh.children}

    async def fires(*alerts: tuple[str, str]) -> None:
        seen: set[tuple[str, str]] = set()

        async def all_seen() -> bool:
            seen.update(await prometheus.firing())
            return seen.issuperset(alerts)

        await until(all_seen, 90, str(alerts))

    # 1. A prover stands still for more than a second, three times.
    for _ in range(3):
        os.kill(children["prover"], signal.SIGSTOP)
        await asyncio.sleep(1.5)  # the fault itself
        os.kill(children["prover"], signal.SIGCONT)
        await asyncio.sleep(0.5)
    await fires(("EventLoopBlocked", ""))
    # 2. Lean and inference take two seconds longer.
    for child in mesh.children:
        if slow := {"lean-proxy": "lean-proxy:run=2", "inference": "inference:request=2"}.get(child.spec.name):
            child.spec = replace(child.spec, env={**(child.spec.env or os.environ), faults.SLOW: slow})
            os.kill(children[child.spec.name], signal.SIGKILL)
    await fires(("LeanBusy", ""), ("InferenceBusy", ""))
    # 3. The learner is stuck: it does not answer, nobody records results, provers have nothing to play, and when its
    #    entry in the registry has run out, it is missing.
    os.kill(children["learner"], signal.SIGSTOP)
    await fires(("NodeDown", "learner"), ("NodesMissing", "learner"), ("NothingRecorded", ""), ("ProversIdle", ""))
    os.kill(children["learner"], signal.SIGCONT)
    # 4. nats-server is stuck: nodes say that they have no broker.
    (server,) = psutil.Process(children["broker"]).children()
    server.suspend()
    await fires(("NodeUnhealthy", "prover"))
    server.resume()
