"""What is learned from, with which weights."""

import math
import random
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from common.lean import Theorem
from node.stp.records import EMPTY_LEMMA, Attempted, Lemma, Proof
from node.stp.selection import conjecturer_examples, elegant, final_examples, prover_examples
from node.stp.settings import ConjecturerSettings, FinalSettings, ProverSettings
from tests.node.stp.examples import COMM, attempted_of, conjecture_of, proof_of

PLAIN = ConjecturerSettings(elegance_cut=0.0, reweight=False)
OTHER = Lemma("Nat.mul_comm", "theorem Nat.mul_comm (n m : Nat) : n * m = m * n")


def test_conjectures_are_learned_from_that_are_proved_by_less_than_a_quarter() -> None:
    rates = (0, 1, 7, 8, 32)
    tried = [(conjecture_of(n), attempted_of(f"c{n}", n, lengths=(20,) if n else ())) for n in rates]
    found = conjecturer_examples(tried, [], None, PLAIN)
    assert [example.name for example in found] == ["conjecture_1_1", "conjecture_1_7"]


def test_the_lemma_must_be_invoked_by_a_proof_but_for_the_empty_one() -> None:
    tried = [
        (conjecture_of(1), attempted_of("conjecture_1_1", 1, lemmas=())),
        (conjecture_of(2, EMPTY_LEMMA), attempted_of("conjecture_1_2", 1, lemmas=())),
        (conjecture_of(3), attempted_of("conjecture_1_3", 1, lemmas=("Nat.mul_comm", COMM.name))),
    ]
    names = [example.name for example in conjecturer_examples(tried, [], None, PLAIN)]
    assert names == ["conjecture_1_2", "conjecture_1_3"]
    every = ConjecturerSettings(elegance_cut=0.0, reweight=False, needs_lemma=False)
    assert len(conjecturer_examples(tried, [], None, every)) == 3


def test_the_fifth_of_each_lemma_s_conjectures_with_the_shortest_proofs_is_cut() -> None:
    ten = [(conjecture_of(n), attempted_of(f"c{n}", 1, lengths=(10 + n, 500))) for n in range(10)]
    alone = [(conjecture_of(77, OTHER), attempted_of("c77", 1, lengths=(1,)))]
    kept = elegant([*ten, *alone], 0.2)
    assert [conjecture.name for conjecture, _ in kept] == [f"conjecture_1_{n}" for n in range(2, 10)] + [
        "conjecture_1_77"
    ]
    assert len(elegant(ten, 0.0)) == 10 and len(elegant(ten, 1.0)) == 1 and elegant([], 0.2) == []
    same = [(conjecture_of(n), attempted_of(f"c{n}", 1)) for n in range(10)]
    assert elegant(same, 0.2) == same, "equally elegant ones stay together"


def _embed(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    rows = [np.random.default_rng(sum(text.encode())).normal(size=8) for text in texts]
    return np.array(rows, dtype=np.float32).reshape(len(texts), 8)


def test_examples_are_weighed_by_what_they_are_near_to_and_no_order_counts() -> None:
    tried = [(conjecture_of(n), attempted_of(f"c{n}", 1, lengths=(10 + n,))) for n in range(40)]
    unproved = [Theorem(f"u{n}", "", f"{n} < {n * n}") for n in range(60)]
    settings = ConjecturerSettings()
    examples = conjecturer_examples(tried, unproved, _embed, settings)
    rng = random.Random(0)
    again = conjecturer_examples(rng.sample(tried, 40), rng.sample(unproved, 60), _embed, settings)
    assert examples == again
    assert 1 < len(examples) < 32
    assert sum(example.weight for example in examples) == pytest.approx(32)
    assert [example.name for example in examples] == sorted(example.name for example in examples)
    assert all(example.conjecture.startswith("theorem conjecture_1_") for example in examples)
    for off in (
        conjecturer_examples(tried, [], _embed, settings),
        conjecturer_examples(tried, unproved, None, settings),
    ):
        assert [example.weight for example in off] == [1.0] * 32
    assert conjecturer_examples([], unproved, _embed, settings) == []


def test_each_different_proof_of_what_is_not_too_easy_is_weighed() -> None:
    easy, hard = Theorem("a", "", "p"), Theorem("b", "", "q")
    proofs = (proof_of("b", 100, seconds=10.0), proof_of("b", 300), proof_of("b", 100, seconds=2.0))
    tried = [
        (hard, Attempted("b", 32, 16, proofs), True),
        (easy, Attempted("a", 32, 17, (proof_of("a", 5),)), False),
        (Theorem("c", "", "r"), Attempted("c", 32, 0), False),
    ]
    found = prover_examples(tried, ProverSettings())
    assert [(each.theorem, len(each.proof), each.conjectured) for each in found] == [
        (hard, 100, True),
        (hard, 300, True),
    ]
    assert found[0].weight == pytest.approx(math.exp(-0.1 - 0.02) / 2)
    assert found[1].weight == pytest.approx(math.exp(-0.3) / 2)


def test_the_last_stage_takes_sixteen_different_proofs_and_no_easy_conjectures() -> None:
    many = tuple(Proof("a", f"rfl -- {number % 20}") for number in range(40))
    few = (Proof("b", "simp"),)
    tried = [
        (Theorem("a", "", "p"), Attempted("a", 64, 60, many), False),
        (Theorem("b", "", "q"), Attempted("b", 32, 8, few), True),
        (Theorem("c", "", "r"), Attempted("c", 32, 9, (Proof("c", "simp"),)), True),
    ]
    found = final_examples(tried, FinalSettings(), seed=1)
    assert [each.theorem.name for each in found] == ["a"] * 16 + ["b"]
    assert len({each.proof for each in found}) == 17 and {each.weight for each in found} == {1.0}
    backwards = [(theorem, Attempted(e.name, e.samples, e.correct, e.proofs[::-1]), c) for theorem, e, c in tried[::-1]]
    assert found == final_examples(backwards, FinalSettings(), seed=1)
    assert found != final_examples(tried, FinalSettings(), seed=2)
