"""Formats Lean's errors as text for a correction turn, like Goedel-Prover-V2 (`get_error_str`, src/utils.py).

Each error shows the code around it. `<error>` and `</error>` mark where it begins and ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LINES_BEFORE = 4
"""Lines of code shown before the line in which an error begins."""

SHOWN_ERRORS = 8

SHOWN_LINES = 6
"""Lines shown of a long error, after its first line; a mark stands for the omitted lines."""


@dataclass(frozen=True)
class CodeError:
    """An error in Lean code. Lines count from 1, columns from 0, in characters, as in Lean's messages."""

    line: int
    column: int
    message: str
    end_line: int | None = None
    """None: the error extends to the end of the line."""
    end_column: int = 0


def marked_errors(code: str, errors: Sequence[CodeError]) -> str:
    """The text about errors in its code that the model reads. Positions outside the code move to the nearest one."""
    lines = code.split("\n")
    shown = [
        f"\nError {number}:\n\nCorresponding Code:\n```lean4\n{_marked(lines, error)}\n```\n"
        f"\nError Message: {error.message}\n"
        for number, error in enumerate(errors[:SHOWN_ERRORS], 1)
    ]
    left_out = len(errors) - SHOWN_ERRORS
    omission = f"\n... [Omitted {left_out} more errors] ...\n" if left_out > 0 else ""
    return "".join(shown) + omission


def _marked(lines: Sequence[str], error: CodeError) -> str:
    """The lines around an error, each with its line break."""
    first, first_column = _within(lines, error.line - 1, error.column)
    if error.end_line is None:
        last, last_column = first, len(lines[first])
    else:
        last, last_column = max((first, first_column), _within(lines, error.end_line - 1, error.end_column))
    begin, end = lines[first], lines[last]
    if first == last:
        marked = [f"{begin[:first_column]}<error>{begin[first_column:last_column]}</error>{begin[last_column:]}"]
    else:
        within = list(lines[first + 1 : min(last, first + SHOWN_LINES)])
        if last > first + SHOWN_LINES:
            indentation = len(within[-1]) - len(within[-1].lstrip(" "))
            within.append(f"\n{' ' * indentation}... --[Truncated]-- ...")
        marked = [
            f"{begin[:first_column]}<error>{begin[first_column:]}",
            *within,
            f"{end[:last_column]}</error>{end[last_column:]}",
        ]
    around = [*lines[max(0, first - LINES_BEFORE) : first], *marked, *lines[last + 1 : last + 2]]
    return "".join(f"{line}\n" for line in around)


def _within(lines: Sequence[str], line: int, column: int) -> tuple[int, int]:
    line = min(max(line, 0), len(lines) - 1)
    return line, min(max(column, 0), len(lines[line]))
