"""Seeds: proved statements of the data set with the lemmas of their proofs."""

import random
from collections import Counter

from common.lean import Theorem
from node.stp.data.lemmas import Library
from node.stp.records import EMPTY_LEMMA, Lemma, Proof
from node.stp.selection import Solved, choose_seeds, outputs_per_seed
from node.stp.settings import ConjecturerSettings

NAMES = tuple(f"l{number}" for number in range(6))
LIBRARY = Library([Lemma(name, f"theorem {name} : p") for name in NAMES])


def _solved(count: int, lemmas: tuple[str, ...], rate: float = 0.5, scripts: int = 1) -> list[Solved]:
    return [
        (
            Theorem(f"t{number}", "", f"{number} = {number}"),
            Proof(f"t{number}", f"rfl -- {script}", lemmas=lemmas),
            rate,
        )
        for number in range(count)
        for script in range(scripts)
    ]


def test_only_statements_with_a_rate_above_the_limit_are_seeds() -> None:
    settings = ConjecturerSettings(empty_lemma=1.0, lemma_share=1.0)
    assert choose_seeds(_solved(5, NAMES[:1], rate=0.35), LIBRARY, settings, random.Random(0), 100) == []
    assert len(choose_seeds(_solved(5, NAMES[:1], rate=0.36), LIBRARY, settings, random.Random(0), 100)) == 10


def test_each_pair_of_statement_and_lemma_is_there_once_whatever_the_number_of_proofs() -> None:
    settings = ConjecturerSettings(empty_lemma=1.0, lemma_share=1.0)
    seeds = choose_seeds(_solved(4, NAMES[:2], scripts=3), LIBRARY, settings, random.Random(0), 100)
    pairs = [(seed.theorem.name, seed.lemma.name) for seed in seeds]
    assert sorted(pairs) == sorted({(f"t{n}", lemma) for n in range(4) for lemma in (*NAMES[:2], EMPTY_LEMMA.name)})


def test_no_lemma_has_more_than_its_share_the_empty_one_included() -> None:
    seeds = choose_seeds(_solved(100, NAMES), LIBRARY, ConjecturerSettings(empty_lemma=1.0), random.Random(0), 100)
    counts = Counter(seed.lemma.name for seed in seeds)
    assert max(counts.values()) == 10 and counts.keys() == {*NAMES, EMPTY_LEMMA.name}


def test_the_empty_lemma_comes_with_half_of_the_proofs() -> None:
    settings = ConjecturerSettings(lemma_share=1.0)
    seeds = choose_seeds(_solved(1000, ()), LIBRARY, settings, random.Random(0), 10_000)
    assert 440 < len(seeds) < 560 and all(seed.lemma == EMPTY_LEMMA for seed in seeds)
    none = choose_seeds(_solved(9, ()), LIBRARY, ConjecturerSettings(empty_lemma=0.0), random.Random(0), 100)
    assert none == []


def test_there_are_no_more_seeds_than_asked_for_and_their_order_is_of_no_matter() -> None:
    solved = _solved(50, NAMES[:3], scripts=2)
    settings = ConjecturerSettings(lemma_share=1.0)
    seeds = choose_seeds(solved, LIBRARY, settings, random.Random(1), 20)
    shuffled = random.Random(9).sample(solved, len(solved))
    assert len(seeds) == 20
    assert seeds == choose_seeds(shuffled, LIBRARY, settings, random.Random(1), 20)
    assert seeds != choose_seeds(solved, LIBRARY, settings, random.Random(2), 20)
    assert choose_seeds(solved, LIBRARY, settings, random.Random(1), 0) == []


def test_a_lemma_that_is_gone_is_passed_over_and_lemmas_are_read_off_proofs_that_do_not_say_them() -> None:
    settings = ConjecturerSettings(empty_lemma=0.0, lemma_share=1.0)
    gone = [(Theorem("t", "", "p"), Proof("t", "x", lemmas=("gone", "l1")), 1.0)]
    unsaid = [(Theorem("t", "(l2 : q)", "p"), Proof("t", "exact l1 l2"), 1.0)]
    for solved in (gone, unsaid):
        seeds = choose_seeds(solved, LIBRARY, settings, random.Random(0), 10)
        assert [seed.lemma for seed in seeds] == [LIBRARY.lemma("l1")]


def test_few_seeds_are_asked_several_times() -> None:
    assert [outputs_per_seed(seeds, 100) for seeds in (0, 1, 50, 100, 1000)] == [0, 8, 6, 3, 1]
