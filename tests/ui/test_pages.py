"""The monitor's pages in a real browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from aiohttp import web

from common.protocol.messages import LogRecord, Point
from tests.ui.browser import Windows, expect
from ui.mesh_state import MeshState
from ui.server import Monitor

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = [pytest.mark.process, pytest.mark.asyncio(loop_scope="session")]


@pytest_asyncio.fixture(loop_scope="session")
async def monitor() -> AsyncIterator[tuple[Monitor, str]]:
    monitor = Monitor(MeshState(), "demo")
    runner = web.AppRunner(monitor.application())
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield monitor, f"http://127.0.0.1:{runner.addresses[0][1]}"
    monitor.close()
    await runner.cleanup()


async def test_a_page_opens_without_an_error(page: Page, monitor: tuple[Monitor, str]) -> None:
    watching, url = monitor
    watching.point(Point(time=1.0, step=1, values={"loss": 2.0}))
    watching.log(LogRecord(node_id="n", role="prover", time=1.0, level="info", event="begun"))
    await page.goto(url)
    await expect(page.get_by_text("demo").first).to_be_visible()
    await expect(page.get_by_text("begun").first).to_be_visible()


async def test_a_fault_of_a_page_is_heard(windows: Windows, monitor: tuple[Monitor, str]) -> None:
    _, url = monitor
    page = await windows.open(url)
    await page.evaluate(
        """async () => {
            setTimeout(() => { throw new Error("uncaught") });
            await fetch("/absent").catch(() => 0);
            await new Promise((done) => {
                document.addEventListener("securitypolicyviolation", done);
                document.body.insertAdjacentHTML("beforeend", "<img onerror='alert(1)' src='data:,'>");
            });
            console.error("said");
        }"""
    )
    seen = "\n".join(windows.faults.unexpected())
    for words in ("exception: Error: uncaught", "answer: 404", "Content Security Policy", "console: said"):
        assert words in seen
    windows.faults.expect("uncaught|404|Content Security Policy|said")
