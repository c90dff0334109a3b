"""Chooses the seeds of conjectures: a proved statement, its proof, and a lemma that the proof invokes. Pure.

Source: STP (arXiv 2502.00212), section 3.2 and algorithm 1, and its code (`Sampler_base.select`). As in STP, proofs of
the data set's statements (not of conjectures) with a success rate above the limit are taken in random order. Each lemma
of a proof gives a seed, and with some probability the empty lemma gives one more. Each pair of statement and lemma is
used once. A lemma that has reached its share is skipped. There are at most `count` seeds. In STP a lemma's share is
relative to all statements of the data set, although there may be fewer seeds. Here it is relative to `count`.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from common.lean import Theorem
from node.stp.lemmas import LemmaGone, Library
from node.stp.records import EMPTY_LEMMA, Lemma, Proof, Seed
from node.stp.settings import ConjecturerSettings

MOST_EACH = 8
"""Maximum conjectures sampled for one seed."""
OUTPUTS = 3
"""Conjectures sampled per conjecture needed, because many are refused or known."""

Solved = tuple[Theorem, Proof, float]
"""A statement of the data set, a proof of it, and the statement's best success rate in a round."""


def choose_seeds(
    solved: Sequence[Solved], library: Library, settings: ConjecturerSettings, rng: random.Random, count: int
) -> list[Seed]:
    """At most `count` seeds. Equal inputs in another order, with an equal `rng`, give equal seeds.

    Lemmas that the library does not have are skipped, as in STP.
    """
    usable = [each for each in solved if each[2] > settings.seed_rate]
    usable.sort(key=lambda each: (each[0].name, each[1].script))
    rng.shuffle(usable)
    most = max(1, int(settings.lemma_share * count))
    uses: Counter[str] = Counter()
    taken: set[tuple[str, str]] = set()
    seeds: list[Seed] = []
    for theorem, proof, _ in usable:
        with_empty = rng.random() < settings.empty_lemma
        for lemma in [*_lemmas(theorem, proof, library), *([EMPTY_LEMMA] if with_empty else [])]:
            pair = (theorem.name, lemma.name)
            if pair not in taken and uses[lemma.name] < most:
                taken.add(pair)
                uses[lemma.name] += 1
                seeds.append(Seed(theorem, proof.script, lemma))
    return seeds[: max(0, count)]


def outputs_per_seed(seeds: int, count: int) -> int:
    """Number of conjectures to sample per seed if `count` are needed: 1 to 8, about 3 samples per needed conjecture
    (`conjecture_multiplier` in STP's code)."""
    return max(1, min(OUTPUTS * count // seeds, MOST_EACH)) if seeds else 0


def _lemmas(theorem: Theorem, proof: Proof, library: Library) -> list[Lemma]:
    lemmas = []
    for name in proof.lemmas or library.invoked_in(theorem, proof.script):
        try:
            lemmas.append(library.lemma(name, header_of(theorem)))
        except LemmaGone:
            continue
    return lemmas


def header_of(theorem: Theorem) -> str:
    """The text above a statement."""
    return theorem.place.context.text if theorem.place is not None else theorem.header
