"""The monitor: what its pages weigh, how fast it answers about a large run, and what 1,000 nodes cost a page."""

from __future__ import annotations

import asyncio
import itertools
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import aiohttp
import msgspec

from common.life.serving import served
from common.limits import Positive
from common.protocol.messages import Heartbeat, NodeInfo
from common.records import readers, searches
from common.settings import WebSettings
from common.watch.nodes import NodeFiles
from scripts.bench.harness import Part, Results, cpu_of, in_process, machine, medians, quantile
from scripts.browser import DESKTOP, NoBrowser, chromium
from scripts.made_run import make_run, multiply
from ui.mesh_state import MeshState
from ui.runs import Kind, Run, Runs
from ui.server import Monitor as Served
from ui.views import all_views

if TYPE_CHECKING:
    from playwright.async_api import Browser, CDPSession

RUN, MESH = "made", "mesh"
"""The run from files, and the simulated mesh."""

THEOREMS = 1000
"""Theorems of the run that is multiplied: 800 train, 200 test ones."""


@dataclass(kw_only=True)
class Monitor(Part):
    """Measures the monitor: weight and first paint of a page, answers about a large run, a page of many nodes.

        proofmesh bench monitor [--thousands 100] [--nodes 1000] [--json OUT]

    The run is made up (`scripts.made_run`) and the nodes are simulated in the monitor's process, without a
    broker. Chromium is on the same machine, so its times have the server's in them.
    """

    thousands: Positive = 100
    """Thousands of theorems of the large run. It has nearly twice as many attempts."""
    nodes: Positive = 1000
    repeats: Positive = 30
    """Requests of each kind."""
    seconds: Positive = 20
    """Seconds for which a page of nodes is watched."""

    problems = (NoBrowser,)

    async def measure(self) -> Results:
        """All measurements."""
        with tempfile.TemporaryDirectory(prefix="proofmesh-bench-") as folder:
            run = Path(folder) / RUN
            make_run(run, theorems=4 * THEOREMS // 5, attempts=THEOREMS)
            multiply(run, self.thousands)
            async with AsyncExitStack() as stack:
                place = Path(folder) / "url"
                child = await stack.enter_async_context(
                    in_process(serve, folder, str(self.nodes), str(place), ready=True, loop="asyncio")
                )
                url = place.read_text()
                found: Results = {
                    "asked": self.asked(),
                    "machine": machine(),
                    "api": await self._answers(url, run, child.pid),
                }
                browser = await stack.enter_async_context(chromium())
                found["first"] = await _first(browser, url, min(5, self.repeats))
                found["nodes"] = await self._watched(browser, url, child.pid)
        return found

    async def _answers(self, url: str, run: Path, pid: int) -> Results:
        """Milliseconds of requests for each kind of data, one after the other, and of the monitor's processor."""
        found: Results = {}
        async with aiohttp.ClientSession() as session:
            for name, address in _requests(run):
                times, cpu = [], cpu_of(pid)
                for _ in range(self.repeats):
                    began = time.perf_counter()
                    async with session.get(url + address) as response:
                        body = await response.read()
                    times.append((time.perf_counter() - began) * 1000)
                    if response.status != 200:
                        raise RuntimeError(f"{address}: {response.status} {body[:200]!r}")
                found[name] = {
                    "first_ms": round(times[0], 1),
                    "median_ms": round(statistics.median(times), 1),
                    "p95_ms": quantile(times, 95, 1),
                    "cpu_ms": round((cpu_of(pid) - cpu) * 1000 / len(times), 1),
                    "kb": round(len(body) / 1000, 1),
                }
        return found

    async def _watched(self, browser: Browser, url: str, pid: int) -> Results:
        """What a page of all nodes costs while they all report: for the page, and for the monitor's process."""
        page = await browser.new_page(viewport={"width": DESKTOP[0], "height": DESKTOP[1]})
        await page.goto(f"{url}/run/{MESH}/nodes")
        await page.get_by_text("-made-00").first.wait_for()
        client = await page.context.new_cdp_session(page)
        received = 0

        def hear(event: dict[str, Any]) -> None:
            nonlocal received
            received += int(event["encodedDataLength"] or event["dataLength"])

        client.on("Network.dataReceived", hear)
        await client.send("Network.enable")
        # Processor time: by the clock, the times of other programs on these cores would count.
        await client.send("Performance.enable", {"timeDomain": "threadTicks"})
        before, cpu, began = await _main_thread(client), cpu_of(pid), time.perf_counter()
        await asyncio.sleep(self.seconds)
        took = time.perf_counter() - began
        busy = {key: value - before[key] for key, value in (await _main_thread(client)).items()}
        await page.close()
        return {
            "main_thread_ms_per_s": round(1000 * busy["TaskDuration"] / took, 1),
            "script_ms_per_s": round(1000 * busy["ScriptDuration"] / took, 1),
            "layout_ms_per_s": round(1000 * (busy["LayoutDuration"] + busy["RecalcStyleDuration"]) / took, 1),
            "bytes_per_s": round(received / took),
            "server_cpu_ms_per_s": round(1000 * (cpu_of(pid) - cpu) / took, 1),
        }


def _requests(run: Path) -> Iterator[tuple[str, str]]:
    """A name and an address of every kind of data about a run."""
    with readers.reading(run / readers.DATABASE) as db:
        (theorem,) = db.execute("SELECT theorem_id FROM proofs ORDER BY proof_id DESC LIMIT 1").fetchone()
        (attempt,) = db.execute("SELECT attempt_id FROM proofs ORDER BY proof_id DESC LIMIT 1").fetchone()
    with readers.reading(run / searches.FILE) as db:
        (search,) = db.execute("SELECT attempt_id FROM searches LIMIT 1").fetchone()
    (node,) = {sample.node for sample in NodeFiles(run).read() if sample.role == "learner"}
    things = {"theorem": theorem, "search": search, "state": search, "node": node, "role": "prover", "replay-row": "1"}
    yield "runs", "/api/runs"
    for name, view in all_views().items():
        if name == "conjecture":  # of self-play alone
            continue
        needed = [field.name for field in msgspec.structs.fields(view.query) if field.required]
        about = things.get(name) or things.get(name.partition("_")[0], attempt)
        yield name, f"/api/run/{run.name}/{name}?{urlencode(dict.fromkeys(needed, about))}"


async def _main_thread(client: CDPSession) -> dict[str, float]:
    """Seconds that the page's main thread has worked so far, by kind."""
    metrics = (await client.send("Performance.getMetrics"))["metrics"]
    return {each["name"]: float(each["value"]) for each in metrics}


async def _first(browser: Browser, url: str, repeats: int) -> Results:
    """The first page in a browser that has nothing in its cache: what is transferred, and when it shows something."""
    found = []
    for _ in range(repeats):
        context = await browser.new_context(viewport={"width": DESKTOP[0], "height": DESKTOP[1]})
        page = await context.new_page()
        await page.goto(f"{url}/run/{RUN}/overview")
        await page.locator("main canvas").first.wait_for()
        await page.wait_for_timeout(1000)  # all that it loads later is loaded
        found.append(await page.evaluate(_LOADED))
        await context.close()
    return medians(found, 1)


_LOADED = """() => {
    const files = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
        .filter((each) => !each.name.includes("/events") && !each.name.includes("/api/"));
    const paint = performance.getEntriesByName("first-contentful-paint")[0];
    return {
        files: files.length,
        kb_transferred: files.reduce((sum, each) => sum + each.transferSize, 0) / 1000,
        kb_unpacked: files.reduce((sum, each) => sum + each.decodedBodySize, 0) / 1000,
        first_paint_ms: paint ? paint.startTime : -1,
        loaded_ms: performance.timing.loadEventEnd - performance.timing.navigationStart,
    };
}"""


async def serve(folder: str, nodes: str, place: str) -> None:
    """Serve the made run, and a mesh of so many nodes whose heartbeats come every second. Writes the address into the
    file `place`, and prints a line then."""
    state = MeshState()
    infos = [_info(number) for number in range(int(nodes))]
    monitor = Served(Runs(Path(folder), Run(MESH, Kind.MESH, None, state)))
    async with served(monitor.application(), WebSettings(), 0) as runner:
        Path(place).write_text(f"http://127.0.0.1:{runner.addresses[0][1]}")
        print("ready", flush=True)
        await _beat(state, infos)


async def _beat(state: MeshState, infos: list[NodeInfo]) -> None:
    """Tell of all nodes every second."""
    for second in itertools.count():
        now = time.time()
        state.see_registry(infos, now)
        for number, info in enumerate(infos):
            values = {"attempts": 3.0 * second + number, "expansions": 40.0 * second, "searches": float(number % 8)}
            values |= {"candidates": 90.0 * second, "queue": float((number + second) % 9), "workers": 4.0}
            values |= {"cpu_share": (number + 7 * second) % 100 / 100, "memory_mb": 300.0 + (number + second) % 50}
            values |= {"loop_lag_ms": 1.0 + (number * second) % 90, "worker_restarts": float(second // 60)}
            beat = Heartbeat(node_id=info.node_id, role=info.role, time=now, state="running", values=values)
            state.see_heartbeat(beat, now)
        state.tick(now)
        await asyncio.sleep(1.0)


def _info(number: int) -> NodeInfo:
    role = "prover" if number % 10 else "lean-proxy"
    return NodeInfo(
        node_id=f"{role}-made-{number:04d}",
        role=role,
        host=f"host-{number // 8:03d}.example",
        pid=1000 + number,
        version="0.1.0",
        started=time.time() - 100.0,
        metrics_url="http://127.0.0.1:1/metrics",
        capacity={"searches": 8},
    )
