"""A browser for the tests of the monitor's pages, and monitors of runs that are made up."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from common.curves import METRICS, About, encode_line, write_about
from scripts.browser import NoBrowser, chromium
from scripts.made_run import BEGAN, make_run
from tests.node.eval.small import outcomes, write
from tests.node.stp.filled import filled
from tests.ui.browser import Serve, Windows
from tests.ui.hostile_run import make_hostile
from tests.ui.monitors import monitoring
from ui.runs import Kind, Run, Runs

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """Chromium, started once. Tests are skipped where there is none."""
    try:
        async with chromium() as browser:
            yield browser
    except NoBrowser as reason:
        pytest.skip(str(reason))


@pytest_asyncio.fixture(loop_scope="session")
async def windows(browser: Browser, serve: Serve) -> AsyncIterator[Windows]:
    """Opens pages. The test fails if a browser reports a fault that is not in `windows.faults.expect(...)`. They are
    closed before the monitors that they show."""
    windows = Windows(browser)
    yield windows
    await windows.close()


@pytest_asyncio.fixture(loop_scope="session")
async def page(windows: Windows) -> Page:
    """A page in a fresh profile, of a laptop's size."""
    return await windows.open()


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A finished run of a learner, with all files. Tests only read them."""
    folder = tmp_path_factory.mktemp("runs") / "made"
    make_run(folder)
    return Run("made", Kind.LEARNER, folder)


@pytest.fixture(scope="session")
def runs_folder(made: Run) -> Path:
    """The folder of `made`, with a run full of hostile values, `hostile`, and runs of the other kinds: `training`,
    `self-play`, `evaluation`. Tests only read them."""
    folder = made.path("").parent
    shutil.copytree(folder / "made", folder / "hostile")
    make_hostile(folder / "hostile")
    filled(folder / "self-play").close()
    write(folder / "evaluation", outcomes({"t1": 5, "t2": 0, "t3": 17}))
    (folder / "training").mkdir()
    write_about(folder / "training", About(stage="sft", steps=200, parameters=1_000_000, started=BEGAN))
    points = (encode_line(BEGAN + n, n, {"loss": 3.0 / (n + 1), "valid_loss": 3.3 / (n + 1)}) for n in range(100))
    (folder / "training" / METRICS).write_bytes(b"".join(points))
    return folder


@pytest_asyncio.fixture(loop_scope="session")
async def serve() -> AsyncIterator[Serve]:
    """Serves the runs of a folder, and one that is watched; returns the monitor's address."""
    async with AsyncExitStack() as stack:

        async def serve(folder: Path | None, watched: Run | None = None) -> str:
            return await stack.enter_async_context(monitoring(Runs(folder, watched)))

        yield serve


@pytest_asyncio.fixture(loop_scope="session")
async def site(serve: Serve, runs_folder: Path) -> str:
    """The address of a monitor of the runs in `runs_folder`."""
    return await serve(runs_folder)
