"""Runs for the monitor, and a monitor that serves them; tests of pages and of views start from here."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import ClientSession

from common import curves
from common.curves import METRICS, Evaluated, Part, encode_line
from common.life.serving import Access, served
from common.protocol.messages import NodeInfo
from common.records.readers import DATABASE
from common.records.store import Store
from common.settings import WebSettings
from tests.background import RunOnBroker
from tests.node.learner.builders import PROVED, planned, result, row
from ui.control import HEADER, Control
from ui.mesh_state import MeshState
from ui.runs import Kind, Run, Runs
from ui.server import Monitor, encode
from ui.views import all_views, asked


def evaluated(label: str, **changes: int) -> Evaluated:
    levels = {"1": Part(statements=4, solved=1, undecided=1, share=0.3333)}
    numbers = {"step": 7, "weights": 3, "statements": 4, "solved": 1, "undecided": 1, "simulations": 16} | changes
    numbers |= {"simulations_used": 31, "lean_attempts": 99}
    return Evaluated(label=label, beside=True, time=2.5, levels=levels, **numbers)


def small_run(folder: Path) -> Store:
    """A run directory with one point, one evaluation and one proof; its records stay open."""
    folder.mkdir(parents=True)
    store = Store(folder / DATABASE)
    store.add_theorems([row("t")])
    store.dispatch([planned(1)], 1.0)
    store.record(result(planned(1).attempt), PROVED, 2.0)
    (folder / METRICS).write_bytes(encode_line(1.0, 1, {"loss": 2.0}))
    (folder / curves.EVALUATIONS).write_bytes(curves.evaluation_line(evaluated("step-7")))
    return store


def mesh(name: str = "demo", *nodes: NodeInfo, now: float = 1.0) -> Run:
    """The run of a watched mesh whose folder is elsewhere, with these nodes in its registry."""
    state = MeshState()
    state.see_registry(list(nodes), now)
    return Run(name, Kind.MESH, None, state, connected=True)


def ask(run: Run, view: str, /, **parameters: str | int) -> Any:
    """What a page gets from a view of a run; `from_` is the parameter `from`."""
    found = all_views()[view]
    given = {name.rstrip("_"): str(value) for name, value in parameters.items()}
    return msgspec.json.decode(encode(found.answer(run, asked(found, given))))


@asynccontextmanager
async def monitoring(runs: Runs, port: int = 0, **options: Any) -> AsyncIterator[str]:
    """The address of a monitor, without a slash at its end. `options`: of the Monitor."""
    monitor = Monitor(runs, **options)
    async with served(monitor.application(), WebSettings(), port) as runner:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
        monitor.close()


TOKEN = "abcdefgh" * 4
MAY = {"Authorization": f"Bearer {TOKEN}", HEADER: "1"}


@asynccontextmanager
async def controlling(run: RunOnBroker) -> AsyncIterator[str]:
    """The address of a monitor's part that acts on its mesh, for who has TOKEN."""
    control = Control(run.node)
    async with monitoring(Runs(None, mesh(run.name)), access=Access(WebSettings(), TOKEN), control=control) as url:
        yield f"{url}/api/control"
    await control.close()


async def posted(url: str, body: object, headers: dict[str, str] | None = None) -> tuple[int, Any]:
    """Status and content of the answer."""
    async with ClientSession() as session, session.post(url, json=body, headers=headers or MAY) as response:
        text = await response.text()
        return response.status, await response.json() if text.startswith(("{", "[")) else text
