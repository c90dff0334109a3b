"""Every page of the monitor in a real browser: from the files of a run, with hostile values in every field, on a phone,
with a keyboard alone, and as programs for blind people read it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scripts.browser import DESKTOP, PHONE, addresses
from tests.ui.browser import Serve, Windows, expect, flaws

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = [pytest.mark.process, pytest.mark.asyncio(loop_scope="session")]

SHOWN = {
    "runs": "made",
    "overview": "Is it learning?",
}
"""What a page shows of the made run, by its name: its main content."""


async def faulty(windows: Windows, page: Page, url: str, run: Path, most: int = 1) -> dict[str, list[str]]:
    """What is wrong with the pages of a run, by their paths."""
    found = {}
    await page.goto(url)
    for _, path in addresses(run, most):
        await windows.visit(page, path)
        if wrong := await flaws(page):
            found[path] = wrong
    return found


async def test_every_page_opens_from_the_files_of_a_run(windows: Windows, serve: Serve, runs_folder: Path) -> None:
    url = await serve(runs_folder)
    page = await windows.open()
    found = {}
    await page.goto(url)
    for name, path in addresses(runs_folder / "made"):
        await windows.visit(page, path)
        await expect(page.locator("main")).to_contain_text(SHOWN.get(name, ""))
        if wrong := await flaws(page):
            found[path] = wrong
    assert found == {}


async def test_hostile_values_leave_pages_whole(windows: Windows, serve: Serve, runs_folder: Path) -> None:
    url = await serve(runs_folder)
    page = await windows.open()
    assert await faulty(windows, page, url, runs_folder / "hostile") == {}


@pytest.mark.slow
@pytest.mark.parametrize("size", [DESKTOP, PHONE])
async def test_hostile_values_leave_pages_whole_wherever_they_are(
    windows: Windows, serve: Serve, runs_folder: Path, size: tuple[int, int]
) -> None:
    url = await serve(runs_folder)
    page = await windows.open(size=size)
    assert await faulty(windows, page, url, runs_folder / "hostile", most=30) == {}


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True])
async def test_no_page_shuts_anybody_out(windows: Windows, serve: Serve, runs_folder: Path, dark: bool) -> None:
    """Nothing that axe finds is serious: contrast, names, roles, order of headings."""
    from axe_playwright_python.async_playwright import Axe

    url = await serve(runs_folder)
    page = await windows.open(dark=dark)
    found = {}
    await page.goto(url)
    for _, path in addresses(runs_folder / "made"):
        await windows.visit(page, path)
        results = await Axe().run(page)
        serious = [each for each in results.response["violations"] if each["impact"] in ("serious", "critical")]
        if serious:
            found[path] = [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in serious]
    assert found == {}


async def test_a_fault_of_a_page_is_heard(windows: Windows, serve: Serve) -> None:
    page = await windows.open(await serve(None))
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
