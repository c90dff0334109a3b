"""Training data of a progress model: the texts of its questions, rows with their remaining steps, and where they come
from.

The text of a question is that of LeanProgress (LeanDojo-v2 1.0.9, `ProgressTrainer._build_text`), so that LeanDojo-v2
can ask the model. The answer is the number of steps that remain after the tactic: 0 if it completes the proof.

Sources (`node.data.grammar`):
- `bank`, `bank@all`, another bank's FOLDER or FOLDER@warm: transitions of a theorem bank.
- A folder: of `proofmesh trace` (progress.jsonl, steps.jsonl or transitions.jsonl.gz), of a run, a theorem bank.
- A file: LeanProgress' lines `goal, prefix, tactic, steps_remaining`; lines of a trace; of transitions; proofs.sqlite.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from node.data import grammar
from node.data.errors import InputError
from node.data.grammar import PROGRESS, TRANSITIONS
from node.data.reading import benchmarks, counted_steps, lines, stated
from node.data.rows import Step, leaves_something_out


def question(goal: str, tactic: str, prefix: str = "") -> str:
    """The text for the model. `prefix`: the tactics before, joined by newlines."""
    return f"Goal:\n{goal.strip()}\n\nPrefix:\n{prefix.strip()}\n\nCandidate tactic:\n{tactic.strip()}"


# --- rows and questions -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ProgressRow:
    """A tactic of a proof, and the number of steps that remain after it."""

    theorem: str
    """Name of the theorem, which decides whether the row is held out."""
    goal: str
    """The state before the tactic."""
    prefix: str
    """The tactics before, joined by newlines; empty: none, or unknown."""
    tactic: str
    steps_remaining: float
    """Tactics on the longest branch after this tactic."""
    statement: str = ""
    """The statement of the theorem, if known."""


@dataclass(frozen=True)
class Question:
    """A text for the model, and the correct number of steps."""

    text: str
    steps: float


def questions(rows: Iterable[ProgressRow]) -> list[Question]:
    """The questions about these rows. Equal texts give one question, with the shortest proof in the rows."""
    least: dict[str, float] = {}
    for row in rows:
        text = question(row.goal, row.tactic, row.prefix)
        least[text] = min(row.steps_remaining, least.get(text, row.steps_remaining))
    return [Question(text, steps) for text, steps in least.items()]


# --- sources ----------------------------------------------------------------------------------------------------------

FORMS = "lines of `goal`, `prefix`, `tactic`, `steps_remaining`, a folder of `proofmesh trace`, a run, or `bank`"

NAMES = ("progress.jsonl", "steps.jsonl", "transitions.jsonl.gz", "transitions.jsonl")
"""Files of a trace, in order of preference."""

MOST_STEPS = 10_000
"""Most remaining steps of a row: a larger number is a mistake, and would dominate a squared error."""


def read_all(specs: Sequence[str], keep_out: Sequence[str]) -> list[ProgressRow]:
    """The rows of all sources, without the statements of the benchmarks `keep_out` and without proofs that use `sorry`.
    Raises InputError if a source cannot be read, or no row remains."""
    if not specs:
        raise InputError(f"--data: no sources; name {FORMS}")
    rows = [row for spec in specs for row in read(spec)]
    apart = benchmarks(keep_out)
    unproved = {row.theorem for row in rows if leaves_something_out(row.tactic)}
    remaining_rows = [
        row for row in rows if row.theorem not in unproved and apart.free(row.statement, row.theorem.rpartition(":")[2])
    ]
    if not remaining_rows:
        why = f" (all of its {len(rows):,} rows are of benchmarks or of proofs with sorry)" if rows else ""
        raise InputError(f"--data {' '.join(specs)}: there is nothing to train on{why}")
    return remaining_rows


def read(spec: str) -> list[ProgressRow]:
    """The rows of one source. Raises InputError."""
    source = grammar.parse(spec, (PROGRESS, TRANSITIONS), PROGRESS)
    if (steps := counted_steps(source)) is not None:
        return _of(steps)
    path = source.path
    if path.is_dir():
        file = next((path / name for name in NAMES if (path / name).is_file()), None)
        if file is None:
            raise InputError(f"--data {path}: nothing to train on in this folder (no {', '.join(NAMES)}); name {FORMS}")
        return list(_rows(file))
    if not path.is_file():
        raise InputError(f"--data {spec}: no such file or folder; name {FORMS}")
    return list(_rows(path))


def _of(steps: Iterable[Step]) -> list[ProgressRow]:
    """Rows of steps whose prefix is unknown."""
    return [
        ProgressRow(each.theorem, each.state, "", each.tactic, each.remaining - 1, each.statement)
        for each in steps
        if each.remaining is not None
    ]


def _rows(path: Path) -> Iterator[ProgressRow]:
    """Raises InputError."""
    first = next(lines(path), None)
    if first is None:
        raise InputError(f"{path}: is empty")
    if "state" in first[1] and "goal" not in first[1]:
        return _transitions(lines(path))
    return _progress(path, lines(path))


def _progress(path: Path, rows: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[ProgressRow]:
    """LeanProgress' rows. They have no name of the theorem unless there is a field `theorem`; otherwise a new theorem
    begins at each empty prefix."""
    begun = 0
    for where, row in rows:
        goal, tactic, prefix = (_text(row, name, where) for name in ("goal", "tactic", "prefix"))
        begun += not prefix.strip()
        steps = _number(row, "steps_remaining", where)
        theorem = str(row.get("theorem") or f"{path}#{begun}")
        yield ProgressRow(theorem, goal, prefix, tactic, steps, stated(str(row.get("statement") or "")))


def _transitions(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[ProgressRow]:
    """Lines of `state`, `tactic`, `remaining_steps`, as in traces and banks. The lines of a trace also have the parent
    of each step."""
    tactics: dict[tuple[str, int, int], str] = {}
    """The tactics up to and including each step, by (theorem, block, step)."""
    for where, row in rows:
        state, tactic = _text(row, "state", where), _text(row, "tactic", where)
        steps = _number(row, "remaining_steps", where)
        if steps < 1:
            raise InputError(
                f"{where}: `remaining_steps` is {steps:g}; it includes the tactic itself, so it must be at least 1"
            )
        file = f"{row['file']}:" if "file" in row else ""
        theorem = f"{file}{row.get('theorem') or state}"
        prefix = ""
        if isinstance(row.get("step"), int) and isinstance(row.get("parent"), int):
            block = row["block"] if isinstance(row.get("block"), int) else 0
            prefix = tactics.get((theorem, block, row["parent"]), "")
            tactics[theorem, block, row["step"]] = f"{prefix}\n{tactic}".strip("\n")
        yield ProgressRow(theorem, state, prefix, tactic, steps - 1, stated(str(row.get("statement") or "")))


def _text(row: Mapping[str, Any], name: str, where: str) -> str:
    """Raises InputError."""
    value = row.get(name)
    if isinstance(value, str) and (value.strip() or name == "prefix"):
        return value
    if name == "prefix" and value is None:
        return ""
    problem = "is missing" if name not in row else f"is {value!r}; it must be a text"
    raise InputError(
        f"{where}: `{name}` {problem}; a row needs `goal`, `tactic`, `steps_remaining`, and may have `prefix`"
    )


def _number(row: Mapping[str, Any], name: str, where: str) -> float:
    """Raises InputError."""
    value = row.get(name)
    if name not in row:
        raise InputError(f"{where}: `{name}` is missing")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"{where}: `{name}` is {value!r}; it must be a number")
    if not 0 <= value <= MOST_STEPS:
        raise InputError(f"{where}: `{name}` is {value:g}; it must be between 0 and {MOST_STEPS:,}")
    return float(value)
