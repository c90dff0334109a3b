"""Rows of `proofmesh doctor`: what a check has seen, and how checks are run so that none of them can hang the command.

Uses only the standard library: it also runs where no package is installed.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from typing import Literal, TypeVar

from common.output.command import Exit, UserError
from common.report.table import Cell, Column, Table, Tone

State = Literal["ok", "not met", "slow", "warning", "broken"]
"""`not met`: it is not here, or an earlier row says why it could not be looked at. It is nobody's fault, and does not
count."""

EXITS: dict[State, Exit] = {
    "ok": Exit.DONE,
    "not met": Exit.DONE,
    "slow": Exit.FAILED,
    "warning": Exit.FAILED,
    "broken": Exit.UNUSABLE,
}
"""The exit code of a row. That of the command is the largest."""

WORST: tuple[State, ...] = ("broken", "warning", "slow", "ok", "not met")
"""The states, the one that says most first."""

_TONES: dict[State, Tone] = {"ok": "good", "not met": "quiet", "slow": "warn", "warning": "warn", "broken": "bad"}

LONGEST = 600
"""Characters of a text of a row. Messages of Lean may have pages."""

T = TypeVar("T")


@dataclass(frozen=True)
class Row:
    """What one check has seen."""

    group: str
    name: str
    state: State
    seen: str
    advice: str = ""
    """What to do; empty if there is nothing to do."""
    facts: Mapping[str, object] = field(default_factory=dict)
    """The numbers in `seen`, for programs. Units are in the names (`_seconds`, `_mb`)."""
    seconds: float = 0.0
    """How long the check took."""


def worst(rows: Iterable[Row]) -> State:
    """The state that the rows have together."""
    states = {row.state for row in rows}
    return next((state for state in WORST if state in states), "ok")


def exit_of(rows: Iterable[Row]) -> Exit:
    """The exit code of the command: 0 all works, 1 something is slow or a warning, 2 something is broken."""
    return max((EXITS[row.state] for row in rows), default=Exit.DONE)


async def checked(
    group: str, name: str, check: Callable[[], Awaitable[Row | list[Row]]], seconds: float, advice: str = ""
) -> list[Row]:
    """Run one check for at most `seconds`. Whatever it raises becomes a row, so that the other checks go on.

    `advice`: what to do if it does not end.
    """
    started = time.monotonic()
    try:
        async with asyncio.timeout(seconds):
            found = await check()
    except TimeoutError:
        advice = advice or "run it by hand to see why"
        found = Row(group, name, "broken", f"it did not end within {seconds:.0f} s", advice)
    except Exception as error:  # a check that fails in a way that nobody thought of is what the table is for
        found = failed(group, name, error)
    took = round(time.monotonic() - started, 2)
    rows = found if isinstance(found, list) else [found]
    return [replace(row, seen=short(row.seen), advice=short(row.advice), seconds=took) for row in rows]


def failed(group: str, name: str, error: Exception) -> Row:
    """The row of a check that has raised. Messages for users are `what and where; what to do`."""
    text = str(error).strip()
    if not isinstance(error, UserError):
        return Row(group, name, "broken", f"{type(error).__name__}: {text}" if text else type(error).__name__)
    for separator in ("\nWhat to do: ", "\n", "; "):
        seen, found, advice = text.partition(separator)
        if found:
            return Row(group, name, "broken", seen, advice)
    return Row(group, name, "broken", text)


def short(text: str) -> str:
    """A text on one line, with at most LONGEST characters."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    line = "; ".join(filter(None, lines)).replace(":; ", ": ")
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"


async def in_thread(work: Callable[[], T]) -> T:
    """The result of `work`, which blocks. Its thread does not keep the process alive if it never ends, as those of
    `asyncio.to_thread` do."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: T | None, error: BaseException | None) -> None:
        if done.done():
            return  # nobody waits any more
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, problem = None, None
        try:
            result = context.run(work)
        except BaseException as error:  # the caller gets it
            problem = error
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, result, problem)

    threading.Thread(target=run, daemon=True, name="a check of the doctor").start()
    return await done


# --- what people and programs get -------------------------------------------------------------------------------------


def document(rows: Sequence[Row], seconds: float) -> dict[str, object]:
    """The result for programs. Each row has the numbers of its text in `facts`."""
    return {
        "state": worst(rows),
        "exit": int(exit_of(rows)),
        "seconds": round(seconds, 1),
        "rows": [asdict(row) for row in rows],
    }


def table(rows: Sequence[Row], seconds: float) -> Table:
    """The result for people."""
    counts = ", ".join(f"{count} {state}" for state in WORST if (count := sum(row.state == state for row in rows)))
    columns = ("", "", "", Column("", lines=True))
    shown = Table(columns, title=f"proofmesh doctor, {seconds:.0f} s: {counts}", framed=False)
    group = ""
    for _, alike in groupby(rows, lambda row: (row.group, row.state, row.seen)):
        row, *others = alike
        heading = row.group if row.group != group else ""
        # What to do has a line of its own: two columns of sentences are too narrow to read.
        text = f"{row.seen}\n→ {row.advice}" if row.advice else row.seen
        if others:
            text = f"{', '.join(each.name for each in (row, *others))}: {text}"
        shown.add(Cell(heading, "strong"), "" if others else row.name, Cell(row.state, _TONES[row.state]), text)
        group = row.group
    return shown
