"""The pages of studies: tables in Markdown, and curves, of the cells that are finished.

A `[[page]]` of a study's file has a title, and any of these keys, which are written in this order:

    sides = { LABEL = CELL }          # evaluations: those of a cell with all its seeds; `sides_for` has loops for them
    matrix = { rows = [...], columns = [...] }       # solved with the whole budget, of the sides "ROW, COLUMN"
    lean_attempts = [...], simulations = [...]       # solved within these budgets, of all sides or of `shown`
    pairs = [[LABEL, LABEL], ...]     # differences, tested statement by statement
    beyond = { more = { LABEL = CELL }, ours = [LABEL, ...], times = 10 }
    pictures = { FILE = [LABEL, ...] }
    entries = [...], limit            # models of every kind: LABEL=POLICY
    parts = { LABEL = RUN }, whole    # runs of reinforcement learning, beside the whole one; `runs_for` has loops
    self_play = { LABEL = RUN }, picture, by_parts   # runs of self-play

What is not finished is left out, with a line on standard error.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from common.output.visible import say
from common.records.store import Store
from common.report.chart import COLOURS, Chart
from common.report.table import Table, right
from common.statistics import mcnemar
from node.eval.comparing import Comparison, Side, compare, side_curves
from node.eval.curves import chart
from node.eval.folder import Evaluation, FolderError, read
from node.eval.results import LEAN_ATTEMPTS, SIMULATIONS, Results, limits, results_of, share_open, share_within
from node.learner.attempts.evaluation import solved_by
from node.learner.run import RunDirectory
from node.learner.summary import Solved, compare as compare_solved
from node.stp.readers import RunSummary, open_run, summarise
from scripts.studies.__main__ import filled, loops

Values = Mapping[str, Any]


def page(content: Values, settings: Values, only: Sequence[str]) -> str:
    """All pages of a study as one Markdown text. `only`: of the runs that are compared, those whose names contain one
    of these texts."""
    return "\n\n".join(
        text
        for table in content.get("page", ())
        for variables in loops(table, settings)
        for text in _page(table, {**settings, **variables}, only)
        if text
    )


def _page(table: Values, values: Values, only: Sequence[str]) -> Iterator[str]:
    looped = ("sides", "parts", "self_play")
    plain = {key: value for key, value in table.items() if not key.endswith("for") and key not in looped}
    filled_in = filled(plain, values)
    runs = {
        label: run
        for variables in loops({"for": table.get("runs_for", {})}, values)
        for label, run in filled(table.get("parts", table.get("self_play", {})), {**values, **variables}).items()
    }
    if "sides" in table:
        yield from _of_sides(table, filled_in, values)
    if "entries" in table:
        yield of_models(filled_in["entries"], values)
    if "whole" in table:
        yield of_parts(_chosen(runs, only), Path(filled_in["whole"]))
    if "self_play" in table:
        played = {label: _self_play(Path(folder)) for label, folder in _chosen(runs, only).items()}
        if "picture" in table and played:
            draw_self_play(played, Path(filled_in["picture"]))
        if played:
            yield self_play_parts(played) if table.get("by_parts") else self_play_budgets(played)


def _chosen(runs: Mapping[str, str], only: Sequence[str]) -> dict[str, str]:
    """The finished runs among these that `--only` names."""
    found = {}
    for label, folder in runs.items():
        if only and not any(text in label or text in folder for text in only):
            continue
        if Path(folder).is_dir():
            found[label] = folder
        else:
            say(f"left out: {folder}: no such run", file=sys.stderr)
    return found


def markdown(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with the first column aligned left and the others right."""
    return Table((heading[0], *map(right, heading[1:]))).fill(rows).markdown()


def points(difference: float, low: float, high: float) -> str:
    """A difference of shares and its interval, in points."""
    return f"{100 * difference:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"


def p_value(p: float) -> str:
    """A p-value with three digits."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


# ----------------------------------------------------------------------------------------------------------------------
# Evaluations.


def _of_sides(table: Values, filled_in: Values, values: Values) -> Iterator[str]:
    # 1. The sides that have an evaluation.
    found: dict[str, Side] = {}
    for variables in loops({"for": table.get("sides_for", {})}, values):
        for label, cell in filled(table["sides"], {**values, **variables}).items():
            side = finished(label, cell, values)
            if side is not None:
                found[label] = side
    if not found:
        return
    if title := filled_in.get("title"):
        yield f"### {title}"
    # 2. Tables.
    if matrix := filled_in.get("matrix"):
        yield by_row_and_column(found, matrix["rows"], matrix["columns"])
    shown = filled_in.get("shown") or {label: label for label in found}
    chosen = {name: found[label] for name, label in shown.items() if label in found}
    for kind in (LEAN_ATTEMPTS, SIMULATIONS):
        if kind in filled_in:
            yield by_budget(chosen, kind, filled_in[kind])
    if pairs := table.get("pairs"):
        yield differences(found, pairs)
    if asked := filled_in.get("beyond"):
        yield beyond(found, asked, values)
    # 3. Pictures.
    for file, labels in filled_in.get("pictures", {}).items():
        drawn = [found[label] for label in labels if label in found]
        if len(drawn) > 1:  # curves are of the statements that count on all sides
            panels = [(kind, side_curves(drawn, compare(drawn), kind)) for kind in (LEAN_ATTEMPTS, SIMULATIONS)]
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            chart(panels).save(Path(file))


def finished(label: str, cell: str, values: Values) -> Side | None:
    """The finished evaluations of a cell, one for each seed; None if there is none."""
    folders = {
        int(match[1]): folder
        for folder in Path(values["out"]).glob(f"{cell}-*")
        if (match := re.fullmatch(rf"{re.escape(cell)}-(\d+)", folder.name))
    }
    found: list[tuple[Evaluation, Results]] = []
    for seed, folder in sorted(folders.items()):
        if seed not in values.get("seeds", folders):
            continue
        try:
            evaluation = read(folder)
        except FolderError as error:
            say(f"left out: {error}", file=sys.stderr)
            continue
        results = results_of(evaluation)
        if results.missing:
            say(f"left out: {folder}: {results.missing} attempts are missing", file=sys.stderr)
            continue
        found.append((evaluation, results))
    return Side(label, tuple(each for each, _ in found), tuple(each for _, each in found)) if found else None


def within(results: Results, kind: str, limit: float) -> float | None:
    """Share solved within a budget; None unless it is known for every statement."""
    if any(share_open(row, results.plan, kind, limit) for row in results.statements if row.counts):
        return None
    return at_least(results, kind, limit)


def at_least(results: Results, kind: str, limit: float) -> float:
    """A lower bound of the share solved within a budget."""
    return statistics.fmean(share_within(row, kind, limit) for row in results.statements if row.counts)


def over_seeds(side: Side, value: Callable[[Results], float | None]) -> str:
    """Mean of a value over the seeds in percent, and their standard deviation; a dash if it is unknown for one."""
    found = [value(each) for each in side.seeds]
    known = [100 * each for each in found if each is not None]
    if len(known) < len(found):
        return "–"
    return f"{statistics.fmean(known):.1f}" + (f" ± {statistics.stdev(known):.1f}" if len(known) > 1 else "")


def by_row_and_column(sides: Mapping[str, Side], rows: Sequence[str], columns: Sequence[str]) -> str:
    """Solved with the whole budget."""

    def one(label: str) -> str:
        return over_seeds(sides[label], lambda each: each.total.rate) if label in sides else ""

    return markdown(["% solved", *columns], [[row, *(one(f"{row}, {column}") for column in columns)] for row in rows])


def by_budget(sides: Mapping[str, Side], kind: str, budgets: Sequence[int]) -> str:
    """The shares that each side solves within several budgets."""

    def solved(side: Side, budget: int) -> str:
        return over_seeds(side, lambda results: within(results, kind, budget))

    rows = [[label, *(solved(side, budget) for budget in budgets)] for label, side in sides.items()]
    return markdown([f"% solved within ... {kind.replace('_', ' ')}", *map(str, budgets)], rows)


def differences(sides: Mapping[str, Side], pairs: Iterable[Sequence[str]]) -> str:
    """The differences of the pairs whose sides both exist."""
    heading = ["second − first", "points [95%]", "p", "only one solved", "Lean attempts"]
    rows = []
    for one, other in pairs:
        if one in sides and other in sides:
            (found,) = compare([sides[one], sides[other]])
            rows.append([f"{other} − {one}", *_difference(found)])
    return markdown(heading, rows)


def _difference(found: Comparison) -> list[str]:
    """Points, p-value, statements that only one side solved, and the mean Lean attempts of each side."""
    total, first, second = found.total, found.first.spent, found.second.spent
    return [
        points(total.difference, total.low, total.high),
        p_value(total.p),
        f"{total.only_second} / {total.only_first}",
        f"{second.lean_attempts:.0f} / {first.lean_attempts:.0f}",
    ]


def beyond(found: Mapping[str, Side], asked: Values, values: Values) -> str:
    """Counts the statements that only some sides prove, although the others have more Lean attempts."""
    more = {label: finished(label, cell, values) for label, cell in asked["more"].items()}
    if asked["ours"][0] not in found or any(each is None for each in more.values()):
        return "What is beyond the list is not known yet."

    def solved(side: Side) -> set[str]:
        return {row.statement.name for results in side.seeds for row in results.statements if row.solved}

    others = {label: solved(side) for label, side in more.items() if side is not None}
    either = set().union(*others.values())
    ours = set().union(*(solved(found[label]) for label in asked["ours"] if label in found))
    counts = ", ".join(f"{label} {len(names)}" for label, names in others.items())
    return (
        f"With {asked['times']} times the Lean attempts: {counts}, one of them {len(either)}. Proved after learning, "
        f"with and without the list: {len(ours)}; of these by none of the former: {len(ours - either)}."
    )


def of_models(entries: Sequence[str], values: Values) -> str:
    """Models of every kind, one evaluation each: solved within budgets, and what an attempt cost."""
    budgets = [budget for budget in limits(values["lean_attempts"]) if budget >= 4]
    rows = []
    for entry in entries:
        label = filled("{label:{entry}}", {"entry": entry})
        try:
            results = results_of(read(Path(values["out"]) / filled("{file:{label}}", {"label": label})))
        except FolderError as error:
            say(f"left out: {error}", file=sys.stderr)
            continue
        spent = [attempt.statistics for statement in results.statements for attempt in statement.decided]
        tokens = statistics.fmean(each.tokens for each in spent)
        row = [label]
        for budget in budgets:
            # `≥`: some attempts ran out of time before.
            bound = "≥ " if within(results, LEAN_ATTEMPTS, budget) is None else ""
            row.append(f"{bound}{100 * at_least(results, LEAN_ATTEMPTS, budget):.1f}")
        row += [f"{statistics.fmean(each.lean_attempts for each in spent):.0f}", f"{tokens:,.0f}" if tokens else "–"]
        rows.append([*row, f"{statistics.fmean(each.seconds for each in spent):.1f}"])
    heading = ["% solved within ... Lean attempts", *map(str, budgets), "Lean attempts", "tokens", "seconds"]
    return markdown(heading, rows)


# ----------------------------------------------------------------------------------------------------------------------
# Runs of reinforcement learning and of self-play.


def of_parts(runs: Mapping[str, str], whole: Path) -> str:
    """Solved statements of each run, and the difference from the whole run, statement by statement."""
    heading = ["run", "before -> after", "after - whole's after [95%]", "p", "steps", "transitions", "expansions/s"]
    rows = []
    for label, folder in runs.items():
        try:
            summary = json.loads((Path(folder) / "summary.json").read_text())
            before, after = solved_statements(Path(folder))
            compared = ("", "") if Path(folder) == whole else difference(solved_statements(whole)[1], after)
        except (OSError, KeyError) as error:
            say(f"left out: {folder}: {error}", file=sys.stderr)
            continue
        counts = [sum(each is True for each in side.values()) for side in (before, after)]
        numbers = [f"{summary['train_steps']:,}", f"{summary['transitions']:,}", f"{summary['expansions_per_s']:.1f}"]
        rows.append([label, f"{counts[0]} -> {counts[1]}", *compared, *numbers])
    return markdown(heading, rows)


def solved_statements(run: Path) -> tuple[Solved, Solved]:
    """Whether a run solved each statement before and after learning; None: undecided. Raises OSError, KeyError."""
    with closing(Store(RunDirectory(run.parent.absolute(), run.name).database)) as store:
        labels = {row.label: row.evaluation_id for row in store.evaluations()}
        return solved_by(store.evaluated(labels["before"])), solved_by(store.evaluated(labels["after"]))


def difference(first: Solved, second: Solved) -> tuple[str, str]:
    """Points between two evaluations with their interval, and the p-value of McNemar's test. Statements that one of
    them leaves undecided do not count."""
    found = compare_solved(first, second, seed=0)
    only_first = sum(solved is True and second[name] is False for name, solved in first.items())
    only_second = sum(solved is False and second[name] is True for name, solved in first.items())
    return points(found.difference, found.low, found.high), p_value(mcnemar(only_first, only_second))


BUDGETS = 8
"""Numbers of sampled proofs at which the table of self-play compares the runs."""


def _self_play(run: Path) -> RunSummary:
    with closing(open_run(run.absolute())) as store:
        return summarise(store)


def solved_within(run: RunSummary, samples: int) -> int:
    """Number of statements solved with a number of sampled proofs."""
    return run.curve[bisect_right([point for point, _ in run.curve], samples) - 1][1]


def self_play_budgets(runs: Mapping[str, RunSummary]) -> str:
    """Solved statements at equal numbers of sampled proofs, up to the shortest run."""
    least = min(run.curve[-1][0] for run in runs.values())
    budgets = [least * part // BUDGETS for part in range(1, BUDGETS + 1)]
    rows = [[label, *(str(solved_within(run, budget)) for budget in budgets)] for label, run in runs.items()]
    return markdown(["solved within ... sampled proofs", *(f"{budget:,}" for budget in budgets)], rows)


def self_play_parts(runs: Mapping[str, RunSummary]) -> str:
    """The results of each run: solved statements at equal numbers of samples, conjectures, and the test split."""
    least = min(run.samples for run in runs.values())
    heading = ["run", f"solved within {least:,} samples", "conjectures", "proved", "barely", "test pass@1", "pass@32"]
    rows = []
    for label, run in runs.items():
        counts = [sum(getattr(each, name) for each in run.rounds) for name in ("elaborated", "proved", "barely")]
        test = run.rounds[-1].evaluations.get("test", {})
        shares = [f"{100 * test[name]:.1f}%" if name in test else "" for name in ("pass@1", "pass@32")]
        rows.append([label, str(solved_within(run, least)), *map(str, counts), *shares])
    return markdown(heading, rows)


def draw_self_play(runs: Mapping[str, RunSummary], path: Path) -> None:
    """Solved statements by sampled proofs."""

    def draw(axes: Any) -> None:
        for (label, run), colour in zip(runs.items(), COLOURS, strict=False):
            axes.step(*zip(*run.curve, strict=True), where="post", color=colour, linewidth=2, label=label)
        axes.set_xlabel("sampled proofs, for statements and conjectures")
        axes.set(ylabel="train statements solved", ylim=(0, None))
        axes.legend(frameon=False)

    path.parent.mkdir(parents=True, exist_ok=True)
    Chart("self-play", [draw], size=(7.0, 4.0)).save(path)
