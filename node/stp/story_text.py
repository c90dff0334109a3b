"""Formats the histories of conjectures and statements as text, for `proofmesh stp show` and the page's examples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from common.output.words import number_of
from node.stp.records import EMPTY_LEMMA, Proof, Seed
from node.stp.store import AttemptRow
from node.stp.story import ConjectureStory, StatementStory, Tried

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
    yield from _seed(conjecture.seed)
    yield "the model wrote", conjecture.output.strip() or "nothing"
    if conjecture.theorem is not None:
        yield "read as", conjecture.theorem.signature
    yield "fate", f"{conjecture.fate}{f': {conjecture.reason}' if conjecture.reason else ''}"
    yield from _tried(story.tried, proofs)
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
    yield from _tried(story.tried, proofs)
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


def _seed(seed: Seed) -> Iterator[Paragraph]:
    yield "seed", f"{seed.theorem.signature} := by\n{indented(seed.proof)}"
    empty = seed.lemma == EMPTY_LEMMA
    yield "asked with", "no lemma in particular" if empty else f"lemma {seed.lemma.name}\n{seed.lemma.statement}"


def _tried(tried: Tried, most: int) -> Iterator[Paragraph]:
    for at, each in tried.attempted:
        share = f", {100 * each.rate:.1f}%" if each.samples else ""
        yield "tried", f"in round {at}: {each.correct} of {number_of(each.samples, 'sample')} are proofs{share}"
    shown = tried.attempts[-MOST_ATTEMPTS:]
    if shown:
        left = len(tried.attempts) - len(shown)
        earlier = [f"and {number_of(left, 'earlier attempt')}"] if left else []
        yield "attempts", "\n".join([*map(_attempt, shown), *earlier])
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


def _attempt(row: AttemptRow) -> str:
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
