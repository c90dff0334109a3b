"""Views of self-play: its rounds, its conjectures, and the history of one of them.

What counts as proved, as barely proved, or as solved is self-play's own rule. These views take it from
`node.stp.readers`, as `proofmesh stp status` and `stp show` do. It is imported when a page first asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import msgspec

from common.limits import Natural
from ui.runs import SELF_PLAY, Kind, Run
from ui.views import NoQuery, View
from ui.views.searching import From, Limit, cut

if TYPE_CHECKING:
    from node.stp.readers import RunReader
    from node.stp.records import Conjecture

POINTS = 300
"""Most points of the curve of solved statements."""

SHORT = 300
"""Characters of a statement and of a reason in the list."""


@contextmanager
def _opened(run: Run) -> Iterator[RunReader]:
    """Raises UserError."""
    from node.stp.readers import open_run

    store = open_run(run.path(SELF_PLAY).parent)
    try:
        yield store
    finally:
        store.close()


def selfplay(run: Run, query: NoQuery) -> dict[str, Any]:
    """Every round in numbers, and statements solved by proofs sampled."""
    if run.kind is not Kind.SELF_PLAY:
        return {"kind": run.kind}
    from node.stp.readers import recipe_of, summarise

    with _opened(run) as store:
        found = summarise(store)
    step = -(-len(found.curve) // POINTS)
    return {
        "kind": run.kind,
        "statements": found.statements,
        "test": found.test,
        "solved": found.solved,
        "samples": found.samples,
        "finished": found.finished,
        "barely": recipe_of(run.path(SELF_PLAY).parent).conjecturer.barely,
        "rounds": [asdict(each) for each in found.rounds],
        "curve": found.curve[:-1:step] + found.curve[-1:] if step else [],
    }


class ConjecturesQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which conjectures, the newest first."""

    text: str = ""
    """In the model's text, the name, or the reason for the fate."""
    fate: str = ""
    """A value of `Fate`; empty: all."""
    round: Natural | None = None
    start: From = msgspec.field(name="from", default=0)
    limit: Limit = 50


def conjectures(run: Run, query: ConjecturesQuery) -> dict[str, Any]:
    """A page of the conjectures with what became of them."""
    if run.kind is not Kind.SELF_PLAY:
        return {"kind": run.kind}
    with _opened(run) as store:
        total, found = store.newest_conjectures(query.limit, query.start, query.text, query.fate, query.round)
    rows = [
        {
            "name": each.name,
            "round": each.round,
            "statement": cut(_statement(each), SHORT),
            "fate": each.fate,
            "reason": cut(each.reason, SHORT),
            "seed": each.seed.theorem.name,
            "samples": samples,
            "correct": correct,
        }
        for each, samples, correct in found
    ]
    return {"kind": run.kind, "total": total, "rows": rows}


def _statement(conjecture: Conjecture) -> str:
    """Its statement without its name, which the row has; the model's text if that is no statement."""
    theorem = conjecture.theorem
    return f"{theorem.binders} : {theorem.conclusion}".removeprefix(" : ") if theorem is not None else conjecture.output


class NameQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which conjecture or statement, by its name."""

    name: str


def story(run: Run, query: NameQuery) -> dict[str, Any]:
    """The history of a conjecture, or of a statement, in labelled paragraphs: as `proofmesh stp show` has them."""
    from node.stp.readers import ConjectureStory, story_of
    from node.stp.report import conjecture_paragraphs, statement_paragraphs

    with _opened(run) as store:
        found = story_of(store, query.name)
    paragraphs = conjecture_paragraphs(found) if isinstance(found, ConjectureStory) else statement_paragraphs(found)
    return {"name": query.name, "paragraphs": [(label, cut(text)) for label, text in paragraphs]}


VIEWS = {
    "selfplay": View(NoQuery, selfplay),
    "conjectures": View(ConjecturesQuery, conjectures),
    "conjecture": View(NameQuery, story),
}
