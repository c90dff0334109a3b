"""A run whose every text and number is what a page could break on: the files of a made run, with their values replaced.

Values that the schema does not allow (a purpose that does not exist) stay as they are. So do numbers that count rows.
"""

import itertools
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec

from common.limits import LONGEST_NAME
from common.records.readers import DATABASE
from common.records.searches import FILE as SEARCHES, SearchState, SearchTree, packed, unpacked
from tests.hostile import HOSTILE

MARK = "window.ran"
"""What a script of a hostile value sets."""

TEXTS = (
    f"<script>{MARK} = 1</script>",
    f"<img src=x onerror={MARK}=1>",
    f'"><svg onload={MARK}=1>',
    f"' onmouseover='{MARK}=1' autofocus onfocus='{MARK}=1'",
    f"</title></textarea></style></script><script>{MARK}=1</script>",
    f"javascript:{MARK}=1",
    f"data:text/html,<script>parent.{MARK}=1</script>",
    f"${{{MARK}=1}} {{{{{MARK}=1}}}} <%= {MARK}=1 %>",
    "<b>bold</b> &lt; &amp;amp; &#60;script&#62;",
    "<!-- a comment that never ends",
    "w" * 10_000,
    "two words " * 1_000,
    "⊢∀∃λ→" * 2_000,
    "line\n" * 2_000,
    "مرحبا بالعالم " * 20,
    "\u202eright to left\u202c and \u2067isolated\u2069",
    "\x01\x07\x08\x1b[31m\x7f\x9f control",
    HOSTILE,
    "a\u0301\u0302\u0303\u0304" * 200,
    "👩‍👩‍👧‍👦🏳️‍🌈" * 50,
    "\u200b\ufeff\u2060",
    " ",
    "",
    "__proto__",
    "constructor",
    "../../../etc/passwd",
    "a/b?c=d&e=f#g%2F%00+;=",
    "%E0%A4%A",
    "host-" + "very-" * 60 + "long.example.org",
    "[link](https://example.org) | table | `code` <https://example.org>",
)
"""Thirty texts."""

NUMBERS = (float("inf"), -float("inf"), 1e308, -1e308, 5e-324, -0.0, -1.0, 0.0, 1e15, 0.1)
FINITE = NUMBERS[2:]
"""What JSON can say."""

KEYS = {"theorem_id", "attempt_id"}
"""Columns that name things: they keep their beginning, so that they stay different and fit together."""

KEPT = {
    *("split", "outcome", "purpose", "phase", "state", "kind", "digest", "context", "place", "rule", "key", "value"),
    *("failed", "ended", "role", "level", "node"),
}
"""Fields with a format of their own, which other programs check."""


def make_hostile(folder: Path) -> None:
    """Give a run hostile values in every field that has free text or a number."""
    _records(folder / DATABASE)
    _records(folder / SEARCHES)
    for file in [*folder.glob("*.jsonl"), *folder.glob("*.json"), *folder.glob("logs/*.log")]:
        if file.name != "spans.jsonl":
            whole = file.suffix == ".json"
            values = itertools.count(len(file.name))
            lines = [file.read_text()] if whole else file.read_text().splitlines()
            file.write_text("".join(f"{json.dumps(_hostile(json.loads(line), values))}\n" for line in lines))


def _hostile(value: Any, values: Iterator[int], field: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _hostile(each, values, key) for key, each in value.items()}
    if isinstance(value, list):
        return [_hostile(each, values, field) for each in value]
    if field in KEPT or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return TEXTS[next(values) % len(TEXTS)]
    if isinstance(value, float):
        return FINITE[next(values) % len(FINITE)]
    return value


def _records(path: Path) -> None:
    db = sqlite3.connect(path)
    with db:
        db.create_function("named", 1, _named)
        for table, (text, number) in _columns(db).items():
            for place, column in enumerate(text):
                if column in KEYS:
                    db.execute(f"UPDATE {table} SET {column} = named({column})")
                else:
                    _set(db, table, column, TEXTS, place)
            for place, column in enumerate(number):
                _set(db, table, column, NUMBERS, place)
        if path.name == SEARCHES:
            for number, name, trees in db.execute("SELECT number, attempt_id, trees FROM searches").fetchall():
                found = [_hostile_tree(tree, number) for tree in unpacked(name, trees)]
                db.execute("UPDATE searches SET trees = ? WHERE number = ?", (packed(found), number))
    db.close()


def _named(name: str) -> str:
    """A name that begins as it did."""
    return f"{name} {TEXTS[crc32(name.encode()) % len(TEXTS)]}".replace("\0", "")[:LONGEST_NAME]


def _columns(db: sqlite3.Connection) -> dict[str, tuple[list[str], list[str]]]:
    """The columns with free text, and those with real numbers, of each table."""
    found = {}
    for table in [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]:
        if table.startswith("sqlite") or table in ("notes", "outbox"):
            continue
        kinds = {row[1]: row[2] for row in db.execute(f"PRAGMA table_info({table})")}
        text = [name for name, kind in kinds.items() if kind == "TEXT" and (name not in KEPT or table == "transitions")]
        numbers = [name for name, kind in kinds.items() if kind == "REAL"]
        found[table] = ([name for name in text if name not in ("failed", "label")], numbers)
    return found


def _set(db: sqlite3.Connection, table: str, column: str, values: tuple[Any, ...], place: int) -> None:
    """Give the rows of a column one value after another."""
    keys = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[5]]
    rows = db.execute(f"SELECT {', '.join(keys)} FROM {table}").fetchall()
    where = " AND ".join(f"{key} = ?" for key in keys)
    changed = [(values[(n + place) % len(values)], *row) for n, row in enumerate(rows)]
    db.executemany(f"UPDATE {table} SET {column} = ? WHERE {where}", changed)


def _hostile_tree(tree: SearchTree, number: int) -> SearchTree:
    replace = msgspec.structs.replace

    def text(place: int) -> str:
        return TEXTS[(number + place) % len(TEXTS)][:2000]

    def value(place: int) -> float:
        return NUMBERS[(number + place) % len(NUMBERS)]

    def hostile(state: SearchState) -> SearchState:
        at, tactic = state.id, text(state.id + 1) if state.tactic else ""
        taken = [replace(each, tactic=text(at + 2 + n), prior=value(n)) for n, each in enumerate(state.tactics)]
        failed = [replace(each, tactic=text(at + 7), message=text(at + 9)) for each in state.failed]
        numbers = {"value": value(at), "estimate": value(at + 1), "at": value(at + 2)}
        return replace(state, state=text(at), tactic=tactic, tactics=tuple(taken), failed=tuple(failed), **numbers)

    return replace(tree, theorem=text(3), states=tuple(map(hostile, tree.states)))
