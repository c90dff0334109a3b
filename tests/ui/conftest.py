"""A browser for the tests of the monitor's pages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest_asyncio

from tests.ui.browser import Windows, chromium

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """Chromium, started once."""
    async with chromium() as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="session")
async def windows(browser: Browser) -> AsyncIterator[Windows]:
    """Opens pages. The test fails if a browser reports a fault that is not in `windows.faults.expect(...)`."""
    windows = Windows(browser)
    yield windows
    await windows.close()


@pytest_asyncio.fixture(loop_scope="session")
async def page(windows: Windows) -> Page:
    """A page in a fresh profile, of a laptop's size."""
    return await windows.open()
