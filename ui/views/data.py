"""Views of data: the replay buffer by source and age, its rows, and one row as the network reads it.

What a buffer consists of is the learner's rule (no duplicates, a window, rows that are held out), and how a row becomes
tokens is the trainer's. So these views take both from `node.learner.replay.shown`, as `proofmesh replay show` does;
a second version of them would soon show something else. It is imported when a page first asks, and brings no torch.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import nlargest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from common.output.command import UserError
from common.records.readers import DATABASE
from common.records.transitions import read_transitions
from ui.runs import Kind, Run
from ui.views import View
from ui.views.searching import From, Limit, cut

if TYPE_CHECKING:
    from node.learner.replay.shown import Buffer, Reading, Row

AGES = 24
"""Bars of the chart of ages."""

SHORT = 400
"""Characters of a goal and of a tactic in the list."""

MOST_TOKENS = 4000
"""Tokens of a row that are sent."""

KEPT = 4
"""Buffers that are kept in memory, each with some hundred bytes a row: those of the runs that were looked at last."""

Count = Annotated[int, msgspec.Meta(ge=0, le=10**9)]


class ReplayQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which rows, and in which order."""

    text: str = ""
    """In the state, tactic, theorem, attempt or purpose."""
    source: str = ""
    """A value of `Source`; empty: all of the buffer. `supervised`: the transitions of the run's banks."""
    order: Literal["newest", "oldest", "uses", "steps"] = "newest"
    """`uses`, `steps`: the most first."""
    sample: Annotated[int, msgspec.Meta(ge=0, le=200)] = 0
    """So many rows drawn at random, in place of a page of them."""
    seed: Count = 0
    """Equal seeds draw equal rows."""
    start: From = msgspec.field(name="from", default=0)
    limit: Limit = 50


def replay(run: Run, query: ReplayQuery) -> dict[str, Any]:
    """The buffer in numbers, and a page of its rows. `age`: training steps since the weights that found a row."""
    if run.kind not in (Kind.LEARNER, Kind.MESH):
        return {"kind": run.kind}
    from node.learner.replay.shown import Source, containing, file_of, supervised

    folder = run.records.parent
    kept, step = _kept(folder), _step(run)
    buffer, rows, uses = kept.buffer, kept.buffer.rows(), kept.buffer.uses()
    # 1. The buffer in numbers.
    bank = supervised(folder)
    found: dict[str, Any] = {
        "kind": run.kind,
        "step": step,
        "window": buffer.settings.replay.window,
        "supervised_share": buffer.settings.replay.supervised_share,
        **kept.numbers(step, uses),
    }
    found["sources"] = {each.value: 0 for each in Source} | found["sources"] | {Source.SUPERVISED.value: len(bank)}
    # 2. The rows that were asked for.
    wanted = Source.SUPERVISED if query.source == Source.SUPERVISED else Source.PROOF
    chosen = bank if wanted is Source.SUPERVISED else rows
    if query.source:
        chosen = [row for row in chosen if row.source == query.source]
    chosen = containing(chosen, file_of(folder, wanted), query.text)
    found["total"] = len(chosen)
    chosen = _page(chosen, query, uses)
    texts = read_transitions(file_of(folder, wanted), [row.number for row in chosen])
    found["rows"] = [
        _told(row, uses, step) | {"goal": cut(_goal(read.state), SHORT), "tactic": cut(read.tactic, SHORT)}
        for row, read in zip(chosen, texts, strict=True)
    ]
    return found


def _goal(state: str) -> str:
    """What is to be proved, without the hypotheses; of a text that is no state, all of it."""
    return state[max(0, state.rfind("⊢")) :]


def _page(rows: list[Row], query: ReplayQuery, uses: dict[int, int]) -> list[Row]:
    if query.sample:
        return random.Random(query.seed).sample(rows, min(query.sample, len(rows)))
    if query.order == "uses":
        rows = nlargest(query.start + query.limit, rows, key=lambda row: uses.get(row.number, 0))
    elif query.order == "steps":
        rows = nlargest(query.start + query.limit, rows, key=lambda row: row.steps)
    elif query.order == "newest":
        rows = rows[::-1]
    return rows[query.start : query.start + query.limit]


class RowQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which row."""

    number: int
    supervised: bool = False


def replay_row(run: Run, query: RowQuery) -> dict[str, Any]:
    """A row as the network reads it: text and tokens of its input and its target. Without a checkpoint the run has no
    tokenizer: `unread` then says so."""
    from node.learner.replay.shown import Row, Source, encoded, file_of

    folder = run.records.parent
    buffer = _kept(folder).buffer
    row = Row(query.number, Source.SUPERVISED) if query.supervised else buffer.row(query.number)
    (read,) = read_transitions(file_of(folder, row.source), [row.number])
    told: dict[str, Any] = _told(row, buffer.uses(), _step(run))
    told |= {"state": cut(read.state), "tactic": cut(read.tactic)}
    try:
        how = _reading(folder)
    except UserError as error:
        return told | {"unread": str(error)}
    shown = encoded(read, how)
    told |= {"steps": shown["remaining_steps"], "left_out": shown["left_out"], "checkpoint": how.folder.name}
    for name in () if shown["left_out"] else ("input", "target"):
        tokens = shown[f"{name}_tokens"]
        pieces = [(token, how.tokenizer.decode([token], special=True)) for token in tokens[:MOST_TOKENS]]
        told[name] = {"text": cut(shown[name]), "count": len(tokens), "tokens": pieces}
    return told


def _told(row: Row, uses: dict[int, int], step: int) -> dict[str, Any]:
    age = None if row.found_at is None else max(0, step - row.found_at)
    told = row._asdict() | {"age": age, "uses": uses.get(row.number, 0)}
    return told if row.theorem else told | {"uses": None, "recorded": None}


def _step(run: Run) -> int:
    """The run's latest training step."""
    points = run.points()
    return points[-1].step if points else 0


# --- buffers that are kept --------------------------------------------------------------------------------------------


@dataclass
class _Kept:
    """A buffer, and what was counted in it."""

    state: tuple[int, int]
    """Of the files that it was made from."""
    buffer: Buffer
    _rows: list[Row] = field(default_factory=list, init=False)
    _state: tuple[int, int] = field(default=(-1, -1), init=False)
    _counted: dict[str, Any] = field(default_factory=dict, init=False)

    def numbers(self, step: int, uses: dict[int, int]) -> dict[str, Any]:
        """Its rows by source and by age. They are counted again when the buffer or the step has changed: that takes
        0.1 s for 100,000 rows."""
        rows = self.buffer.rows()
        if self._rows is not rows or self._state != (step, len(uses)):
            self._counted = {
                "rows_in_all": len(rows),
                "sources": Counter(row.source.value for row in rows),
                "never_used": sum(1 for row in rows if row.number not in uses),
                "ages": _ages(rows, step),
            }
            self._rows, self._state = rows, (step, len(uses))
        return self._counted


def _ages(rows: list[Row], step: int) -> dict[str, Any]:
    """How many rows of each source have which age: in AGES bars, each `width` steps wide; `unknown` rows have none."""
    ages = [(row.source.value, max(0, step - row.found_at)) for row in rows if row.found_at is not None]
    width = max((age for _, age in ages), default=0) // AGES + 1
    counts: dict[str, list[int]] = {}
    for source, age in ages:
        counts.setdefault(source, [0] * AGES)[age // width] += 1
    mean = sum(age for _, age in ages) / len(ages) if ages else None
    return {"width": width, "counts": counts, "unknown": len(rows) - len(ages), "mean": mean}


_buffers: dict[Path, _Kept] = {}
"""By run folder, the one that was asked for last at the end."""
_lock = threading.Lock()


def _kept(folder: Path) -> _Kept:
    """The run's buffer with everything that is recorded by now. Raises UserError."""
    from node.learner.replay.shown import Buffer, settings_of

    config = folder / "config.toml"
    with _lock:
        # Another run of the same name has another file, and other settings make another buffer.
        state = ((folder / DATABASE).stat().st_ino, config.stat().st_mtime_ns if config.is_file() else 0)
        kept = _buffers.pop(folder, None)
        if kept is None or kept.state != state:
            kept = _Kept(state, Buffer(folder, settings_of(folder)))
        kept.buffer.read()
        _buffers[folder] = kept
        while len(_buffers) > KEPT:
            del _buffers[next(iter(_buffers))]
        return kept


def _reading(folder: Path) -> Reading:
    """How the run's network reads. Raises UserError."""
    from node.model.checkpoint_folders import latest

    return _reading_at(folder, latest(folder / "checkpoints"))


@lru_cache(maxsize=KEPT)
def _reading_at(folder: Path, checkpoint: Path | None) -> Reading:
    """Read again with each new checkpoint: it takes the time to check all its files."""
    from node.learner.replay.shown import reading_of

    return reading_of(folder, lambda _: None)


VIEWS = {"replay": View(ReplayQuery, replay), "replay-row": View(RowQuery, replay_row)}
