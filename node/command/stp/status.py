"""`proofmesh stp status RUN` and `proofmesh stp show RUN WHAT`: what a run has recorded, also while it is running."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from common.limits import Positive, Timeout
from common.output.command import Exit, UserError, command
from common.output.visible import say

if TYPE_CHECKING:
    from node.stp.readers import RunReader, RunSummary


STATUS = """\
`proofmesh stp status RUN`: the rounds of a run of self-play, also while it is running.

RUN is a run directory, or the name of one below `runs`. `elaborated`: conjectures that elaborate, of those sent to
Lean; `barely`: proved conjectures with a rate below `conjecturer.barely`; `trained on`: proofs + conjectures.

Exit codes: 0 success; 2 there is no such run, or it cannot be read.
"""
"""The help of `stp status`."""

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
    return command(StatusSettings, argv, _status, prog="proofmesh stp status", description=STATUS)


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


# --- one conjecture or statement, or the conjectures of a round ------------------------------------------------------

SHOW = """\
`proofmesh stp show RUN WHAT`: the history of a conjecture or a statement, or the conjectures of a round.

RUN is a run directory, or the name of one below `runs`. WHAT is the name of a conjecture (`conjecture_2_17`) or of a
statement, or `round 2`. Without WHAT, the latest round with conjectures is shown.

Exit codes: 0 success; 2 there is no such run, conjecture, statement or round.
"""
"""The help of `stp show`."""


@dataclass
class ShowSettings:
    """Show a conjecture, a statement, or examples of a round."""

    run: Annotated[Path, tyro.conf.Positional]
    """The run directory, or its name below `runs`."""

    what: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """The name of a conjecture or of a statement; or `round` and a number."""

    count: Positive = 3
    """Number of a round's conjectures to show; those that got furthest come first."""

    proofs: Positive = 3
    """Maximum proofs to show of each."""

    json: bool = False
    """Print one JSON document instead of text."""


def main_show(argv: Sequence[str]) -> int:
    """The command; returns its exit code."""
    return command(ShowSettings, argv, _show_story, prog="proofmesh stp show", description=SHOW)


def _show_story(settings: ShowSettings) -> int:
    """Raises StpError."""
    from node.stp.readers import open_run

    store = open_run(settings.run)
    try:
        say(_shown(store, settings), indent="")
    finally:
        store.close()
    return Exit.DONE


def _shown(store: RunReader, settings: ShowSettings) -> str:
    """The text to print. Raises StpError."""
    from common.report.table import as_document
    from node.stp.readers import ConjectureStory, StatementStory, examples_of, story_of
    from node.stp.report import as_text, conjecture_paragraphs, statement_paragraphs, title_of

    round = _round(store, settings.what)
    stories: list[ConjectureStory | StatementStory]
    stories = [*examples_of(store, round, settings.count)] if round is not None else [story_of(store, settings.what[0])]
    if settings.json:
        return as_document(stories)
    texts = [
        as_text(title_of(story), conjecture_paragraphs(story, settings.proofs))
        if isinstance(story, ConjectureStory)
        else as_text(story.theorem.name, statement_paragraphs(story, settings.proofs))
        for story in stories
    ]
    return "\n\n".join(texts) or f"round {round} has no conjectures"


def _round(store: RunReader, what: Sequence[str]) -> int | None:
    """The requested round; None if a name is requested. Raises UserError."""
    if not what:
        made = store.fates()
        if not made:
            raise UserError(f"{store.path.parent} has no conjectures yet; name a statement")
        return max(made)
    if what[0] == "round" and len(what) == 2 and what[1].isdecimal():
        return int(what[1])
    if len(what) > 1:
        raise UserError(f"`{' '.join(what)}` is neither a name nor a round; write `round 2`, or one name")
    return None
