"""A real browser for tests of the monitor's pages: Chromium, which Playwright drives.

The fixtures are in tests/ui/conftest.py. They live in pytest-asyncio's loop of the session, so a file of tests with a
browser begins with `pytestmark = [pytest.mark.process, pytest.mark.asyncio(loop_scope="session")]`.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from tests.commands import found

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Locator, LocatorAssertions, Page, Request, Response

FLAGS = [
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]
"""Chromium asks nothing outside this machine."""

SECONDS = 60.0
"""Longest wait for what a page shows: other tests use the machine, too."""

DESKTOP = (1366, 768)
PHONE = (390, 844)


def expect(shown: Locator) -> LocatorAssertions:
    """What must come true of an element, within SECONDS. Files of tests import it from here, so that they can be
    imported where Playwright is not installed."""
    from playwright.async_api import expect

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
        await page.goto(url)
        return page

    async def close(self) -> None:
        """Close all pages. Fails the test if there was a fault that it did not expect."""
        for context in self._contexts:
            await context.close()
        if faults := self.faults.unexpected():
            pytest.fail("the browser reported:\n" + "\n".join(faults[:20]), pytrace=False)


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """A browser without windows. Skips the test where there is none."""
    program = found("chromium")
    if importlib.util.find_spec("playwright") is None:
        pytest.skip("no playwright: `just setup tools` installs it")
    from playwright.async_api import async_playwright, expect

    expect.set_options(timeout=SECONDS * 1000)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=program, args=FLAGS, chromium_sandbox=os.geteuid() != 0, timeout=SECONDS * 1000
        )
        try:
            yield browser
        finally:
            await browser.close()
