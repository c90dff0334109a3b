"""What a person sees of a run of self-play as text: the tables of `proofmesh stp status`, which fit into 80 columns,
and the histories of `proofmesh stp show`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from common.output.visible import escaped_json, visible
from common.output.words import number_of
from node.stp.readers import ConjectureStory, RoundSummary, RunSummary, StatementStory, Tried
from node.stp.records import EMPTY_LEMMA, AttemptRow, Fate, Part, Proof, RoundKind, Seed

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
    yield from _seed_paragraphs(conjecture.seed)
    yield "the model wrote", conjecture.output.strip() or "nothing"
    if conjecture.theorem is not None:
        yield "read as", conjecture.theorem.signature
    yield "fate", f"{conjecture.fate}{f': {conjecture.reason}' if conjecture.reason else ''}"
    yield from _tried_paragraphs(story.tried, proofs)
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
    yield from _tried_paragraphs(story.tried, proofs)
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


def _seed_paragraphs(seed: Seed) -> Iterator[Paragraph]:
    yield "seed", f"{seed.theorem.signature} := by\n{indented(seed.proof)}"
    empty = seed.lemma == EMPTY_LEMMA
    yield "asked with", "no lemma in particular" if empty else f"lemma {seed.lemma.name}\n{seed.lemma.statement}"


def _tried_paragraphs(tried: Tried, most: int) -> Iterator[Paragraph]:
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
