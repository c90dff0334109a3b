"""Pictures of the monitor's pages, light and dark, for the documentation.

    python -m scripts.screenshots --run runs/demo

Needs Chromium (`just setup tools`). The pictures have a palette, so that they are small.
"""

from __future__ import annotations

import asyncio
import io
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tyro
from PIL import Image

from common.life.serving import served
from common.output.visible import say
from common.settings import WebSettings
from scripts.browser import DESKTOP, PHONE, SECONDS, NoBrowser, addresses, chromium
from ui.runs import Runs
from ui.server import Monitor

if TYPE_CHECKING:
    from playwright.async_api import Browser

COLOURS = 256


@dataclass
class PictureSettings:
    """Draw the pages of a run."""

    run: Path = Path("runs/demo")
    """The folder of the run."""
    out: Path = Path("docs/pictures/monitor")
    """The folder of the pictures."""
    only: tuple[str, ...] = ()
    """Names of pages; none: all."""


def main() -> int:
    settings = tyro.cli(PictureSettings, description=__doc__)
    try:
        asyncio.run(draw(settings))
    except NoBrowser as error:
        say(f"screenshots: {error}", file=sys.stderr)
        return 2
    return 0


async def draw(settings: PictureSettings) -> None:
    """Serve the run, and draw each page in both themes, and the overview on a phone."""
    run = settings.run.resolve()
    monitor = Monitor(Runs(run.parent))
    settings.out.mkdir(parents=True, exist_ok=True)
    async with served(monitor.application(), WebSettings(), 0) as runner, chromium() as browser:
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        for name, path in addresses(run):
            if settings.only and name not in settings.only:
                continue
            for theme in ("light", "dark"):
                await _draw(browser, url + path, theme, DESKTOP, settings.out / f"{name}-{theme}.png")
            if name == "overview":
                await _draw(browser, url + path, "light", PHONE, settings.out / f"{name}-phone.png")
        monitor.close()


async def _draw(browser: Browser, url: str, theme: str, size: tuple[int, int], file: Path) -> None:
    page = await browser.new_page(viewport={"width": size[0], "height": size[1]}, reduced_motion="reduce")
    await page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    page.set_default_timeout(SECONDS * 1000)
    waiting = set()
    page.on("request", lambda request: waiting.add(request) if "/events" not in request.url else None)
    for ended in ("requestfinished", "requestfailed"):
        page.on(ended, lambda request: waiting.discard(request))
    await page.goto(url)
    await page.locator("main h1").first.wait_for()
    quiet = 0
    while quiet < 5:  # the stream of events never ends, so the network is never idle
        await page.wait_for_timeout(200)
        quiet = 0 if waiting else quiet + 1
    picture = Image.open(io.BytesIO(await page.screenshot()))
    picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)
    await page.close()
    print(f"{file}: {file.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    sys.exit(main())
