"""`proofmesh stp show RUN WHAT`: the history of a conjecture or a statement, or the conjectures of a round.

RUN is a run directory, or the name of one below `runs`. WHAT is the name of a conjecture (`conjecture_2_17`) or of a
statement, or `round 2`. Without WHAT, the latest round with conjectures is shown.

Exit codes: 0 success; 2 there is no such run, conjecture, statement or round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from common.limits import Positive
from common.output.command import Exit, UserError, command
from common.output.visible import say

if TYPE_CHECKING:
    from node.stp.readers import RunReader


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
    return command(ShowSettings, argv, _show, prog="proofmesh stp show", description=__doc__)


def _show(settings: ShowSettings) -> int:
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
