"""Runs a command and draws its terminal output as an SVG file.

    python -m scripts.terminal_picture docs/pictures/fill.svg './start fill docs/examples/Trees.lean' --run \\
        '.venv/bin/proofmesh fill docs/examples/Trees.lean --again'
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.text import Text

FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
"""Font declarations, which are removed so that the picture loads no files from the network."""


@dataclass
class PictureSettings:
    """Draw a command's output."""

    out: Annotated[Path, tyro.conf.Positional]
    """The SVG file."""
    shown: Annotated[str, tyro.conf.Positional]
    """The command line to show."""
    run: str = ""
    """The command to run; empty: the shown one."""
    width: int = 110
    """Columns."""


def main() -> int:
    settings = tyro.cli(PictureSettings, description=__doc__)
    command = shlex.split(settings.run or settings.shown)
    completed = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    with Path("/dev/null").open("w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=settings.width, file=nowhere, force_terminal=True)
        console.print(Text(f"$ {settings.shown}", style="bold"))
        for line in completed.stdout.splitlines():
            console.print(styled(line))
    picture = FONTS.sub("", console.export_svg(title="proofmesh"))
    settings.out.write_text(picture, encoding="utf-8")
    return completed.returncode


def styled(line: str) -> Text:
    """A line in the colours of a diff."""
    colours = {"+": "green", "-": "red", "@": "cyan"}
    return Text.from_ansi(line, style="" if line.startswith(("+++", "---")) else colours.get(line[:1], ""))


if __name__ == "__main__":
    sys.exit(main())
