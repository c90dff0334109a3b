"""The output of `proofmesh fill` (the diff on standard output, all else on standard error; or JSON) and its exit
code."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any, Literal

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from common.output.command import Exit
from common.output.terminal import Console, lines
from common.output.visible import as_json, visible
from common.report.table import Cell, Column, Table, Tone
from node.command.hints import with_hint
from node.lean.gaps.gap import Gap, first_line_of
from node.proving.fill import FilledFile, GapResult, GapState

Form = Literal["lines", "table", "json"]

_WORDS = {
    GapState.FILLED: "proved",
    GapState.OPEN: "open",
    GapState.REFUSED: "refused",
    GapState.LEFT: "left",
    GapState.WAITING: "waiting",
}
_COLOURS = {GapState.FILLED: "green", GapState.LEFT: "yellow", GapState.WAITING: "yellow"}
_TONES: dict[GapState, Tone] = {GapState.FILLED: "good", GapState.LEFT: "warn", GapState.WAITING: "warn"}
_DIFF_COLOURS = {"+": "green", "-": "red", "@": "cyan"}

LONGEST = 60
"""Most characters of a proof on a line of the report."""


@dataclass
class _Row:
    """The result of one file."""

    file: str
    problem: str = ""
    """The error if the file could not be read or written."""
    done: FilledFile | None = None
    diff: str = ""
    written: bool = False
    seconds: float = 0.0


@dataclass
class FillReport:
    """Prints progress while the run works, and results at the end. It implements `FillProgress`."""

    form: Form = "lines"
    files: list[_Row] = field(default_factory=list)
    interrupted: bool = False
    _shown: str = ""
    """Name of the current file."""
    _bar: Progress | None = None
    _proved: int = 0

    def __post_init__(self) -> None:
        self._errors = Console(stderr=True, highlight=False, soft_wrap=True)

    def __enter__(self) -> FillReport:
        if self._errors.is_terminal and self.form != "json":
            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
            )
            self._bar = Progress(*columns, console=self._errors, transient=True)
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    # --- progress ---------------------------------------------------------------------------------------------------

    def opened(self, shown: str, gaps: int) -> None:
        """A file was elaborated, and its gaps are searched next."""
        self._shown, self._proved = shown, 0
        if self._bar is not None:
            for task in self._bar.task_ids:
                self._bar.remove_task(task)
            self._bar.add_task(visible(shown), total=gaps)

    def began(self, gap: Gap) -> None:
        """A search begins."""
        self._describe(f"line {gap.line}: {gap.name}")

    def ended(self, result: GapResult) -> None:
        """A search has ended. Its proof, if any, is not verified yet."""
        if self._bar is not None:
            for task in self._bar.task_ids:
                self._bar.advance(task)
        self._proved += result.state is GapState.FILLED
        self._describe(f"{self._proved} proved")
        self._gap(result)

    def verifying(self, proofs: int) -> None:
        """The file is verified with this number of proofs."""
        self._describe(f"Lean verifies {proofs} proof{'s' * (proofs != 1)}")

    def note(self, text: str) -> None:
        """Print a message to the user."""
        if self.form != "json":
            self._errors.print(lines(f"proofmesh fill: {text}"))

    # --- results of a file ------------------------------------------------------------------------------------------

    def unreadable(self, shown: str, problem: str) -> None:
        """Report a file that cannot be read, by us or by Lean."""
        self.files.append(_Row(shown, problem))
        self._errors.print(lines(f"proofmesh fill: {visible(shown)}: {problem}"))

    def nothing(self, shown: str) -> None:
        """Report a file without gaps."""
        self.files.append(_Row(shown))
        self.note(f"{visible(shown)}: no `sorry` in it")

    def add(self, shown: str, done: FilledFile, diff: str, written: bool, problem: str, seconds: float) -> None:
        """Report the result of a file. `problem`: the error if it should have been written and was not."""
        self.files.append(_Row(shown, problem, done, diff, written, seconds))
        for result in done.results:
            if result.state in (GapState.LEFT, GapState.REFUSED):
                self._gap(result)
            elif result.rests:
                place = visible(f"{shown}:{result.gap.line}: {result.gap.name}")
                self.note(f"{place} depends on a `sorry` that is still open: {result.rests}")
        if done.errors:
            error = done.errors[0]
            more = f" (and {len(done.errors) - 1} more)" if len(done.errors) > 1 else ""
            below = "".join(done.gaps.text.splitlines(keepends=True)[max(error.line - 1, 0) :])
            first_line = with_hint(first_line_of(error.text), below)
            self.note(f"{visible(shown)} does not compile: line {error.line}: {first_line}{more}")
        self.note(f"{visible(shown)}: {_summary(done, written)}; {seconds:.1f} s")
        if problem:
            self._errors.print(lines(f"proofmesh fill: {visible(shown)}: not written: {problem}"))
        if self.form != "json":
            self._print_diff(diff)

    def _gap(self, result: GapResult) -> None:
        if self.form == "json":
            return
        style = _COLOURS.get(result.state, "red")
        place = visible(f"{self._shown}:{result.gap.line}: {result.gap.name}")
        said = Text(f"{_WORDS[result.state]:<9}", style=style)
        said.append(visible(f"{place}: {_proof_or_reason(result)}", multiline=True), style="default")
        self._errors.print(said)

    def _describe(self, text: str) -> None:
        if self._bar is not None:
            for task in self._bar.task_ids:
                self._bar.update(task, description=visible(f"{self._shown}: {text}"))

    def _print_diff(self, diff: str) -> None:
        if not sys.stdout.isatty():
            # As bytes, so that carriage returns and file names are not changed.
            sys.stdout.buffer.write(diff.encode(errors="surrogateescape"))
            sys.stdout.flush()
            return
        console = Console(highlight=False, soft_wrap=True)
        for each in diff.split("\n")[:-1]:
            console.print(lines(each, style=_DIFF_COLOURS.get(each[:1], "")))

    # --- the end ----------------------------------------------------------------------------------------------------

    @property
    def filled(self) -> int:
        """Gaps that are filled, in all files."""
        return sum(row.done.count(GapState.FILLED) for row in self.files if row.done)

    def finish(self) -> int:
        """Print the final output; returns the exit code."""
        if self.form == "json":
            print(as_json(self.document()))
        elif self.form == "table":
            self._table()
        if any(row.problem for row in self.files):
            return Exit.UNUSABLE
        if self.interrupted:
            return Exit.FAILED if self.filled else Exit.INTERRUPTED
        left = any(row.done and (row.done.count(*_LEFT) or row.done.errors) for row in self.files)
        return Exit.FAILED if left else Exit.DONE

    def document(self) -> dict[str, Any]:
        """All results, for JSON."""
        results = [result for row in self.files if row.done for result in row.done.results]
        counts = {str(state): sum(each.state is state for each in results) for state in GapState}
        return {
            "counts": counts | {"unreadable": sum(bool(row.problem) for row in self.files)},
            "interrupted": self.interrupted,
            "files": [_file(row) for row in self.files],
        }

    def _table(self) -> None:
        long = (Column(name, lines=True) for name in ("declaration", "goal", "proof or reason"))
        table = Table(("", "where", *long, "s"), title="gaps")
        for row in self.files:
            for result in row.done.results if row.done else ():
                gap, said = result.gap, result.reason or "\n".join(result.script)
                state = Cell(result.state, _TONES.get(result.state, "bad"))
                table.add(state, f"{row.file}:{gap.line}", gap.name, gap.conclusion, said, f"{result.seconds:.2f}")
            if row.problem:
                table.add(Cell("unreadable", "bad"), row.file, "", "", row.problem)
        self._errors.print(table)


_LEFT = (GapState.OPEN, GapState.REFUSED, GapState.LEFT, GapState.WAITING)


def _proof_or_reason(result: GapResult) -> str:
    """A gap's proof, or the reason why it has none."""
    if result.state is not GapState.FILLED:
        return f"{result.reason} (an earlier run; --again searches again)" if result.remembered else result.reason
    text = "; ".join(line.strip() for line in result.script)
    shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
    how = "found by an earlier run" if result.remembered else f"{result.by or 'search'}, {result.seconds:.1f} s"
    return f"{shown} ({how})"


def _summary(done: FilledFile, written: bool) -> str:
    """The result of a file in one line."""
    filled, gaps = done.count(GapState.FILLED), len(done.results)
    text = f"{filled} of {gaps} gap{'s' * (gaps != 1)} filled"
    if filled and done.checked is not None:
        again = f", checked again by the {done.checked.rechecked}" if done.checked.rechecked else ""
        text += f"; the whole file verified by Lean {done.checked.lean_version}{again}"
    return f"{text}; written" if written else text


def _file(row: _Row) -> dict[str, Any]:
    done = row.done
    results = done.results if done else []
    checked = done.checked if done else None
    return {
        "file": row.file,
        "problem": row.problem,
        "written": row.written,
        "diff": row.diff,
        "lean": checked.lean_version if checked else "",
        "rechecked": checked.rechecked if checked else "",
        "errors": [{"line": error.line, "text": error.text} for error in done.errors] if done else [],
        "seconds": round(row.seconds, 2),
        "gaps": [_gap(result) for result in results],
    }


def _gap(result: GapResult) -> dict[str, Any]:
    gap = result.gap
    return {
        "line": gap.line,
        "column": gap.column,
        "theorem": gap.name,
        "kind": "tactic" if gap.tactic else "term",
        "goal": gap.goal,
        "state": str(result.state),
        "reason": result.reason,
        "proof": list(result.script),
        "by": result.by,
        "remembered": result.remembered,
        "rests_on": result.rests,
        "axioms": list(result.axioms),
        "simulations": result.simulations,
        "seconds": round(result.seconds, 3),
    }
