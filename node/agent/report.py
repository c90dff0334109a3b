"""The report of an agent: tables for the terminal, report.md and report.html."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.files import write_whole
from common.output.visible import in_html, visible
from node.agent.curriculum import CLASSES, Thresholds, difficulty
from node.agent.records import Attempt, Phase, Repository
from node.agent.store import AGENT, AgentStore
from node.agent.summary import best_patches, complete, filled, lifelong
from node.proving.fill import GapState

if TYPE_CHECKING:
    from common.output.terminal import Console

WIDEST = 10_000
"""More columns of text than any table of a report needs."""

FIRST = "first network"
"""Name of the network before all repositories."""

_STYLE = """:root { color-scheme: light dark; } body { margin: 0 auto; max-width: 74em; padding: 1.5em 1.2em 4em;
font: 15px/1.5 system-ui, sans-serif; } table { border-collapse: collapse; font-variant-numeric: tabular-nums;
margin: .5em 0 1.5em; } th { text-align: left; font-weight: 500; } td, th { padding: .16em .9em .16em 0;
border-bottom: 1px solid #8884; vertical-align: top; } pre { font: 13px/1.45 ui-monospace, monospace;
white-space: pre-wrap; border: 1px solid #8884; padding: .6em .8em; border-radius: 6px; }"""


@dataclass(frozen=True)
class Table:
    """A table with a title and notes."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """The contents of a report."""

    tables: list[Table]
    diffs: list[tuple[str, str]] = field(default_factory=list)
    """(repository, unified diff) of each file."""
    problems: list[str] = field(default_factory=list)


def report_of(store: AgentStore) -> Report:
    """The report of the database's current contents."""
    repositories = store.repositories()
    named = store.noted("thresholds") or {}
    parts = Thresholds(*(_or_infinite(named.get(name)) for name in ("easy", "medium")))
    tables = [_repositories(store, repositories), _gaps(store, repositories, parts), _losses(store, repositories)]
    proofs = _proofs(store, repositories)
    diffs = [(each.name, patch.diff) for each in repositories for patch in best_patches(store, each)]
    return Report([each for each in (*tables, proofs) if each.rows], diffs, store.noted("problems", []))


def show(report: Report, console: Console) -> None:
    """Prints the tables."""
    from rich.table import Table as Rich

    from common.output.terminal import line, lines

    for each in report.tables:
        table = Rich(title=each.title, title_justify="left")
        for column in each.columns:
            table.add_column(column, overflow="fold")
        for row in each.rows:
            table.add_row(*map(line, row))
        # A table that is wider than the page would fold its words: then each row is a paragraph.
        if console.measure(table, options=console.options.update(max_width=WIDEST)).maximum <= console.width:
            console.print(table)
        else:
            _paragraphs(each, console)
        for note in each.notes:
            console.print(lines(note))
    for problem in report.problems:
        console.print(lines(f"skipped: {problem}"))


def _paragraphs(table: Table, console: Console) -> None:
    """Prints a table's rows as `column: value, ...`; values that are empty or `-` are left out."""
    from common.output.terminal import line

    console.print(line(table.title))
    for row in table.rows:
        cells = [
            f"{column}: {cell}" if column else cell
            for column, cell in zip(table.columns, row, strict=True)
            if cell not in ("", "-")
        ]
        console.print(line(f"- {', '.join(cells)}"))


def write(report: Report, folder: Path) -> list[Path]:
    """Writes report.md and report.html, and returns their paths. Raises OSError."""
    markdown, page = folder / "report.md", folder / "report.html"
    write_whole(markdown, _markdown(report).encode())
    write_whole(page, _page(report).encode())
    return [markdown, page]


# --- tables ---------------------------------------------------------------------------------------------------------


def _repositories(store: AgentStore, repositories: Iterable[Repository]) -> Table:
    rows = []
    for each in repositories:
        theorems = store.theorems(each.number)
        classes = Counter(theorem.category for theorem in theorems)
        steps = [theorem.steps for theorem in theorems if theorem.difficulty is not None]
        stage = store.stage(each.number, "train")
        rows.append(
            (
                str(each.place or "-"),
                each.name,
                each.commit.removeprefix("files:")[:12],
                each.lean or "not traced",
                str(len(theorems)),
                " / ".join(str(classes[name]) for name in CLASSES),
                f"{sum(steps) / len(steps):.1f}" if steps else "-",
                str(store.trained(each.number)) if stage else "not yet",
                str(sum(theorem.held_out for theorem in theorems)),
                str(stage.details["steps"]) if stage else "-",
                f"{stage.seconds:.0f}" if stage else "-",
            )
        )
    columns = ("", "repository", "commit", "Lean", "theorems", " / ".join(CLASSES), "mean steps", "trained on")
    named = store.noted("thresholds") or {}
    notes: tuple[str, ...] = ()
    if named.get("easy"):
        notes = (f"easy: difficulty e^steps at most {named['easy']:.1f}; medium: at most {named['medium']:.1f}",)
    return Table("Repositories, in order", (*columns, "held out", "training steps", "s"), rows, notes)


def _gaps(store: AgentStore, repositories: Iterable[Repository], parts: Thresholds) -> Table:
    rows = []
    totals: dict[Phase, list[Attempt]] = {}
    left_alone = 0
    searched = {each for each in Phase for one in repositories if store.attempts(one.number, each)}
    phases = [each for each in Phase if each in searched]
    for each in repositories:
        attempts_by_phase = {phase: store.attempts(each.number, phase) for phase in phases}
        if Phase.LAST in attempts_by_phase and not attempts_by_phase[Phase.LAST]:
            # The last repository was already searched with the last network.
            attempts_by_phase[Phase.LAST] = attempts_by_phase.get(Phase.NETWORK, [])
        newest = {(one.path, one.line, one.column): one for phase in phases for one in attempts_by_phase[phase]}
        if not newest:
            continue
        left_count = sum(one.state == GapState.LEFT for one in newest.values())
        proved = [one for one in newest.values() if one.state == GapState.FILLED]
        classes = Counter(parts.category(difficulty(len(one.script.split("\n")))) for one in proved)
        by_class = " / ".join(str(classes[name]) for name in CLASSES[:3])
        seconds = " / ".join(f"{sum(one.seconds for one in attempts_by_phase[phase]):.0f}" for phase in phases)
        counts = (_count(attempts_by_phase[phase]) for phase in phases)
        rows.append((each.name, str(len(newest)), str(left_count), *counts, by_class, seconds))
        left_alone += left_count
        for phase in phases:
            totals.setdefault(phase, []).extend(attempts_by_phase[phase])
    if len(rows) > 1:
        gaps = str(sum(int(row[1]) for row in rows))
        rows.append(("all", gaps, str(left_alone), *(_count(totals[phase]) for phase in phases), "", ""))
    columns = ("repository", "gaps", "left alone", *(f"filled: {phase}" for phase in phases))
    notes = (
        "baseline: the list of tactics alone; network: after training on the repository; last: with the last network",
        "+N: proofs that rest on other gaps, which are still open; left alone: a value is missing, or Lean cannot say "
        "what is; classes by the lines of the proofs",
    )
    return Table("Gaps", (*columns, "easy / medium / hard", "s of search"), rows, notes)


def _count(attempts: Sequence[Attempt]) -> str:
    """Number of complete proofs, and of those that depend on open gaps."""
    whole, resting = complete(attempts), filled(attempts) - complete(attempts)
    return f"{whole} +{resting}" if resting else str(whole)


def _losses(store: AgentStore, repositories: Iterable[Repository]) -> Table:
    evaluations = store.evaluations()
    by_key = {(each.training, each.repository): each for each in evaluations}
    names = {AGENT: FIRST} | {each.number: each.name for each in repositories if each.place is not None}
    trainings = [number for number in names if any(each.training == number for each in evaluations)]
    data = [number for number in names if any(each.repository == number for each in evaluations)]
    rows = []
    for training in trainings:
        cells = [by_key.get((training, number)) for number in data]
        shown = (f"{each.loss:.3f} ({each.accuracy:.1%})" if each else "-" for each in cells)
        rows.append((names[training], *shown))
    notes: tuple[str, ...] = ("nats a token of the tactic on held-out theorems (tactics that are right throughout)",)
    if change := lifelong(evaluations, trainings):
        notes += (
            f"forgetting {change.forgetting:+.1%}, backward transfer {change.backward_transfer:+.1%} of tactics, "
            f"{change.loss_change:+.3f} nats a token",
        )
    columns = (
        "after training on",
        *(f"{names[number]}'s data" if number == AGENT else names[number] for number in data),
    )
    return Table("Held-out loss", columns, rows, notes)


def _proofs(store: AgentStore, repositories: Iterable[Repository]) -> Table:
    rows = []
    for each in repositories:
        best: dict[tuple[str, int, int], Attempt] = {}
        for phase in Phase:
            for attempt in store.attempts(each.number, phase):
                place = attempt.path, attempt.line, attempt.column
                if place not in best or attempt.script:
                    best[place] = attempt
        for one in best.values():
            outcome = "; ".join(line.strip() for line in one.script.split("\n")) if one.script else one.reason
            outcome += f" (rests on what is still open: {one.rests})" if one.rests else ""
            rows.append(
                (f"{each.name}/{one.path}:{one.line}", one.name, one.state, outcome, one.by, f"{one.seconds:.1f}")
            )
    return Table("Every gap", ("where", "declaration", "", "proof or reason", "found by", "s"), rows)


# --- forms ----------------------------------------------------------------------------------------------------------


def _markdown(report: Report) -> str:
    parts = ["# Report of the agent", ""]
    for table in report.tables:
        parts += [f"## {table.title}", "", _line(table.columns), _line(["---"] * len(table.columns))]
        parts += [_line(row) for row in table.rows]
        parts += ["", *(f"{_plain(note)}.\n" for note in table.notes)]
    if report.problems:
        parts += ["## Skipped", "", *(f"- {_plain(each)}" for each in report.problems), ""]
    if report.diffs:
        parts += ["## Diffs", "", *(f"{_plain(name)}:\n\n{_fenced(diff)}\n" for name, diff in report.diffs)]
    return "\n".join(parts)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(_plain, cells))} |"


_MARKS = re.compile(r"([\\`*_\[\]<>&|#~])")


def _plain(text: str) -> str:
    """Text from outside as plain text of Markdown: no links, no HTML, no further lines."""
    return _MARKS.sub(r"\\\1", visible(text.replace("\n", " ")))


def _fenced(diff: str) -> str:
    """A diff as a block of code. The fence is longer than any in the diff."""
    longest = max((len(run) for run in re.findall("`+", diff)), default=0)
    fence = "`" * max(4, longest + 1)
    return f"{fence}diff\n{visible(diff, multiline=True, indent='')}{fence}"


def _page(report: Report) -> str:
    parts = [
        f"<!doctype html><meta charset=utf-8><title>Agent</title><style>{_STYLE}</style><h1>Report of the agent</h1>"
    ]
    for table in report.tables:
        parts.append(f"<h2>{in_html(table.title)}</h2><table>{_cells(table.columns, 'th')}")
        parts += [_cells(row, "td") for row in table.rows]
        parts.append("</table>")
        parts += [f"<p>{in_html(note)}.</p>" for note in table.notes]
    if report.problems:
        parts += ["<h2>Skipped</h2><ul>", *(f"<li>{in_html(each)}</li>" for each in report.problems), "</ul>"]
    if report.diffs:
        parts += [
            "<h2>Diffs</h2>",
            *(f"<p>{in_html(name)}</p><pre>{in_html(diff, multiline=True)}</pre>" for name, diff in report.diffs),
        ]
    return "\n".join(parts)


def _cells(cells: Iterable[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{in_html(cell)}</{tag}>' for cell in cells)}</tr>"


def _or_infinite(value: Any) -> float:
    return float("inf") if value is None else float(value)
