"""The report of a run of self-play in its directory: charts, and the self-contained page `stp.html`."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.files import write_whole
from common.output.words import number_of
from node.eval.pictures import COLOURS
from node.eval.report_page import document, percent, table, text
from node.stp.readers import ConjectureStory, RoundSummary, RunSummary, examples_of, open_run, summarise
from node.stp.records import Fate, Part, RoundKind, explained
from node.stp.views import as_json, as_text, by_size, conjecture_paragraphs, headline, name_of, shown, title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# --- charts -----------------------------------------------------------------------------------------------------------

_INK = "#010203"
"""Placeholder colour; in SVG it is replaced by the page's text colour."""

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

Drawing = Callable[["Axes", RunSummary], None]

Bars = Sequence[tuple[str, str, Sequence[float]]]
"""Name, colour, and a height for each round."""


def png(draw: Drawing, run: RunSummary) -> bytes:
    """A picture as a PNG file."""
    return _written(draw, run, "png")


def svg(draw: Drawing, run: RunSummary) -> str:
    """A picture as an SVG element, with the page's text colour."""
    text = _written(draw, run, "svg").decode()
    return text[text.index("<svg") :].replace(_INK, "currentColor").strip()


def _written(draw: Drawing, run: RunSummary, format: str) -> bytes:
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    settings: dict[Any, Any] = {
        "svg.fonttype": "none",  # text stays text
        "svg.hashsalt": draw.__name__,  # the same picture gives the same file
        "font.family": "sans-serif",
        "font.size": 11,
        "text.parse_math": False,
        **dict.fromkeys(("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color"), _INK),
    }
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(6.4, 3.8), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots()
        draw(axes, run)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color=_INK, alpha=0.12, linewidth=0.8)
        axes.set_axisbelow(True)
        out = io.BytesIO()
        metadata = {"Date": None} if format == "svg" else {"Software": None}
        figure.savefig(out, format=format, dpi=160, transparent=format == "svg", metadata=metadata)
    return out.getvalue()


def solved_by_samples(axes: Axes, run: RunSummary) -> None:
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
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    axes.set_xlabel("proofs sampled, for statements and conjectures")
    axes.set_ylabel(f"train statements solved, of {run.statements:,}")


def fates_by_round(axes: Axes, run: RunSummary) -> None:
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
            places, barely, width=0.8, label=name, fill=False, hatch="////", linewidth=0.0, edgecolor=_INK, zorder=4
        )
    _stack(axes, [str(each.number) for each in rounds], bars)
    _legend(axes)
    axes.set_xlabel("round")
    axes.set_ylabel("conjectures")


def seconds_by_part(axes: Axes, run: RunSummary) -> None:
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


def _label(round: RoundSummary) -> str:
    return str(round.number) if round.kind is RoundKind.SELF_PLAY else _KINDS[round.kind]


_KINDS = {RoundKind.INITIAL: "start", RoundKind.FINAL: "final"}


def _short(value: float) -> str:
    """A number on an axis: 500, 20k, 1.5M."""
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:g}{name}"
    return f"{value:g}"


# --- the page ---------------------------------------------------------------------------------------------------------

PAGE, STATUS = "stp.html", "status.json"

PICTURES: dict[str, Drawing] = {
    "stp-solved.png": solved_by_samples,
    "stp-conjectures.png": fates_by_round,
    "stp-seconds.png": seconds_by_part,
}

_TITLES: dict[str, str] = {
    "stp-solved.png": "Solved statements by sampled proofs",
    "stp-conjectures.png": "What became of the conjectures",
    "stp-seconds.png": "What the time went into",
}

EXAMPLES = 3
"""Maximum conjectures per round on the page."""


def write_report(directory: Path) -> list[Path]:
    """Write the charts, the page and status.json into a run directory, each file atomically; returns their paths.

    Raises StpError.
    """
    store = open_run(directory)
    try:
        run = summarise(store)
        examples = {
            each.number: examples_of(store, each.number, EXAMPLES)
            for each in run.rounds
            if each.kind is RoundKind.SELF_PLAY
        }
    finally:
        store.close()
    files = {directory / name: png(draw, run) for name, draw in PICTURES.items()}
    files[directory / STATUS] = as_json(run).encode()
    files[directory / PAGE] = page(run, examples).encode()
    for path, content in files.items():
        with explained(path):
            write_whole(path, content)
    return list(files)


def page(run: RunSummary, examples: dict[int, list[ConjectureStory]]) -> str:
    """The whole page. `examples`: some conjectures of each round."""
    name = Path(run.directory).name
    return document(
        f"Self-play {name}",
        [
            f"<h1>Self-play of a conjecturer and a prover: {text(name)}</h1>",
            *_headline(run),
            '<div class="cards">',
            *(
                f'<div class="card"><h3>{_TITLES[name]}</h3><figure>{svg(draw, run)}</figure></div>'
                for name, draw in PICTURES.items()
            ),
            "</div>",
            *_rounds(run),
            *_examples(examples),
        ],
    )


def _headline(run: RunSummary) -> Iterator[str]:
    yield f"<p class=quiet>{text(headline(run))}</p>"
    if run.statements:
        yield f"<p class=big>{percent(run.solved / run.statements)} of the train statements solved</p>"
    sampled, test = number_of(run.samples, "sampled proof"), number_of(run.test, "statement")
    yield f"<p>{run.solved:,} of {number_of(run.statements, 'statement')}, with {sampled} for these and conjectures."
    yield f"{test} of the test split {'is' if run.test == 1 else 'are'} measured on alone.</p>"


def _rounds(run: RunSummary) -> Iterator[str]:
    heads = ("round", "seeds", "made", "no statement or cut", "known", "elaborated", "proved", "barely")
    rows = []
    for each in run.rounds:
        if each.kind is RoundKind.SELF_PLAY:
            dropped = each.fates.get(Fate.REFUSED, 0) + each.fates.get(Fate.CUT, 0)
            counts = (each.made, dropped, each.fates.get(Fate.KNOWN, 0), each.elaborated, each.proved, each.barely)
            rows.append([text(each.number), *(f"{count:,}" for count in (each.seeds, *counts))])
    yield "<h2>Conjectures</h2>"
    yield table(heads, rows, range(1, len(heads))) if rows else "<p>No round has made conjectures yet.</p>"
    yield "<p class=quiet>Elaborated: Lean takes it; the proved ones are among them. Barely: proved, with so small a "
    yield "share of correct samples that the conjecturer may learn from it.</p>"
    columns = (
        "",
        "tried",
        "newly solved",
        "solved",
        "share",
        "samples",
        "trained on",
        "minutes",
        "limited by",
        "tests",
    )
    rows = [_statement_cells(each) for each in run.rounds]
    yield "<h2>Statements and training</h2>"
    yield table(columns, rows, range(1, 8)) if rows else "<p>No round is begun.</p>"
    yield "<p class=quiet>Trained on: proofs + conjectures, those of earlier rounds included.</p>"
    yield from _speeds(run)


def _statement_cells(each: RoundSummary) -> list[str]:
    total = sum(each.seconds.values())
    limit = f"{each.limited_by}, {percent(each.seconds[each.limited_by] / total)}" if each.limited_by else "–"
    tests = "; ".join(
        f"{name}: {', '.join(f'{number} {shown(number, value)}' for number, value in by_size(numbers))}"
        for name, numbers in each.evaluations.items()
    )
    counts = (each.tried, each.newly_solved, each.solved)
    return [
        text(name_of(each) + ("" if each.stage == "done" else f": {each.stage}")),
        *(f"{count:,}" for count in counts),
        *(percent(each.rate), f"{each.samples:,}", f"{each.trained_proofs:,} + {each.trained_conjectures:,}"),
        *(f"{total / 60:.1f}", text(limit), text(tests or "–")),
    ]


def _speeds(run: RunSummary) -> Iterator[str]:
    parts = [part for part in Part if any(part in each.per_second for each in run.rounds)]
    if not parts:
        return
    units = {
        Part.GENERATION: "outputs",
        Part.ELABORATION: "conjectures elaborated",
        Part.PROVING: "proofs sampled",
        Part.VERIFICATION: "proofs verified",
        Part.TRAINING: "examples trained on",
    }
    rows = [
        [text(name_of(each)), *(f"{each.per_second[part]:.3g}" if part in each.per_second else "–" for part in parts)]
        for each in run.rounds
    ]
    yield "<h2>A second of each part</h2>"
    yield table(("", *(units[part] for part in parts)), rows, range(1, len(parts) + 1))


def _examples(examples: dict[int, list[ConjectureStory]]) -> Iterator[str]:
    yield "<h2>Conjectures to look at</h2>"
    yield "<p class=quiet>Of each round those that came furthest. <code>proofmesh stp show</code> has all of them.</p>"
    for number, stories in sorted(examples.items(), reverse=True):
        opened = " open" if number == max(examples) else ""
        yield f"<details{opened}><summary>round {number}</summary>"
        for story in stories:
            yield f"<pre>{text(as_text(title_of(story), conjecture_paragraphs(story)))}</pre>"
        if not stories:
            yield "<p>It has made none.</p>"
        yield "</details>"
