"""Every page of the monitor in a real browser: from the files of a run, with hostile values in every field, on a phone,
with a keyboard alone, and as programs for blind people read it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scripts.browser import DESKTOP, PHONE, addresses, listed
from tests.ui.browser import Serve, Windows, expect, flaws, told

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = [pytest.mark.process, pytest.mark.asyncio(loop_scope="session")]

OF_THE_RUN = {
    "runs": "made",
    "evaluation": "step-200",
    "theorems": "train_000",
    "attempts": "made-258",
    "searches": "made-",
    "nodes": "prover-made-0",
    "logs": "did its part",
}
SHOWN = {
    "overview": "Is it learning?",
    "training": "Policy loss",
    "data": "Where rows come from",
    "selfplay": "self-play",
    "theorem": "Budget over attempts",
    "attempt": "Where its time went",
    "search": "State by state",
    "submit": "--allow-control",
    "why": "Where the time of an attempt goes",
    "node": "Event loop",
    "inference": "states answered",
    "lean": "Tactics by outcome",
    "broker": "Queues",
}
"""What pages show by their names: those of OF_THE_RUN show what is in the files of the run `made`."""


async def faulty(
    windows: Windows, page: Page, url: str, run: Path, shown: Mapping[str, str], most: int = 1, every: bool = True
) -> dict[str, list[str]]:
    """What is wrong with the pages of a run, by their paths; not `every`: with those in `shown` alone."""
    found = {}
    await page.goto(url)
    for name, path in addresses(run, most):
        if every or name in shown:
            await windows.visit(page, path)
            await expect(page.locator("main")).to_contain_text(shown.get(name, ""), ignore_case=True)
            if wrong := await flaws(page):
                found[path[:100]] = wrong
    return found


async def test_pages_show_what_is_in_the_files_of_a_run(windows: Windows, site: str, runs_folder: Path) -> None:
    page = await windows.open()
    assert not (found := await faulty(windows, page, site, runs_folder / "made", OF_THE_RUN, every=False)), told(found)


async def test_hostile_values_leave_every_page_whole(windows: Windows, site: str, runs_folder: Path) -> None:
    page = await windows.open()
    assert not (found := await faulty(windows, page, site, runs_folder / "hostile", SHOWN)), told(found)


@pytest.mark.slow
@pytest.mark.parametrize("size", [DESKTOP, PHONE])
async def test_hostile_values_leave_pages_whole_wherever_they_are(
    windows: Windows, site: str, runs_folder: Path, size: tuple[int, int]
) -> None:
    page = await windows.open(size=size)
    assert not (found := await faulty(windows, page, site, runs_folder / "hostile", {}, most=30)), told(found)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["training", "self-play", "evaluation"])
async def test_runs_of_other_kinds_have_what_they_have(windows: Windows, site: str, kind: str) -> None:
    """What they have not, the page says in words."""
    windows.faults.expect("answer: 404|status of 404")
    page = await windows.open(f"{site}/run/{kind}/overview")
    found = {}
    for name in [name for name, hidden in listed() if not hidden]:
        await windows.visit(page, "/runs" if name == "runs" else f"/run/{kind}/{name}")
        text = await page.locator("main").inner_text()
        wrong = [flaw for flaw in await flaws(page) if not flaw.startswith("problem: ")]
        if wrong or len(text) < 20:
            found[name] = [*wrong, text]
    assert not found, told(found)


@pytest.mark.slow
async def test_every_page_fits_on_a_phone(windows: Windows, site: str, runs_folder: Path) -> None:
    page = await windows.open(f"{site}/run/made/overview", PHONE)
    await windows.settled(page)
    await expect(page.get_by_role("navigation")).not_to_be_visible()
    await page.get_by_role("button", name="Menu").click()
    await page.get_by_role("link", name="All runs").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Runs")
    await expect(page.get_by_role("navigation")).not_to_be_visible()
    assert not (found := await faulty(windows, page, site, runs_folder / "made", SHOWN | OF_THE_RUN)), told(found)


async def test_a_keyboard_alone_is_enough(page: Page, windows: Windows, site: str) -> None:
    await page.goto(f"{site}/runs")
    await windows.settled(page)
    # 1. The first stop leads past the navigation.
    await page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to content")
    await expect(skip).to_be_focused()
    await expect(skip).to_be_in_viewport()
    await page.keyboard.press("Enter")
    await expect(page.locator("main")).to_be_focused()
    # 2. A row of a table leads where its link leads, and the new page has the focus.
    link = page.get_by_role("link", name="made", exact=True)
    await stops(page, until="made")
    await expect(link).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", level=1, name="Overview")).to_be_focused()


@pytest.mark.slow
async def test_every_stop_of_the_keyboard_is_seen_and_named(windows: Windows, site: str, runs_folder: Path) -> None:
    page = await windows.open(site)
    found = {}
    for _, path in addresses(runs_folder / "made"):
        await windows.visit(page, path)
        if wrong := [stop for stop in await stops(page) if stop.startswith("!")]:
            found[path[:100]] = wrong[:5]
    assert not found, told(found)


async def stops(page: Page, until: str = "", most: int = 80) -> list[str]:
    """The names of what gets the focus with Tab, from here to the end of the page, or to this name. What a person
    cannot see, or what has no name, begins with `!`."""
    found: list[str] = []
    while len(found) < most and (not found or found[-1] != until):
        await page.keyboard.press("Tab")
        stop = await page.evaluate(_STOP)
        if not stop:
            break
        found.append(stop)
    return found


_STOP = """() => {
    const each = document.activeElement;
    if (!each || each === document.body) return "";
    const box = each.getBoundingClientRect(), style = getComputedStyle(each);
    const label = each.labels?.[0]?.textContent ?? "";
    const name = (each.getAttribute("aria-label") || label || each.innerText || each.title || "").trim();
    const inside = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
    const seen = inside && box.width > 0 && (style.outlineStyle !== "none" || style.boxShadow !== "none");
    return seen && name ? name : `! ${seen ? "no name" : "not seen"}: ${each.outerHTML.slice(0, 120)}`;
}"""


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True])
async def test_no_page_shuts_anybody_out(windows: Windows, site: str, runs_folder: Path, dark: bool) -> None:
    """Nothing that axe finds is serious: contrast, names, roles, order of headings."""
    from axe_playwright_python.async_playwright import Axe

    page = await windows.open(dark=dark)
    found = {}
    await page.goto(site)
    for _, path in addresses(runs_folder / "made"):
        await windows.visit(page, path)
        results = await Axe().run(page)
        serious = [each for each in results.response["violations"] if each["impact"] in ("serious", "critical")]
        if serious:
            found[path] = [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in serious]
    assert not found, told(found)


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
