"""The tables of `proofmesh stp status`: three tables of a run's rounds, which fit into 80 columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from common.output.visible import escaped_json, visible
from common.output.words import number_of
from node.stp.records import Fate
from node.stp.store import Part, RoundKind
from node.stp.summary import RoundSummary, RunSummary

_SHORT = {
    Part.GENERATION: "generate",
    Part.ELABORATION: "elaborate",
    Part.PROVING: "prove",
    Part.VERIFICATION: "verify",
    Part.SELECTION: "select",
    Part.TRAINING: "train",
    Part.EVALUATION: "evaluate",
}

_PASS = "pass@"

_UNITS = {
    Part.GENERATION: "outputs",
    Part.ELABORATION: "conjectures",
    Part.PROVING: "sampled proofs",
    Part.VERIFICATION: "proofs",
    Part.TRAINING: "examples",
}
"""Units of the parts' throughput."""


def as_json(run: RunSummary) -> str:
    """One JSON document."""
    return escaped_json(msgspec.json.format(msgspec.json.encode(run), indent=2).decode())


def view(run: RunSummary) -> Group:
    """All tables, for a terminal or as plain text."""
    played = [each for each in run.rounds if each.kind is RoundKind.SELF_PLAY]
    parts: list[RenderableType] = [Text(visible(headline(run)), style="bold")]
    if played:
        parts += [Text(), _conjectures(played)]
    if run.rounds:
        parts += [
            Text(),
            _statements(run.rounds),
            Text(),
            _seconds(run.rounds),
            Text(_throughput(run.rounds), style="dim"),
        ]
    return Group(*parts)


def headline(run: RunSummary) -> str:
    """The run in two lines."""
    share = f" ({100 * run.solved / run.statements:.1f}%)" if run.statements else ""
    first = (
        f"{run.directory}: {run.solved:,} of {number_of(run.statements, 'statement')} solved{share} "
        f"with {number_of(run.samples, 'sampled proof')}"
    )
    if not run.rounds:
        return f"{first}; no round is begun"
    last = run.rounds[-1]
    end = "; finished" if run.finished else ""
    return f"{first}; {name_of(last)}: {last.stage}{end}"


def name_of(round: RoundSummary) -> str:
    """The name of a round, such as `round 3` or `final (4)`."""
    return f"round {round.number}" if round.kind is RoundKind.SELF_PLAY else f"{round.kind.value} ({round.number})"


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="", box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="left" if not number else "right", header_style="dim", no_wrap=True)
    return table


def _conjectures(rounds: Sequence[RoundSummary]) -> Table:
    headings = ("round", "seeds", "made", "cut", "refused", "known", "surplus", "elaborated", "proved", "barely")
    table = _table("conjectures", *headings)
    for each in rounds:
        dropped = [each.fates.get(fate, 0) for fate in (Fate.CUT, Fate.REFUSED, Fate.KNOWN, Fate.SURPLUS)]
        seen = each.elaborated + each.fates.get(Fate.NOT_ELABORATED, 0)
        waiting = each.fates.get(Fate.NEW, 0)
        elaborated = f"{each.elaborated:,}/{seen + waiting:,}"
        counts = [f"{count:,}" for count in (each.seeds, each.made, *dropped)]
        table.add_row(str(each.number), *counts, elaborated, f"{each.proved:,}", f"{each.barely:,}")
    return table


def _statements(rounds: Sequence[RoundSummary]) -> Table:
    evaluations = _evaluated(rounds)
    headings = ("round", "tried", "new", "solved", "rate", "samples", "trained on")
    table = _table("statements and training", *headings, *(f"{name} {number}" for name, number in evaluations))
    for each in rounds:
        numbers = [each.evaluations.get(name, {}).get(number) for name, number in evaluations]
        table.add_row(
            *(_label(each), f"{each.tried:,}", f"{each.newly_solved:,}", f"{each.solved:,}"),
            *(f"{100 * each.rate:.1f}%", f"{each.samples:,}", f"{each.trained_proofs:,}+{each.trained_conjectures:,}"),
            *(
                "-" if value is None else shown(number, value)
                for (_, number), value in zip(evaluations, numbers, strict=True)
            ),
        )
    return table


def _evaluated(rounds: Sequence[RoundSummary]) -> list[tuple[str, str]]:
    """The numbers of evaluations that get columns: pass@k for the smallest and the largest k of each evaluation.
    `--json` has all numbers."""
    ks_by_name: dict[str, set[int]] = {}
    for each in rounds:
        for name, numbers in each.evaluations.items():
            ks = {int(number[len(_PASS) :]) for number in numbers if number.startswith(_PASS)}
            ks_by_name.setdefault(name, set()).update(ks)
    return [(name, f"{_PASS}{k}") for name, ks in ks_by_name.items() if ks for k in sorted({min(ks), max(ks)})]


def by_size(numbers: Mapping[str, float]) -> list[tuple[str, float]]:
    """The numbers of an evaluation: pass@k sorted by k, then the other numbers."""
    passes = {name: int(name[len(_PASS) :]) for name in numbers if name.startswith(_PASS)}
    return sorted(numbers.items(), key=lambda each: (each[0] not in passes, passes.get(each[0], 0), each[0]))


def shown(number: str, value: float) -> str:
    """A number of an evaluation as text; pass@k as a percentage."""
    return f"{100 * value:.1f}%" if number.startswith(_PASS) else f"{value:g}"


def _seconds(rounds: Sequence[RoundSummary]) -> Table:
    parts = [part for part in Part if any(part in each.seconds for each in rounds)]
    table = _table("seconds", "round", *(_SHORT[part] for part in parts), "all", "limited by")
    for each in rounds:
        spent = [each.seconds.get(part) for part in parts]
        total = sum(each.seconds.values())
        limit = each.limited_by
        share = f"{_SHORT[Part(limit)]} {100 * each.seconds[limit] / total:.0f}%" if limit else "-"
        cells = ["-" if seconds is None else f"{seconds:,.0f}" for seconds in spent]
        table.add_row(_label(each), *cells, f"{total:,.0f}", share)
    return table


def _throughput(rounds: Sequence[RoundSummary]) -> str:
    """The throughput of the latest round that has one, in one line."""
    for each in reversed(rounds):
        if each.per_second and each.kind is RoundKind.SELF_PLAY:
            speeds = [f"{each.per_second[part]:.3g} {unit}" for part, unit in _UNITS.items() if part in each.per_second]
            return f"a second of its part, in round {each.number}: {', '.join(speeds)}"
    return ""


def _label(round: RoundSummary) -> str:
    return _LABELS.get(round.kind, str(round.number))


_LABELS = {RoundKind.INITIAL: "start", RoundKind.FINAL: "final"}
