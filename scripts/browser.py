"""Chromium without windows, which Playwright drives, and the addresses of the monitor's pages: for tests, measurements
and pictures of these."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from common.output.command import UserError
from common.records import readers, searches
from common.watch.nodes import NodeFiles
from scripts.setup import tools

if TYPE_CHECKING:
    from playwright.async_api import Browser

FLAGS = [
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]
"""It asks nothing outside this machine."""

SECONDS = 60.0
"""Longest wait for its start, and for what a page shows: other programs use the machine, too."""

DESKTOP = (1366, 768)
"""Size of a laptop's window in pixels."""
PHONE = (390, 844)


class NoBrowser(UserError):
    """There is no Chromium, or nothing that drives it."""


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """A browser. Raises NoBrowser."""
    program = tools.find("chromium")
    if program is None or importlib.util.find_spec("playwright") is None:
        raise NoBrowser(f"no {'playwright' if program else 'chromium'}: `just setup tools` gets it without root")
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=program, args=FLAGS, chromium_sandbox=os.geteuid() != 0, timeout=SECONDS * 1000
        )
        try:
            yield browser
        finally:
            await browser.close()


class Listed(NamedTuple):
    """A page of the monitor as ui/static/pages.js lists it."""

    name: str
    hidden: bool
    """It is about one thing of the run, such as an attempt, and not in the navigation."""


def listed() -> list[Listed]:
    """All pages of the monitor."""
    from ui.server import STATIC

    lines = re.findall(r'(?m)^ {2}"?([\w-]+)"?: \{(.*)\},$', (STATIC / "pages.js").read_text(encoding="utf-8"))
    return [Listed(name, "hidden: true" in rest) for name, rest in lines]


def addresses(run: Path, most: int = 1) -> Iterator[tuple[str, str]]:
    """The name and the path of every page about a learner's run, of those about one thing `most` times, those first
    that have most to show."""
    with readers.reading(run / readers.DATABASE) as db:
        found = {
            "theorem": db.execute(
                "SELECT theorems.theorem_id FROM theorems LEFT JOIN attempts USING (theorem_id)"
                " LEFT JOIN proofs USING (attempt_id)"
                " GROUP BY 1 ORDER BY COUNT(proof_id) > 0 DESC, COUNT(number) DESC, 1"
            ).fetchall(),
            "attempt": db.execute(
                "SELECT attempt_id FROM attempts LEFT JOIN results USING (attempt_id)"
                " ORDER BY outcome = 'proved' DESC, lean_attempts DESC, number"
            ).fetchall(),
        }
    found["node"] = [(each,) for each in sorted({sample.node for sample in NodeFiles(run).read()})]
    with readers.reading(run / searches.FILE) as db:
        found["search"] = db.execute("SELECT attempt_id FROM searches ORDER BY interest DESC, number").fetchall()
    for name, hidden in listed():
        if name == "runs":
            yield name, "/runs"
        elif not hidden:
            yield name, f"/run/{run.name}/{name}"
        else:
            yield from ((name, f"/run/{run.name}/{name}/{quote(each, safe='')}") for (each,) in found[name][:most])
