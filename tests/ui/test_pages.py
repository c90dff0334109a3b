"""The monitor's pages in a real browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from common.protocol.messages import ProofFound
from tests.ui.browser import Windows, expect
from tests.ui.monitors import mesh, monitoring
from ui.runs import Run, Runs

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = [pytest.mark.process, pytest.mark.asyncio(loop_scope="session")]


@pytest_asyncio.fixture(loop_scope="session")
async def watched() -> AsyncIterator[tuple[Run, str]]:
    run = mesh()
    async with monitoring(Runs(None, run)) as url:
        yield run, url


async def test_a_page_opens_without_an_error(page: Page, watched: tuple[Run, str]) -> None:
    run, url = watched
    assert run.mesh is not None
    run.mesh.see_proof(ProofFound(theorem_id="t", attempt_id="1", purpose="train", time=9.0, lean="theorem begun : 1"))
    await page.goto(url)
    await expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    await expect(page.get_by_text("begun").first).to_be_visible()


async def test_a_fault_of_a_page_is_heard(windows: Windows, watched: tuple[Run, str]) -> None:
    _, url = watched
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
