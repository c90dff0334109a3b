"""Writes the report of a run of self-play: charts, and the self-contained page `stp.html` in the run directory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from common.files import write_whole
from common.output.words import number_of
from node.eval.report_page import document, percent, table, text
from node.stp.pictures import Drawing, fates_by_round, png, seconds_by_part, solved_by_samples, svg
from node.stp.records import Fate
from node.stp.status_view import as_json, by_size, headline, name_of, shown
from node.stp.store import Part, RoundKind
from node.stp.store.database import explained
from node.stp.story import ConjectureStory, examples_of
from node.stp.story_text import as_text, conjecture_paragraphs, title_of
from node.stp.summary import RoundSummary, RunSummary, open_run, summarise

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
