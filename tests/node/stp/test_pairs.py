"""The conjecturer's first examples."""

import random
from collections import Counter

from common.lean import Theorem
from node.stp.data.initial import pairs
from node.stp.records import EMPTY_LEMMA, ConjecturerExample, Given, Lemma, Proof


def _lemma_of(name: str) -> Lemma | None:
    return None if name == "gone" else Lemma(name, f"theorem {name} : p")


def _given(number: int, *lemmas: str, header: str = "", kind: str = "") -> Given:
    theorem = Theorem(f"t{number:02d}", "", f"{number} = {number}", header)
    return Given(theorem, Proof(theorem.name, "x" * (100 - number), lemmas=lemmas), kind)


def _names(examples: list[ConjecturerExample]) -> list[tuple[str, str, str]]:
    return [(each.seed.theorem.name, each.seed.lemma.name, each.conjecture.split()[1]) for each in examples]


def test_the_shorter_proof_is_the_easy_theorem_s_and_the_lemma_is_in_both() -> None:
    given = [_given(1, "a"), _given(2, "a", "b"), _given(3, "b"), _given(4), _given(5, "gone"), _given(6, "gone")]
    assert _names(pairs(given, _lemma_of, most=9, empty=0.0, seed=0)) == [("t02", "a", "t01"), ("t03", "b", "t02")]


def test_each_theorem_is_the_hard_one_of_a_few_pairs_for_each_lemma() -> None:
    given = [_given(number, "a") for number in range(30)]
    hard = Counter(name for _, _, name in _names(pairs(given, _lemma_of, most=3, empty=0.0, seed=0)))
    assert sorted(hard.values()) == [1, 2] + [3] * 27  # the easiest is never the hard one
    assert len(pairs(given, _lemma_of, most=99, empty=0.0, seed=0)) == 30 * 29 // 2


def test_pairs_without_a_lemma_are_of_one_kind_and_all_pairs_of_one_header() -> None:
    given = [_given(n, "a", header=f"open H{n % 2}", kind=f"k{n % 4}") for n in range(40)]
    found = pairs(given, _lemma_of, most=5, empty=1.0, seed=0)
    number = {each.theorem.name: n for n, each in enumerate(given)}
    assert all(number[easy] % 2 == number[hard] % 2 for easy, _, hard in _names(found))
    empty = [each for each in _names(found) if each[1] == EMPTY_LEMMA.name]
    assert len(empty) == 36 and all(number[easy] % 4 == number[hard] % 4 for easy, _, hard in empty)


def test_one_statement_makes_no_pair_with_itself_and_no_order_counts() -> None:
    theorem = Theorem("t", "", "p")
    twice = [Given(theorem, Proof("t", script, lemmas=("a",))) for script in ("x", "xx")]
    assert pairs(twice, _lemma_of, most=1, empty=1.0, seed=0) == []
    given = [_given(number, "a") for number in range(20)]
    shuffled = random.Random(1).sample(given, 20)
    found = pairs(given, _lemma_of, most=1, empty=0.5, seed=4)
    assert found == pairs(shuffled, _lemma_of, most=1, empty=0.5, seed=4)
    assert found != pairs(given, _lemma_of, most=1, empty=0.5, seed=5)
