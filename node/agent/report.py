"""The report of an agent: tables for the terminal, report.md and report.html."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.files import write_whole
from common.output.visible import visible
from common.report.page import page
from common.report.table import Table, in_markdown
from node.agent.repositories import CLASSES, Thresholds, difficulty
from node.agent.store import AGENT, AgentStore, Attempt, Evaluation, Patch, Phase, Repository
from node.proving.fill import GapState

if TYPE_CHECKING:
    from common.output.terminal import Console


def summary(attempts: Sequence[Attempt]) -> str:
    """The outcomes of searches, in a line."""
    counts = Counter(each.state for each in attempts)
    outcomes = ", ".join(f"{counts[state]} {state}" for state in GapState if counts[state])
    if resting := sum(bool(each.rests) for each in attempts):
        outcomes += f" ({resting} of them by what is still open)"
    seconds = sum(each.seconds for each in attempts)
    return f"{counted(len(attempts), 'gap')}{': ' if outcomes else ''}{outcomes}; {seconds:.0f} s of search"


def counted(number: int, thing: str) -> str:
    """`1 gap`, `2 gaps`."""
    return f"{number} {thing}{'s' * (number != 1)}"


def filled(attempts: Iterable[Attempt]) -> int:
    """Number of gaps with verified proofs, including proofs that depend on other gaps."""
    return sum(each.state == GapState.FILLED for each in attempts)


def complete(attempts: Iterable[Attempt]) -> int:
    """Number of gaps with verified proofs that depend on no open gap."""
    return sum(each.state == GapState.FILLED and not each.rests for each in attempts)


def best_patches(store: AgentStore, repository: Repository) -> list[Patch]:
    """For each file of a repository, the patch that fills the most gaps; of equal ones the newest."""
    best: dict[str, tuple[int, Patch]] = {}
    for phase in (Phase.BASELINE, Phase.NETWORK, Phase.LAST):
        attempts = store.attempts(repository.number, phase)
        for patch in store.patches(repository.number, phase):
            count = filled(each for each in attempts if each.path == patch.path)
            if patch.path not in best or count >= best[patch.path][0]:
                best[patch.path] = count, patch
    return [patch for _, patch in best.values()]


@dataclass(frozen=True)
class Lifelong:
    """The effect of later training on earlier data sets, over all data sets except the last.

    a[i, j] is the accuracy on data j after training i, T the last training. (Chaudhry et al., arXiv 1801.10112,
    section 3: forgetting; Lopez-Paz and Ranzato, arXiv 1706.08840, equation 3: backward transfer.)
    """

    forgetting: float
    """Mean over j of max over i from j to T - 1 of a[i, j], minus a[T, j]. Positive means forgetting."""
    backward_transfer: float
    """Mean over j of a[T, j] minus a[j, j]. Positive means that later data helped earlier data."""
    loss_change: float
    """The same for the loss in nats a token. Negative means that later data helped."""


def lifelong(evaluations: Sequence[Evaluation], order: Sequence[int]) -> Lifelong | None:
    """`order`: trainings in order, AGENT (the first network) first. Returns None if there is nothing to compare."""
    by_key = {(each.training, each.repository): each for each in evaluations}
    last = order[-1] if order else AGENT
    forgotten, accuracy, loss = [], [], []
    for place, data in enumerate(order[:-1]):
        end, own = by_key.get((last, data)), by_key.get((data, data))
        if end is None or own is None:
            continue
        before = [by_key[each, data].accuracy for each in order[place:-1] if (each, data) in by_key]
        forgotten.append(max(before) - end.accuracy)
        accuracy.append(end.accuracy - own.accuracy)
        loss.append(end.loss - own.loss)
    if not accuracy:
        return None
    return Lifelong(_mean(forgotten), _mean(accuracy), _mean(loss))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


# --- the report -------------------------------------------------------------------------------------------------------

FIRST = "first network"
"""Name of the network before all repositories."""


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
    from common.output.terminal import lines

    for table in report.tables:
        console.print(table)
    for problem in report.problems:
        console.print(lines(f"skipped: {problem}"))


def write(report: Report, folder: Path) -> list[Path]:
    """Writes report.md and report.html, and returns their paths. Raises OSError."""
    markdown, html = folder / "report.md", folder / "report.html"
    write_whole(markdown, _markdown(report).encode())
    content = page(Path(__file__).with_name("report.html"), "Agent", report=report)
    write_whole(html, content.encode())
    return [markdown, html]


def _markdown(report: Report) -> str:
    parts = ["# Report of the agent", ""]
    for table in report.tables:
        parts += [f"## {table.title}", "", table.markdown(), "", *(f"{in_markdown(note)}.\n" for note in table.notes)]
    if report.problems:
        parts += ["## Skipped", "", *(f"- {in_markdown(each)}" for each in report.problems), ""]
    if report.diffs:
        parts += ["## Diffs", "", *(f"{in_markdown(name)}:\n\n{_fenced(diff)}\n" for name, diff in report.diffs)]
    return "\n".join(parts)


def _fenced(diff: str) -> str:
    """A diff as a block of code. The fence is longer than any in the diff."""
    longest = max((len(run) for run in re.findall("`+", diff)), default=0)
    fence = "`" * max(4, longest + 1)
    return f"{fence}diff\n{visible(diff, multiline=True, indent='')}{fence}"


# --- tables ---------------------------------------------------------------------------------------------------------


def _repositories(store: AgentStore, repositories: Iterable[Repository]) -> Table:
    rows = []
    for each in repositories:
        theorems = store.theorems(each.number)
        classes = Counter(theorem.category for theorem in theorems)
        steps = [theorem.steps for theorem in theorems if theorem.difficulty is not None]
        # Missing numbers say why they are missing: a stage that has not run is no 0.
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
    columns: tuple[str, ...] = ("", "repository", "commit", "Lean", "theorems", " / ".join(CLASSES), "mean steps")
    # The limits follow from the difficulties of all theorems with a proof. Without any, there are none to tell.
    named = store.noted("thresholds") or {}
    notes: tuple[str, ...] = ()
    if named.get("easy"):
        notes = (f"easy: difficulty e^steps at most {named['easy']:.1f}; medium: at most {named['medium']:.1f}",)
    columns += ("trained on", "held out", "training steps", "s")
    return Table(columns, "Repositories, in order", notes, unfolded=True).fill(rows)


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
    return Table((*columns, "easy / medium / hard", "s of search"), "Gaps", notes, unfolded=True).fill(rows)


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
    return Table(columns, "Held-out loss", notes, unfolded=True).fill(rows)


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
    columns = ("where", "declaration", "", "proof or reason", "found by", "s")
    return Table(columns, "Every gap", unfolded=True).fill(rows)


def _or_infinite(value: Any) -> float:
    return float("inf") if value is None else float(value)
