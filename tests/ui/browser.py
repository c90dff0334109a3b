"""The monitor's pages in a real browser: Chromium, which Playwright drives (`scripts.browser`).

The fixtures are in tests/ui/conftest.py. They live in pytest-asyncio's loop of the session, so a file of tests with a
browser begins with `pytestmark = [pytest.mark.process, pytest.mark.asyncio(loop_scope="session")]`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import pytest

from scripts.browser import DESKTOP, SECONDS

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Locator, LocatorAssertions, Page, Request, Response


Serve = Callable[..., Awaitable[str]]
"""Serves the runs of a folder, and one that is watched; returns the monitor's address."""


def expect(shown: Locator) -> LocatorAssertions:
    """What must come true of an element, within SECONDS. Files of tests import it from here, so that they can be
    imported where Playwright is not installed."""
    from playwright.async_api import expect

    expect.set_options(timeout=SECONDS * 1000)
    return expect(shown)


class Faults:
    """What a browser reported that is wrong: errors in the console (violations of the content security policy are
    some), exceptions that nothing caught, answers that are errors, and requests without an answer."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self._expected: list[re.Pattern[str]] = []

    def expect(self, pattern: str) -> None:
        """Faults with this pattern are what the test is about."""
        self._expected.append(re.compile(pattern))

    def unexpected(self) -> list[str]:
        return [fault for fault in self.seen if not any(each.search(fault) for each in self._expected)]

    def watch(self, page: Page) -> None:
        page.on("console", lambda said: self._add("console", said.text, said.type == "error"))
        page.on("pageerror", lambda error: self._add("exception", error.stack or str(error)))
        page.on("response", self._answered)
        page.on("requestfailed", self._unanswered)
        page.on("crash", lambda _: self._add("crash", page.url))

    def _add(self, kind: str, text: str, wrong: bool = True) -> None:
        if wrong:
            self.seen.append(f"{kind}: {text}")

    def _answered(self, response: Response) -> None:
        self._add("answer", f"{response.status} {response.url}", response.status >= 400)

    def _unanswered(self, request: Request) -> None:
        # A page that is left or closed aborts its streams.
        self._add("request", f"{request.failure} {request.url}", "ERR_ABORTED" not in (request.failure or ""))


class Windows:
    """Opens pages for a test, each in a profile of its own, and hears what goes wrong in them."""

    def __init__(self, browser: Browser) -> None:
        self.faults = Faults()
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self._asked: set[Request] = set()

    async def open(self, url: str = "about:blank", size: tuple[int, int] = DESKTOP, *, dark: bool = False) -> Page:
        """A page of this size, in pixels, at an address."""
        context = await self._browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            locale="en-GB",
        )
        self._contexts.append(context)
        context.set_default_timeout(SECONDS * 1000)
        page = await context.new_page()
        self.faults.watch(page)
        page.on("request", lambda request: "/api/" in request.url and self._asked.add(request))
        for ended in ("requestfinished", "requestfailed"):
            page.on(ended, lambda request: self._asked.discard(request))
        await page.goto(url)
        return page

    async def settled(self, page: Page) -> None:
        """Wait until a page is open, has all data that it has asked for, and has drawn them."""
        await page.locator("main h1").first.wait_for()
        async with asyncio.timeout(SECONDS):
            quiet = 0
            while quiet < 2:
                # A request may follow from the answer to another one, in the next frame.
                await page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
                quiet = 0 if self._asked else quiet + 1

    async def visit(self, page: Page, path: str) -> None:
        """Go from a page of the monitor to another one of its pages, as links do: without loading all again."""
        await page.evaluate(
            """(path) => {
                document.querySelector("main h1")?.setAttribute("data-left", "");
                history.pushState(null, "", path);
                dispatchEvent(new PopStateEvent("popstate"));
            }""",
            path,
        )
        try:
            await page.locator("main h1:not([data-left])").first.wait_for()
            await self.settled(page)
        except Exception as error:
            error.add_note(f"on the way to {path[:300]}")
            raise

    async def close(self) -> None:
        """Close all pages. Fails the test if there was a fault that it did not expect."""
        for context in self._contexts:
            await context.close()
        if faults := self.faults.unexpected():
            pytest.fail("the browser reported:\n" + "\n".join(faults[:20]), pytrace=False)


async def flaws(page: Page) -> list[str]:
    """What is wrong with a page as a person sees it: it is wider than its window, it says that something cannot be
    shown, it shows a value that is none, or a text of the run ran as a script."""
    found: list[str] = await page.evaluate(_FLAWS)
    return found


def told(found: dict[str, list[str]]) -> str:
    """What is wrong with some pages, in words."""
    return "\n".join(f"{path}: {flaw}" for path, wrong in found.items() for flaw in wrong)


_FLAWS = r"""() => {
    const found = [], root = document.documentElement, width = root.clientWidth;
    const cut = (each) => { // whether something between it and the window scrolls or cuts it
        for (let up = each.parentElement; up && up !== document.body; up = up.parentElement) {
            if (getComputedStyle(up).overflowX !== "visible") return true;
        }
        return false;
    };
    if (root.scrollWidth > width) {
        const wide = [...document.querySelectorAll("body *")]
            .filter((each) => each.getBoundingClientRect().right > width + 1 && !cut(each)).slice(0, 3);
        if (!wide.length) { // what an element contains may be wider than itself
            const over = (each) => each.getBoundingClientRect().left + each.scrollWidth > width + 1;
            wide.push(...[...document.querySelectorAll("main *")].filter((each) => over(each) && !cut(each)).slice(-3));
        }
        const names = wide.map((each) => `<${each.tagName} class=${each.className}> ${each.textContent.slice(0, 60)}`);
        found.push(`${root.scrollWidth} pixels wide in a window of ${width}: ${names.join(" | ")}`);
    }
    if (window.ran !== undefined) found.push("a text ran as a script");
    const none = /.{0,30}(\bNaN\b|\bundefined\b|\[object |\bInfinity\b|Invalid Date|cannot be shown).{0,30}/g;
    for (const each of document.body.innerText.match(none) ?? []) found.push(`shows: ${each}`);
    for (const each of document.querySelectorAll(".problem")) {
        if (!each.hidden) found.push(`problem: ${each.textContent}`);
    }
    if (document.querySelector("main h1")?.textContent === "No such page") found.push("no such page");
    return found;
}"""
