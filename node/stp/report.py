"""What a person sees of a run of self-play: the tables of `proofmesh stp status`, the histories of `stp show`, and the
report in the run's directory: charts, and the self-contained page `stp.html`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from common.files import write_whole
from common.output.visible import visible
from common.output.words import number_of, percent
from common.report.chart import COLOURS, INK, Chart, short
from common.report.page import page
from common.report.table import Table, as_document, right
from node.stp.readers import (
    ConjectureStory,
    RoundSummary,
    RunSummary,
    StatementStory,
    Tried,
    examples_of,
    open_run,
    summarise,
)
from node.stp.records import EMPTY_LEMMA, AttemptRow, Fate, Part, Proof, RoundKind, Seed, explained

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.console import Group, RenderableType

_PASS = "pass@"

_LABELS = {RoundKind.INITIAL: "start", RoundKind.FINAL: "final"}

# --- the tables of `proofmesh stp status`, which fit into 80 columns --------------------------------------------------

_SHORT = {
    Part.GENERATION: "generate",
    Part.ELABORATION: "elaborate",
    Part.PROVING: "prove",
    Part.VERIFICATION: "verify",
    Part.SELECTION: "select",
    Part.TRAINING: "train",
    Part.EVALUATION: "evaluate",
}

_UNITS = {
    Part.GENERATION: "outputs",
    Part.ELABORATION: "conjectures",
    Part.PROVING: "sampled proofs",
    Part.VERIFICATION: "proofs",
    Part.TRAINING: "examples",
}
"""Units of the parts' throughput."""


def view(run: RunSummary) -> Group:
    """All tables, for a terminal or as plain text."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = [Text(visible(headline(run)), style="bold")]
    played = [each for each in run.rounds if each.kind is RoundKind.SELF_PLAY]
    tables = [_conjectures(played)] if played else []
    tables += [_statements(run.rounds), _seconds(run.rounds)] if run.rounds else []
    for table in tables:
        parts += [Text(), table]
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


def _label(round: RoundSummary) -> str:
    return _LABELS.get(round.kind, str(round.number))


def _numbers(title: str, *headings: str, notes: Sequence[str] = ()) -> Table:
    """A table of numbers: the first column tells the round."""
    return Table((headings[0], *map(right, headings[1:])), title, notes, framed=False, gap=1)


def _conjectures(rounds: Sequence[RoundSummary]) -> Table:
    headings = ("round", "seeds", "made", "cut", "refused", "known", "surplus", "elaborated", "proved", "barely")
    table = _numbers("conjectures", *headings)
    for each in rounds:
        dropped = [each.fates.get(fate, 0) for fate in (Fate.CUT, Fate.REFUSED, Fate.KNOWN, Fate.SURPLUS)]
        seen = each.elaborated + each.fates.get(Fate.NOT_ELABORATED, 0) + each.fates.get(Fate.NEW, 0)
        elaborated = f"{each.elaborated:,}/{seen:,}"
        table.add(str(each.number), each.seeds, each.made, *dropped, elaborated, each.proved, each.barely)
    return table


def _statements(rounds: Sequence[RoundSummary]) -> Table:
    evaluations = _evaluated(rounds)
    headings = ("round", "tried", "new", "solved", "rate", "samples", "trained on")
    table = _numbers("statements and training", *headings, *(f"{name} {number}" for name, number in evaluations))
    for each in rounds:
        values = [(number, each.evaluations.get(name, {}).get(number)) for name, number in evaluations]
        table.add(
            *(_label(each), each.tried, each.newly_solved, each.solved, f"{100 * each.rate:.1f}%", each.samples),
            f"{each.trained_proofs:,}+{each.trained_conjectures:,}",
            *("-" if value is None else shown(number, value) for number, value in values),
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
    headings = ("round", *(_SHORT[part] for part in parts), "all", "limited by")
    table = _numbers("seconds", *headings, notes=_throughput(rounds))
    for each in rounds:
        spent = [each.seconds.get(part) for part in parts]
        total = sum(each.seconds.values())
        limit = each.limited_by
        share = f"{_SHORT[Part(limit)]} {100 * each.seconds[limit] / total:.0f}%" if limit else "-"
        cells = ["-" if seconds is None else f"{seconds:,.0f}" for seconds in spent]
        table.add(_label(each), *cells, f"{total:,.0f}", share)
    return table


def _throughput(rounds: Sequence[RoundSummary]) -> list[str]:
    """The throughput of the latest round that has one, in one line."""
    for each in reversed(rounds):
        if each.per_second and each.kind is RoundKind.SELF_PLAY:
            speeds = [f"{each.per_second[part]:.3g} {unit}" for part, unit in _UNITS.items() if part in each.per_second]
            return [f"a second of its part, in round {each.number}: {', '.join(speeds)}"]
    return []


# --- histories --------------------------------------------------------------------------------------------------------


MOST_PROOFS = 3
"""Maximum proofs shown; of the others only their number."""

MOST_ATTEMPTS = 8
"""Maximum attempts shown, the latest ones."""

Paragraph = tuple[str, str]
"""A label, and a text of one or more lines."""


def title_of(story: ConjectureStory) -> str:
    """The title of a conjecture's history, one line."""
    return f"{story.conjecture.name} (round {story.conjecture.round}): {story.conjecture.fate}"


def conjecture_paragraphs(story: ConjectureStory, proofs: int = MOST_PROOFS) -> Iterator[Paragraph]:
    """A conjecture's history, from its seed to the rounds that trained on it."""
    conjecture = story.conjecture
    yield from _of_seed(conjecture.seed)
    yield "the model wrote", conjecture.output.strip() or "nothing"
    if conjecture.theorem is not None:
        yield "read as", conjecture.theorem.signature
    yield "fate", f"{conjecture.fate}{f': {conjecture.reason}' if conjecture.reason else ''}"
    yield from _of_attempts(story.tried, proofs)
    if story.elegance is not None:
        yield "elegance", f"{story.elegance:.2f} (characters of the shortest proof over those of the statement)"
    if story.lemma_used is not None:
        yield "the lemma", "a proof invokes it" if story.lemma_used else "no proof invokes it"
    if story.trained:
        rounds = ", ".join(f"{number} (weight {weight:.2f})" for number, weight in story.trained)
        yield "conjecturer", f"learned from it in round {rounds}"
    else:
        yield "conjecturer", "has not learned from it"
    yield from _learned(story.tried)


def statement_paragraphs(story: StatementStory, proofs: int = MOST_PROOFS) -> Iterator[Paragraph]:
    """A statement's history in all rounds."""
    yield "statement", story.theorem.signature
    yield "split", story.split
    yield "solved", f"in round {story.solved_in}" if story.solved_in is not None else "not yet"
    yield from _of_attempts(story.tried, proofs)
    if story.seeds:
        rounds = ", ".join(f"{number} ({number_of(seeds, 'seed')})" for number, seeds in story.seeds)
        yield "seed", f"of conjectures in round {rounds}"
    yield from _learned(story.tried)


def as_text(title: str, paragraphs: Iterator[Paragraph] | Sequence[Paragraph]) -> str:
    """A title, and below it the paragraphs with their labels; further lines of a paragraph are indented."""
    labelled = list(paragraphs)
    width = max((len(name) for name, _ in labelled), default=0) + 2
    lines = [title]
    for name, text in labelled:
        first, *further = text.splitlines() or [""]
        lines += [f"  {name:<{width}}{first}", *(f"  {'':<{width}}{line}" for line in further)]
    return "\n".join(lines)


def _of_seed(seed: Seed) -> Iterator[Paragraph]:
    yield "seed", f"{seed.theorem.signature} := by\n{indented(seed.proof)}"
    empty = seed.lemma == EMPTY_LEMMA
    yield "asked with", "no lemma in particular" if empty else f"lemma {seed.lemma.name}\n{seed.lemma.statement}"


def _of_attempts(tried: Tried, most: int) -> Iterator[Paragraph]:
    for at, each in tried.attempted:
        share = f", {100 * each.rate:.1f}%" if each.samples else ""
        yield "tried", f"in round {at}: {each.correct} of {number_of(each.samples, 'sample')} are proofs{share}"
    shown = tried.attempts[-MOST_ATTEMPTS:]
    if shown:
        left = len(tried.attempts) - len(shown)
        earlier = [f"and {number_of(left, 'earlier attempt')}"] if left else []
        yield "attempts", "\n".join([*map(_attempt_line, shown), *earlier])
    counts = {found.script: 0 for attempt in tried.attempts for found in attempt.found}
    for attempt in tried.attempts:
        for found in attempt.found:
            counts[found.script] += found.count
    for number, proof in enumerate(tried.proofs[:most], start=1):
        yield f"proof {number}", f"{_about(proof, counts.get(proof.script))}\n{indented(proof.script)}"
    if len(tried.proofs) > most:
        yield "and", f"{number_of(len(tried.proofs) - most, 'more proof')} (--proofs N)"
    for proof, reason in tried.refused[:most]:
        yield "refused", f"{reason}\n{indented(proof.script)}"
    if tried.to_verify:
        yield "waiting", f"{number_of(len(tried.to_verify), 'proof')} to be verified"


def _attempt_line(row: AttemptRow) -> str:
    message = f": {' '.join(row.message.split())}" if row.message else ""
    return f"{row.attempt_id}, round {row.round}, {row.seconds:.1f} s: {row.outcome}{message}"


def _about(proof: Proof, count: int | None) -> str:
    sampled = "of the initial data" if count is None else f"sampled {'once' if count == 1 else f'{count} times'}"
    lemmas = f"; invokes {', '.join(proof.lemmas)}" if proof.lemmas else ""
    return f"{number_of(proof.length, 'character')}, {proof.seconds:.2f} s in Lean, {sampled}{lemmas}"


def _learned(tried: Tried) -> Iterator[Paragraph]:
    if not tried.trained:
        yield "prover", "has not learned from its proofs"
        return
    rounds: dict[int, list[float]] = {}
    for number, _, weight in tried.trained:
        rounds.setdefault(number, []).append(weight)
    said = (f"{at} ({number_of(len(found), 'proof')}, weight {sum(found):.3f})" for at, found in rounds.items())
    yield "prover", f"learned from its proofs in round {', '.join(said)}"


def indented(script: str) -> str:
    """A tactic block, indented for display below its statement."""
    return "\n".join(f"  {line}" for line in script.splitlines())


# --- charts -----------------------------------------------------------------------------------------------------------

_FATES: tuple[tuple[Fate, str], ...] = (
    (Fate.PROVED, COLOURS[2]),
    (Fate.ELABORATED, COLOURS[0]),
    (Fate.NOT_ELABORATED, COLOURS[1]),
    (Fate.KNOWN, COLOURS[3]),
    (Fate.REFUSED, COLOURS[4]),
    (Fate.CUT, COLOURS[5]),
    (Fate.SURPLUS, COLOURS[6]),
    (Fate.NEW, "#BBBBBB"),
)
"""Fates from the bottom of a bar to its top; the fates that come furthest are at the bottom."""

_FATE_WORDS = {
    Fate.PROVED: "proved",
    Fate.ELABORATED: "elaborated, not proved",
    Fate.NOT_ELABORATED: "not elaborated",
    Fate.KNOWN: "known already",
    Fate.REFUSED: "no statement",
    Fate.CUT: "cut off",
    Fate.SURPLUS: "more than needed",
    Fate.NEW: "still to see",
}

NUMBERED = 12
"""Maximum bars that all have a number below them."""

Drawing = Callable[[RunSummary, "Axes"], None]

Bars = Sequence[tuple[str, str, Sequence[float]]]
"""Name, colour, and a height for each round."""


def solved_by_samples(run: RunSummary, axes: Axes) -> None:
    """Statements solved so far against proofs sampled so far (STP, figure 3), with the ends of the rounds."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.step([x for x, _ in run.curve], [y for _, y in run.curve], where="post", color=COLOURS[0], linewidth=2)
    sampled = 0
    for each in run.rounds:
        sampled += each.samples
        if each.samples:
            axes.plot([sampled], [each.solved], "o", color=COLOURS[0], markersize=4.5, clip_on=False, zorder=3)
    if run.rounds and run.samples:
        axes.plot([], [], "o-", color=COLOURS[0], markersize=4.5, label="end of a round")
        axes.legend(loc="lower right", frameon=False, fontsize=10)
    axes.set_xlim(0, max(run.samples, 1) * 1.02)
    axes.set_ylim(0, max(run.solved, 1) * 1.08)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    axes.set_xlabel("proofs sampled, for statements and conjectures")
    axes.set_ylabel(f"train statements solved, of {run.statements:,}")


def fates_by_round(run: RunSummary, axes: Axes) -> None:
    """Draw the fates of each round's conjectures; barely provable ones are hatched."""
    rounds = [each for each in run.rounds if each.kind is RoundKind.SELF_PLAY]
    bars = [
        (_FATE_WORDS[fate], colour, [float(each.fates.get(fate, 0)) for each in rounds])
        for fate, colour in _FATES
        if any(each.fates.get(fate, 0) for each in rounds)
    ]
    barely = [each.barely for each in rounds]
    if any(barely):  # drawn before the bars, so that the legend lists it below the proved ones
        places = range(len(rounds))
        name = "barely provable"
        axes.bar(
            places, barely, width=0.8, label=name, fill=False, hatch="////", linewidth=0.0, edgecolor=INK, zorder=4
        )
    _stack(axes, [str(each.number) for each in rounds], bars)
    _legend(axes)
    axes.set_xlabel("round")
    axes.set_ylabel("conjectures")


def seconds_by_part(run: RunSummary, axes: Axes) -> None:
    """Draw the time spent on each part of each round, including the first training."""
    rounds = [each for each in run.rounds if each.seconds]
    longest = max((sum(each.seconds.values()) for each in rounds), default=0.0)
    unit, name = (60.0, "minutes") if longest > 180 else (1.0, "seconds")
    bars = [
        (part.value, COLOURS[place], [each.seconds.get(part, 0.0) / unit for each in rounds])
        for place, part in enumerate(Part)
        if any(each.seconds.get(part) for each in rounds)
    ]
    _stack(axes, [_label(each) for each in rounds], bars)
    _legend(axes)
    axes.set_xlabel("round")
    axes.set_ylabel(name)


def _stack(axes: Axes, labels: Sequence[str], bars: Bars) -> None:
    bottom = [0.0] * len(labels)
    for name, colour, heights in bars:
        axes.bar(range(len(labels)), heights, width=0.8, bottom=bottom, color=colour, label=name)
        bottom = [below + height for below, height in zip(bottom, heights, strict=True)]
    axes.set_xticks(*_ticks(labels))
    axes.set_xlim(-0.6, max(len(labels), 1) - 0.4)
    axes.set_ylim(0, max(bottom, default=0.0) * 1.05 or 1.0)


def _ticks(labels: Sequence[str]) -> tuple[list[int], list[str]]:
    """Positions and labels: all words; if there are many numbers, only every second, third, ..., and none next to a
    word."""
    step = 1 + (len(labels) - 1) // NUMBERED
    words = [place for place, label in enumerate(labels) if not label.isdecimal()]
    free = [place for place, label in enumerate(labels) if label.isdecimal() and int(label) % step == 0]
    places = sorted([*words, *(each for each in free if step == 1 or all(abs(each - word) > 1 for word in words))])
    return places, [labels[place] for place in places]


def _legend(axes: Axes) -> None:
    """Put the legend beside the bars, with the topmost part first."""
    handles, names = axes.get_legend_handles_labels()
    if handles:
        axes.legend(
            *(handles[::-1], names[::-1]), loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=10
        )


# --- the page ---------------------------------------------------------------------------------------------------------

PAGE, STATUS = "stp.html", "status.json"

PICTURES: dict[str, tuple[str, Drawing]] = {
    "stp-solved.png": ("Solved statements by sampled proofs", solved_by_samples),
    "stp-conjectures.png": ("What became of the conjectures", fates_by_round),
    "stp-seconds.png": ("What the time went into", seconds_by_part),
}
"""Title and drawing of each chart, by its file."""

EXAMPLES = 3
"""Maximum conjectures per round on the page."""


def write_report(directory: Path) -> list[Path]:
    """Write the charts, the page and status.json into a run directory, each file atomically; returns their paths.

    Raises StpError.
    """
    store = open_run(directory)
    try:
        run = summarise(store)
        played = [each.number for each in run.rounds if each.kind is RoundKind.SELF_PLAY]
        examples = {number: examples_of(store, number, EXAMPLES) for number in reversed(played)}
    finally:
        store.close()
    charts = {
        name: (title, Chart(draw.__name__, [partial(draw, run)], size=(6.4, 3.8)))
        for name, (title, draw) in PICTURES.items()
    }
    files = {directory / name: chart.written("png") for name, (_, chart) in charts.items()}
    files[directory / STATUS] = as_document(run).encode()
    files[directory / PAGE] = _page(run, list(charts.values()), examples).encode()
    for path, content in files.items():
        with explained(path):
            write_whole(path, content)
    return list(files)


def _page(run: RunSummary, charts: list[tuple[str, Chart]], examples: dict[int, list[ConjectureStory]]) -> str:
    """The whole page. `examples`: some conjectures of each round, the latest first."""
    name = Path(run.directory).name
    test = f"{number_of(run.test, 'statement')} of the test split {'is' if run.test == 1 else 'are'}"
    return page(
        Path(__file__).with_name("report.html"),
        f"Self-play {name}",
        name=name,
        run=run,
        headline=headline(run),
        sentence=(
            f"{run.solved:,} of {number_of(run.statements, 'statement')}, with "
            f"{number_of(run.samples, 'sampled proof')} for these and conjectures. {test} measured on alone."
        ),
        charts=charts,
        conjectures=_conjectures_of_page(run),
        statements=_statements_of_page(run),
        speeds=_speeds(run),
        examples=[
            (number, [as_text(title_of(story), conjecture_paragraphs(story)) for story in stories])
            for number, stories in examples.items()
        ],
    )


def _conjectures_of_page(run: RunSummary) -> Table:
    table = _numbers("", "round", "seeds", "made", "no statement or cut", "known", "elaborated", "proved", "barely")
    for each in run.rounds:
        if each.kind is RoundKind.SELF_PLAY:
            dropped = each.fates.get(Fate.REFUSED, 0) + each.fates.get(Fate.CUT, 0)
            known = each.fates.get(Fate.KNOWN, 0)
            table.add(
                str(each.number), each.seeds, each.made, dropped, known, each.elaborated, each.proved, each.barely
            )
    return table


def _statements_of_page(run: RunSummary) -> Table:
    numbers = ("tried", "newly solved", "solved", "share", "samples", "trained on", "minutes")
    table = Table(("", *map(right, numbers), "limited by", "tests"))
    for each in run.rounds:
        total = sum(each.seconds.values())
        limit = f"{each.limited_by}, {percent(each.seconds[each.limited_by] / total)}" if each.limited_by else "–"
        tests = "; ".join(
            f"{name}: {', '.join(f'{number} {shown(number, value)}' for number, value in by_size(numbers))}"
            for name, numbers in each.evaluations.items()
        )
        table.add(
            name_of(each) + ("" if each.stage == "done" else f": {each.stage}"),
            *(each.tried, each.newly_solved, each.solved, percent(each.rate), each.samples),
            *(f"{each.trained_proofs:,} + {each.trained_conjectures:,}", f"{total / 60:.1f}", limit, tests or "–"),
        )
    return table


def _speeds(run: RunSummary) -> Table:
    units = {
        Part.GENERATION: "outputs",
        Part.ELABORATION: "conjectures elaborated",
        Part.PROVING: "proofs sampled",
        Part.VERIFICATION: "proofs verified",
        Part.TRAINING: "examples trained on",
    }
    parts = [part for part in units if any(part in each.per_second for each in run.rounds)]
    table = _numbers("", "", *(units[part] for part in parts))
    for each in run.rounds if parts else ():
        speeds = (f"{each.per_second[part]:.3g}" if part in each.per_second else "–" for part in parts)
        table.add(name_of(each), *speeds)
    return table
