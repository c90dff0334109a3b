"""`proofmesh stp status RUN`: the rounds of a run of self-play, also while it is running.

RUN is a run directory, or the name of one below `runs`. `elaborated`: conjectures that elaborate, of those sent to
Lean; `barely`: proved conjectures with a rate below `conjecturer.barely`; `trained on`: proofs + conjectures.

Exit codes: 0 success; 2 there is no such run, or it cannot be read.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from common.limits import Timeout
from common.output.command import Exit, command
from common.output.visible import say

if TYPE_CHECKING:
    from node.stp.readers import RunReader, RunSummary

WIDE = 200
"""Columns if the output is not a terminal, so that no number is cut off."""


@dataclass
class StatusSettings:
    """Show the rounds of a run of self-play."""

    run: Annotated[Path, tyro.conf.Positional]
    """The run directory, or its name below `runs`."""

    json: bool = False
    """Print one JSON document instead of tables."""

    watch: bool = False
    """Show the status again whenever the run records something, until it is finished."""

    every: Timeout = 2.0
    """Seconds between checks with `--watch`."""

    pictures: bool = False
    """Also write stp.html and its charts into the run directory."""


def main_status(argv: Sequence[str]) -> int:
    """The command; returns its exit code."""
    return command(StatusSettings, argv, _status, prog="proofmesh stp status", description=__doc__)


def _status(settings: StatusSettings) -> int:
    from node.stp.readers import open_run, summarise

    store = open_run(settings.run)
    try:
        if settings.watch:
            _watch(store, settings)
        else:
            _show(summarise(store), json=settings.json)
        if settings.pictures:
            from node.stp.report import write_report

            say(f"written: {', '.join(str(path) for path in write_report(store.path.parent))}", file=sys.stderr)
    finally:
        store.close()
    return Exit.DONE


def _show(run: RunSummary, *, json: bool) -> None:
    from common.output.terminal import Console
    from common.report.table import as_document
    from node.stp.report import view

    if json:
        print(as_document(run), flush=True)
        return
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDE
    console.print(view(run))


def _watch(store: RunReader, settings: StatusSettings) -> None:
    """Show the status on each change. On a terminal the tables are updated in place, elsewhere printed again."""
    from rich.live import Live

    from common.output.terminal import Console
    from node.stp.report import view

    console = Console(highlight=False)
    try:
        if settings.json or not console.is_terminal:
            for run in states(store, settings.every):
                _show(run, json=settings.json)
            return
        with Live(console=console, auto_refresh=False, vertical_overflow="visible") as live:
            for run in states(store, settings.every):
                live.update(view(run), refresh=True)
    except KeyboardInterrupt:
        return


def states(store: RunReader, every: float) -> Iterator[RunSummary]:
    """The present state of the run, and each new state after another process has written, until the run finishes."""
    from node.stp.readers import summarise

    seen: int | None = None
    while True:
        changes = store.changes()  # before reading, so that writes during the reading are noticed the next time
        if changes != seen:
            seen = changes
            run = summarise(store)
            yield run
            if run.finished:
                return
        time.sleep(every)
