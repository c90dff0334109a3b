"""Views of theorems, attempts and kept searches."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import msgspec

from common.bus import BusError
from common.limits import Natural
from common.protocol.attempts import AttemptOutcome, Purpose
from common.protocol.messages import SearchesAtWork, SearchesQuestion
from common.protocol.subjects import searches_at_work
from common.records import readers, searches
from common.records.readers import (
    AttemptRecord,
    CheckedProof,
    Order,
    TheoremGroup,
    TheoremRecord,
    TheoremResult,
    Wanted,
    WantedAttempts,
)
from common.records.rows import PARTS
from common.records.searches import KeptRow, SearchState, SearchTree
from common.watch import spans
from common.watch.logs import LOGS, LogFiles
from ui.runs import NotHere, Run
from ui.views import NoQuery, View

MOST_COUNTED = 2000
"""Attempts with a text or an outcome are counted up to so many beyond the first that is shown."""

MOST_ATTEMPTS, MOST_PROOFS, MOST_LOGS, MOST_SPANS = 200, 20, 100, 3000
"""What a page about one thing shows at most."""

LONGEST = 20_000
"""Characters of a text that are sent; a statement in a file may have its whole proof around it."""

GROUPS_SECONDS = 5.0
"""A run that is written to has its theorems counted once in this time: it takes 0.2 s for 100,000."""

RUNNING = "running"
"""Outcome of a search that goes on."""

AT_WORK_SECONDS = 2.0
"""The provers are asked at most once in this time, however many pages look."""

MOST_ASKED, ASKED_AT_ONCE = 200, 16
"""Provers that are asked what they search."""

MOST_AT_WORK, MOST_LOOKED = 100, 8
"""Searches that go on: of the list, and of those whose trees are remembered."""

From = Annotated[int, msgspec.Meta(ge=0, le=10**9)]
Limit = Annotated[int, msgspec.Meta(ge=1, le=200)]


def cut(text: str, most: int = LONGEST) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


# --- theorems ---------------------------------------------------------------------------------------------------------


class TheoremsQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which theorems, and in which order."""

    text: str = ""
    result: TheoremResult | None = None
    family: str = ""
    level: Natural | None = None
    split: str = "train"
    """`test`: the statements of evaluations."""
    order: Order = Order.HARDEST
    start: From = msgspec.field(name="from", default=0)
    limit: Limit = 50


def theorems(run: Run, query: TheoremsQuery) -> dict[str, Any]:
    """One page of the run's theorems, and how many there are."""
    test = query.split == "test"
    wanted = Wanted(query.text, query.result, query.family, query.level, untried=True, test=test)
    total: int | None
    if query.text or test:
        rows, total = readers.find_theorems(run.records, query.limit, query.order, wanted, query.start)
        if total is None and query.start:
            _, total = readers.find_theorems(run.records, 1, query.order, wanted)
    else:
        rows = readers.read_theorems(run.records, query.limit, query.order, wanted, query.start)
        total = sum(each.theorems for each in groups(run.records) if _in(each, query))
    return {"total": total or 0, "rows": [_theorem(row) for row in rows]}


def _in(group: TheoremGroup, query: TheoremsQuery) -> bool:
    return (
        query.result in (None, group.known)
        and query.family in ("", group.family)
        and query.level in (None, group.level)
    )


def _theorem(row: TheoremRecord) -> dict[str, Any]:
    content = asdict(row) | {"known": row.known, "result": row.result}
    return content | {name: cut(content[name], 400) for name in ("binders", "conclusion")}


@dataclass
class _Groups:
    """The groups of a run's theorems, and when they were counted."""

    counted: float
    state: tuple[int, int]
    found: list[TheoremGroup]


_groups: dict[Path, _Groups] = {}
_counting = threading.Lock()


def groups(path: Path) -> list[TheoremGroup]:
    """The groups of the train theorems, counted again if the file has changed, and then at most once in
    GROUPS_SECONDS."""
    with _counting:
        files = [each.stat() for each in (path, path.with_name(f"{path.name}-wal")) if each.exists()]
        state = (sum(each.st_size for each in files), max((each.st_mtime_ns for each in files), default=0))
        kept = _groups.get(path)
        if kept is None or (kept.state != state and time.monotonic() - kept.counted > GROUPS_SECONDS):
            if len(_groups) > 8:
                _groups.clear()
            kept = _groups[path] = _Groups(time.monotonic(), state, readers.read_groups(path))
        return kept.found


def levels(run: Run, query: NoQuery) -> dict[str, Any]:
    """The train theorems by level and by result, and the families."""
    found = groups(run.records)
    by_level: dict[int, dict[str, int]] = {}
    for each in found:
        sums = by_level.setdefault(each.level, {"theorems": 0, "attempts": 0, "failures": 0, "expansions": 0})
        for name in ("theorems", "attempts", "failures", "expansions"):
            sums[name] += getattr(each, name)
        sums[each.known] = sums.get(each.known, 0) + each.theorems
    return {
        "levels": [{"level": level, **sums} for level, sums in sorted(by_level.items())],
        "families": sorted({each.family for each in found}),
    }


class IdQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing by its id."""

    id: str


def theorem(run: Run, query: IdQuery) -> dict[str, Any]:
    """A theorem: its statement, what is known of it, its newest attempts and proofs."""
    found = readers.read_theorem(run.records, query.id)
    if found is None:
        raise NotHere(f"run {run.name} has no theorem {cut(query.id, 80)!r}")
    record, statement = found
    rows, total = readers.find_attempts(run.records, MOST_ATTEMPTS, WantedAttempts(theorem=query.id))
    place = statement.place
    return {
        **_theorem(record),
        "statement": cut(statement.signature),
        "header": cut(statement.header),
        "place": cut(f"{place.before.rstrip()} …{place.after}") if place is not None else None,
        "attempts_total": total,
        "tries_shown": _attempts(run, rows),
        "proofs": [_proof(each) for each in readers.proofs_of(run.records, MOST_PROOFS, theorem=query.id)],
    }


def _proof(each: CheckedProof) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.structs.asdict(each.found)
    more = {"disproof": each.disproof, "axioms": each.axioms, "lean_version": each.lean_version}
    return found | more | {"lean": cut(each.found.lean)}


# --- attempts ---------------------------------------------------------------------------------------------------------


class AttemptsQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which attempts, the newest first."""

    text: str = ""
    outcome: str = ""
    purpose: str = ""
    start: From = msgspec.field(name="from", default=0)
    limit: Limit = 50


def attempts(run: Run, query: AttemptsQuery) -> dict[str, Any]:
    """One page of the run's attempts, and how many there are, as in `theorems`."""
    wanted = WantedAttempts(query.text, outcome=query.outcome, purpose=query.purpose)
    rows, total = readers.find_attempts(run.records, query.limit, wanted, query.start, MOST_COUNTED)
    counted = bool(query.text or query.outcome)
    return {
        "total": total,
        "more": counted and total == query.start + MOST_COUNTED,
        "outcomes": [*AttemptOutcome, readers.OUTSTANDING],
        "purposes": list(Purpose),
        "rows": _attempts(run, rows),
    }


def _attempts(run: Run, rows: Sequence[AttemptRecord]) -> list[dict[str, Any]]:
    assert run.folder is not None
    kept = searches.kept_of(run.folder, (row.attempt_id for row in rows))
    return [_attempt(row) | {"kept": row.attempt_id in kept} for row in rows]


def _attempt(row: AttemptRecord) -> dict[str, Any]:
    largest = row.largest
    content = asdict(row) | {"total": row.total, "message": cut(row.message or "", 300)}
    del content["parts"]
    return content | {"largest": None if largest is None else {"name": PARTS[largest[0]].name, "seconds": largest[1]}}


def found_attempt(run: Run, name: str) -> AttemptRecord:
    """The attempt with this id. Raises NotHere."""
    rows = readers.read_attempts(run.records, 1, WantedAttempts(beginning=name)) if name else []
    if not rows or rows[0].attempt_id != name:
        raise NotHere(f"run {run.name} has no attempt {cut(name, 80)!r}")
    return rows[0]


def attempt(run: Run, query: IdQuery) -> dict[str, Any]:
    """An attempt, its statement, the parts of its time in their order, its proof."""
    row = found_attempt(run, query.id)
    known = readers.read_theorem(run.records, row.theorem_id)
    assert known is not None
    assert run.folder is not None
    statement = known[1].negation() if row.purpose == Purpose.DISPROVE else known[1]
    parts = [] if row.parts is None else asdict(row.parts).items()
    shown = [{"part": name, "seconds": value, **PARTS[name]._asdict()} for name, value in parts]
    return {
        **_attempt(row),
        "message": cut(row.message or ""),
        "statement": cut(statement.signature),
        "parts": shown or None,
        "proofs": [_proof(each) for each in readers.proofs_of(run.records, 1, attempt=row.attempt_id)],
        "kept": bool(searches.kept_of(run.folder, [row.attempt_id])),
    }


def attempt_spans(run: Run, query: IdQuery) -> dict[str, Any]:
    """What a traced attempt waited for, by its start, in seconds from the earliest span: each node has its own clock.
    None of an attempt that was not traced."""
    found = spans.read(run.path(spans.FILE).parent, query.id)
    begin = found[0].start if found else 0.0
    shown = [msgspec.structs.asdict(each) | {"start": each.start - begin} for each in found[:MOST_SPANS]]
    return {"spans": shown, "total": len(found), "left_out": sum(each.left_out for each in found)}


def attempt_logs(run: Run, query: IdQuery) -> list[dict[str, Any]]:
    """The last log records about an attempt, the oldest first."""
    records = [each for each in LogFiles(run.path(LOGS)).read(query.id) if query.id in each.fields.values()]
    return [
        {"time": each.time, "level": each.level, "node": each.node_id, "event": cut(each.event, 2000)}
        | {"fields": {name: cut(value, 2000) for name, value in each.fields.items() if name != "attempt"}}
        for each in records[-MOST_LOGS:]
    ]


# --- kept searches ----------------------------------------------------------------------------------------------------


class SearchesQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which kept searches, the most interesting or the newest first."""

    text: str = ""
    outcome: str = ""
    order: str = "interest"
    start: From = msgspec.field(name="from", default=0)
    limit: Limit = 50


def kept(run: Run, query: SearchesQuery) -> dict[str, Any]:
    """One page of the kept searches, and how many there are. The file may not exist: `keeps` says so."""
    folder = run.path(searches.FILE).parent
    if not (folder / searches.FILE).is_file():
        return {"keeps": False, "total": 0, "rows": [], "outcomes": []}
    rows = searches.kept_rows(
        folder, query.limit, query.text, offset=query.start, outcome=query.outcome, newest=query.order == "newest"
    )
    total = searches.count_kept(folder, query.text, query.outcome)
    return {"keeps": True, "total": total, "rows": rows, "outcomes": list(AttemptOutcome)}


@dataclass
class _AtWork:
    """What the provers of a run search, and when they were asked."""

    asked: float
    rows: list[dict[str, Any]]
    silent: int


_at_work: dict[str, _AtWork] = {}
_asking = threading.Lock()


def at_work(run: Run, query: NoQuery) -> dict[str, Any]:
    """The searches that go on, the longest first, at most MOST_AT_WORK; all pages share one look in AT_WORK_SECONDS.
    `silent`: provers that have not answered, or were not asked because there are more than MOST_ASKED."""
    with _asking:
        known = _at_work.get(run.name)
        if known is None or time.monotonic() - known.asked > AT_WORK_SECONDS:
            known = _at_work[run.name] = _ask_provers(run)
    return {"total": len(known.rows), "rows": known.rows[:MOST_AT_WORK], "silent": known.silent}


def _ask_provers(run: Run) -> _AtWork:
    views = run.mesh.views() if run.mesh is not None else []
    provers = [view.info.node_id for view in views if view.info.role == "prover" and view.gone_since is None]

    def ask(prover: str) -> list[dict[str, Any]] | None:
        try:
            found = _asked(run, prover).searches
        except (NotHere, BusError):
            return None
        return [{"prover": prover, **msgspec.structs.asdict(each)} for each in found]

    with ThreadPoolExecutor(ASKED_AT_ONCE) as threads:
        answers = list(threads.map(ask, provers[:MOST_ASKED]))
    rows = [row for answer in answers if answer is not None for row in answer]
    rows.sort(key=lambda row: -row["seconds"])
    return _AtWork(time.monotonic(), rows, len(provers) - sum(answer is not None for answer in answers))


def _asked(run: Run, prover: str, attempt: str = "") -> SearchesAtWork:
    """What a prover answers. Raises NotHere, BusError."""
    if run.ask is None or run.mesh is None or prover not in run.mesh.nodes:
        raise NotHere(f"run {run.name} has no prover {cut(prover, 80)!r} at work")
    return run.ask(searches_at_work(prover), SearchesQuestion(attempt=attempt), SearchesAtWork)


class TreeQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tree of a kept search, or of one that goes on."""

    id: str
    """Of the attempt."""
    prover: str = ""
    """Who searches it now; empty: it is kept."""
    tree: Annotated[int, msgspec.Meta(ge=0, le=10**6)] = 0


class StateQuery(TreeQuery, frozen=True, forbid_unknown_fields=True):
    """A state of a tree."""

    state: Annotated[int, msgspec.Meta(ge=0, le=10**7)] = 0


@lru_cache(maxsize=4)
def _unpacked(folder: Path, name: str, recorded: float) -> tuple[KeptRow, Sequence[SearchTree]]:
    """A kept search, unpacked once for the page and the states that one looks at. `recorded`: when, which tells it from
    that of an earlier run in this folder."""
    return searches.kept_search(folder, name)


Opened = tuple[KeptRow, Sequence[SearchTree]]

_looked: OrderedDict[tuple[str, str], Opened] = OrderedDict()
"""Searches that go on, as they were when somebody looked last, by run and attempt."""


def _look(run: Run, query: TreeQuery) -> Opened:
    """A search that goes on, as it is now. Raises NotHere, BadSearch, BusError."""
    answer = _asked(run, query.prover, query.id)
    row = next((each for each in answer.searches if each.attempt_id == query.id), None)
    if row is None:
        raise NotHere(f"{cut(query.prover, 80)} does not search {cut(query.id, 80)}: the search may be over")
    if not answer.trees:
        raise NotHere("no state is expanded yet, or the trees are too large for a message: look again later")
    trees = searches.unpacked(query.id, answer.trees)
    size = len(answer.trees)
    return KeptRow(row.attempt_id, row.theorem_id, row.purpose, RUNNING, time.time(), 0.0, size), trees


def opened(run: Run, query: TreeQuery, *, again: bool = True) -> Opened:
    """A search that has this tree. `again`: look at one that goes on anew. Raises NotHere, BadSearch, BusError."""
    key = run.name, query.id
    if query.prover:
        found = None if again else _looked.get(key)
        if found is None:
            found = _looked[key] = _look(run, query)
            _looked.move_to_end(key)
            if len(_looked) > MOST_LOOKED:
                _looked.popitem(last=False)
    else:
        folder = run.path(searches.FILE).parent
        recorded = searches.kept_of(folder, [query.id]).get(query.id)
        if recorded is None:
            raise NotHere(f"run {run.name} keeps no search of the attempt {cut(query.id, 80)!r}")
        found = _unpacked(folder, query.id, recorded)
    if query.tree >= len(found[1]):
        raise NotHere(f"the search of {cut(query.id, 80)} has no tree {query.tree}; it has {len(found[1])}")
    return found


GOAL, TACTIC = 90, 70
"""Characters of goals and tactics in a tree; `state` has them in full."""


def search(run: Run, query: TreeQuery) -> dict[str, Any]:
    """A tree without its texts, by columns: each state by its number, each tactic as
    [text, prior, visits, value, steps, dead, children]. The goals are shortened, as are the tactics."""
    row, trees = opened(run, query)
    tree = trees[query.tree]
    states = tree.states
    return {
        "kept": row,
        "in_records": run.folder is not None and run.path(readers.DATABASE).is_file(),
        "trees": [
            {"theorem": cut(each.theorem, 4000), "simulations": each.simulations, "states": len(each.states)}
            | {"tactics_tried": each.tactics_tried, "tactics_failed": each.tactics_failed}
            | {"steps": each.states[0].steps}
            for each in trees
        ],
        "columns": {
            "goal": [goal(each.state) for each in states],
            "parent": [each.parent for each in states],
            "visits": [each.visits for each in states],
            "value": [_rounded(each.value) for each in states],
            "steps": [each.steps for each in states],
            "dead": [int(each.dead) for each in states],
            "best": [each.best for each in states],
            "at": [_rounded(each.at) for each in states],
            "failed": [len(each.failed) for each in states],
            "tactics": [
                [
                    [
                        *(cut(" ".join(taken.tactic.split()), TACTIC), _rounded(taken.prior), taken.visits),
                        *(_rounded(taken.value), taken.steps, int(taken.dead), taken.children),
                    ]
                    for taken in each.tactics
                ]
                for each in states
            ],
        },
    }


def goal(state: str) -> str:
    """What a state asks for, in one line: the conclusion of its first goal, and how many goals there are."""
    goals = state.count("⊢")
    conclusion = " ".join(state.split("⊢", 1)[-1][: 8 * GOAL].split("\n\n", 1)[0].split())
    return cut(f"{goals} goals: {conclusion}" if goals > 1 else conclusion, GOAL)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


MOST_TACTICS = 300


def state(run: Run, query: StateQuery) -> dict[str, Any]:
    """One state of a tree in full, with at most MOST_TACTICS tactics and as many failed ones."""
    _, trees = opened(run, query, again=False)
    states = trees[query.tree].states
    if query.state >= len(states):
        raise NotHere(f"the tree has no state {query.state}; it has {len(states)}")
    found: SearchState = states[query.state]
    content: dict[str, Any] = msgspec.structs.asdict(found)
    tactics = [
        msgspec.structs.asdict(each)
        | {"tactic": cut(each.tactic, 2000), "leaves": [goal(states[child].state) for child in each.children[:20]]}
        for each in found.tactics[:MOST_TACTICS]
    ]
    failed = [
        {"tactic": cut(each.tactic, 2000), "kind": each.kind, "message": cut(each.message, 2000)}
        for each in found.failed[:MOST_TACTICS]
    ]
    counts = {"tactics_total": len(found.tactics), "failed_total": len(found.failed)}
    return content | counts | {"state": cut(found.state), "tactics": tactics, "failed": failed}


VIEWS = {
    "theorems": View(TheoremsQuery, theorems),
    "levels": View(NoQuery, levels),
    "theorem": View(IdQuery, theorem),
    "attempts": View(AttemptsQuery, attempts),
    "attempt": View(IdQuery, attempt),
    "attempt_spans": View(IdQuery, attempt_spans),
    "attempt_logs": View(IdQuery, attempt_logs),
    "searches": View(SearchesQuery, kept),
    "at_work": View(NoQuery, at_work),
    "search": View(TreeQuery, search),
    "state": View(StateQuery, state),
}
