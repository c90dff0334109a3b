"""Makes the conjecturer's first examples: pairs of theorems whose proofs invoke the same lemma. Pure.

Source: STP (arXiv 2502.00212), section 3.1, and `prepare_datasets.py` of kfdong/STP. STP uses all triples (lemma, X, Y)
in this order in a Mathlib file, if both proofs invoke the lemma. Differences here:
- Banks have no files and their statements no order, so the theorem with the shorter proof is the easy one.
- A bank's lemma may occur in hundreds of proofs. So each theorem is the hard one in only a few random pairs per lemma.
- Both theorems have the same header, because a conjecture has the header of its seed.
- Pairs for the empty lemma are two theorems of one kind (a family of the bank, a file of a trace). STP samples such
  conjectures without initial examples, because its network is a pretrained language model.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from common.lean import Theorem
from common.seeds import derive_seed
from node.stp.keys import key
from node.stp.records import EMPTY_LEMMA, ConjecturerExample, Lemma, Proof, Seed


@dataclass(frozen=True)
class Given:
    """A theorem of the initial data with its proof."""

    theorem: Theorem
    proof: Proof
    kind: str = ""
    """The group of similar theorems that it belongs to: a family of the bank, a file of a trace."""


def pairs(
    given: Sequence[Given], lemma_of: Callable[[str], Lemma | None], *, most: int, empty: float, seed: int
) -> list[ConjecturerExample]:
    """Examples with weight 1, sorted by lemma and names. `most`: maximum pairs per lemma with the same hard theorem;
    `empty`: probability that a theorem is the hard one of a pair for the empty lemma. The order of the inputs does not
    matter."""
    groups: dict[tuple[str, str], list[Given]] = defaultdict(list)
    kinds: dict[tuple[str, str], list[Given]] = defaultdict(list)
    for each in given:
        header = each.theorem.header
        kinds[each.kind, header].append(each)
        for name in each.proof.lemmas:
            groups[name, header].append(each)
    examples: list[ConjecturerExample] = []
    for name, header in sorted(groups):
        if (lemma := lemma_of(name)) is not None:
            group_seed = derive_seed("pairs", seed, name, header)
            examples += _of_group(groups[name, header], lemma, most, 1.0, group_seed)
    for kind, header in sorted(kinds):
        group_seed = derive_seed("empty pairs", seed, kind, header)
        examples += _of_group(kinds[kind, header], EMPTY_LEMMA, 1, empty, group_seed)
    return examples


def _of_group(
    group: Sequence[Given], lemma: Lemma, most: int, chance: float, seed: int
) -> Iterator[ConjecturerExample]:
    rng = random.Random(seed)
    ordered = sorted(group, key=lambda each: (each.proof.length, each.theorem.name, each.proof.script))
    keys = [key(each.theorem) for each in ordered]
    for place, hard in enumerate(ordered):
        if rng.random() >= chance:
            continue
        for at in sorted(rng.sample(range(place), min(most, place))):
            if keys[at] != keys[place]:
                easy = ordered[at]
                yield ConjecturerExample(Seed(easy.theorem, easy.proof.script, lemma), hard.theorem.signature, 1.0)
