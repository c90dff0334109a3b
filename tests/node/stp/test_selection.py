"""What is learned from, with which weights, and what conjectures begin with."""

import math
import random
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from common.lean import Theorem
from node.stp.data.lemmas import Library
from node.stp.records import EMPTY_LEMMA, Attempted, Lemma, Proof, Seed
from node.stp.selection import (
    MOST,
    Solved,
    choose_seeds,
    conjecturer_examples,
    elegant,
    final_examples,
    match,
    outputs_per_seed,
    prover_examples,
)
from node.stp.settings import ConjecturerSettings, FinalSettings, ProverSettings
from tests.node.stp.examples import COMM, attempted_of, conjecture_of, proof_of

PLAIN = ConjecturerSettings(elegance_cut=0.0, reweight=False)
OTHER = Lemma("Nat.mul_comm", "theorem Nat.mul_comm (n m : Nat) : n * m = m * n")


def test_conjectures_are_learned_from_that_less_than_a_quarter_proves_and_whose_lemma_a_proof_invokes() -> None:
    rates = (0, 1, 7, 8, 32)
    tried = [(conjecture_of(n), attempted_of(f"c{n}", n, lengths=(20,) if n else ())) for n in rates]
    found = conjecturer_examples(tried, [], None, PLAIN)
    assert [example.name for example in found] == ["conjecture_1_1", "conjecture_1_7"]
    lemmas = {1: (COMM, ()), 2: (EMPTY_LEMMA, ()), 3: (COMM, ("Nat.mul_comm", COMM.name))}
    tried = [
        (conjecture_of(n, lemma), attempted_of(f"conjecture_1_{n}", 1, lemmas=names))
        for n, (lemma, names) in lemmas.items()
    ]
    names = [example.name for example in conjecturer_examples(tried, [], None, PLAIN)]
    assert names == ["conjecture_1_2", "conjecture_1_3"]
    every = ConjecturerSettings(elegance_cut=0.0, reweight=False, needs_lemma=False)
    assert len(conjecturer_examples(tried, [], None, every)) == 3


def test_the_fifth_of_each_lemma_s_conjectures_with_the_shortest_proofs_is_cut() -> None:
    ten = [(conjecture_of(n), attempted_of(f"c{n}", 1, lengths=(10 + n, 500))) for n in range(10)]
    alone = [(conjecture_of(77, OTHER), attempted_of("c77", 1, lengths=(1,)))]
    kept = [conjecture.name for conjecture, _ in elegant([*ten, *alone], 0.2)]
    assert kept == [f"conjecture_1_{n}" for n in (*range(2, 10), 77)]
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
    assert examples == conjecturer_examples(rng.sample(tried, 40), rng.sample(unproved, 60), _embed, settings)
    assert 1 < len(examples) < 32 and sum(example.weight for example in examples) == pytest.approx(32)
    assert [example.name for example in examples] == sorted(example.name for example in examples)
    assert all(example.conjecture.startswith("theorem conjecture_1_") for example in examples)
    for targets, embed in (([], _embed), (unproved, None)):
        off = conjecturer_examples(tried, targets, embed, settings)
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
    chosen = [(each.theorem, len(each.proof), each.conjectured) for each in found]
    assert chosen == [(hard, 100, True), (hard, 300, True)]
    weights = [math.exp(-0.1 - 0.02) / 2, math.exp(-0.3) / 2]
    assert [each.weight for each in found] == pytest.approx(weights)


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


# --- seeds: proved statements of the data set with the lemmas of their proofs -----------------------------------------
NAMES = tuple(f"l{number}" for number in range(6))
LIBRARY = Library([Lemma(name, f"theorem {name} : p") for name in NAMES])


def _solved(count: int, lemmas: tuple[str, ...], rate: float = 0.5, scripts: int = 1) -> list[Solved]:
    theorems = [Theorem(f"t{number}", "", f"{number} = {number}") for number in range(count)]
    return [
        (theorem, Proof(theorem.name, f"rfl -- {script}", lemmas=lemmas), rate)
        for theorem in theorems
        for script in range(scripts)
    ]


def seeds_of(solved: list[Solved], count: int = 100, seed: int = 0, **settings: float) -> list[Seed]:
    """By default with every lemma, the empty one too, for any share of the seeds."""
    wanted = ConjecturerSettings(**{"empty_lemma": 1.0, "lemma_share": 1.0, **settings})  # type: ignore[arg-type]
    return choose_seeds(solved, LIBRARY, wanted, random.Random(seed), count)


def test_only_statements_with_a_rate_above_the_limit_are_seeds() -> None:
    assert [len(seeds_of(_solved(5, NAMES[:1], rate=rate))) for rate in (0.35, 0.36)] == [0, 10]


def test_each_pair_of_statement_and_lemma_is_there_once_whatever_the_number_of_proofs() -> None:
    pairs = [(seed.theorem.name, seed.lemma.name) for seed in seeds_of(_solved(4, NAMES[:2], scripts=3))]
    assert sorted(pairs) == sorted({(f"t{n}", lemma) for n in range(4) for lemma in (*NAMES[:2], EMPTY_LEMMA.name)})


def test_no_lemma_has_more_than_its_share_and_the_empty_one_comes_with_half_of_the_proofs() -> None:
    share = ConjecturerSettings().lemma_share
    counts = Counter(seed.lemma.name for seed in seeds_of(_solved(100, NAMES), lemma_share=share))
    assert max(counts.values()) == 10 and counts.keys() == {*NAMES, EMPTY_LEMMA.name}
    seeds = seeds_of(_solved(1000, ()), 10_000, empty_lemma=ConjecturerSettings().empty_lemma)
    assert 440 < len(seeds) < 560 and all(seed.lemma == EMPTY_LEMMA for seed in seeds)
    assert seeds_of(_solved(9, ()), empty_lemma=0.0) == []


def test_there_are_no_more_seeds_than_asked_for_and_their_order_is_of_no_matter() -> None:
    solved = _solved(50, NAMES[:3], scripts=2)
    half = {"empty_lemma": ConjecturerSettings().empty_lemma}
    seeds = seeds_of(solved, 20, 1, **half)
    assert len(seeds) == 20 and seeds == seeds_of(random.Random(9).sample(solved, len(solved)), 20, 1, **half)
    assert seeds != seeds_of(solved, 20, 2, **half) and seeds_of(solved, 0, 1, **half) == []


def test_a_lemma_that_is_gone_is_passed_over_and_lemmas_are_read_off_proofs_that_do_not_say_them() -> None:
    gone = (Theorem("t", "", "p"), Proof("t", "x", lemmas=("gone", "l1")), 1.0)
    unsaid = (Theorem("t", "(l2 : q)", "p"), Proof("t", "exact l1 l2"), 1.0)
    for solved in (gone, unsaid):
        assert [seed.lemma for seed in seeds_of([solved], 10, empty_lemma=0.0)] == [LIBRARY.lemma("l1")]


def test_few_seeds_are_asked_several_times() -> None:
    assert [outputs_per_seed(seeds, 100) for seeds in (0, 1, 50, 100, 1000)] == [0, 8, 6, 3, 1]


# --- weights by greedy matching of embeddings -------------------------------------------------------------------------
Array = npt.NDArray[np.float32]


def _random(rows: int, seed: int, width: int = 8) -> Array:
    return np.random.default_rng(seed).normal(size=(rows, width)).astype(np.float32)


def _by_hand(conjectures: Array, statements: Array) -> list[float]:
    """Algorithm 4, word by word."""
    weights = [0.0] * len(conjectures)
    for statement in statements:
        best, chosen = -2.0, -1
        for number, conjecture in enumerate(conjectures):
            cosine = round(float(conjecture @ statement / np.linalg.norm(conjecture) / np.linalg.norm(statement)), 5)
            if weights[number] < MOST and cosine > best:
                best, chosen = cosine, number
        weights[chosen] += len(conjectures) / len(statements)
    return weights


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("rows", "targets"), [(1, 1), (1, 9), (9, 1), (30, 10), (30, 80), (5, 600)])
def test_every_statement_takes_the_nearest_conjecture_below_the_cap(rows: int, targets: int, seed: int) -> None:
    conjectures, statements = _random(rows, seed), _random(targets, seed + 100)
    weights = match(conjectures, statements)
    assert weights.mean() == pytest.approx(1.0) and weights.max() < MOST + max(1.0, rows / targets)
    assert weights == pytest.approx(_by_hand(conjectures, statements))


def test_lengths_of_embeddings_do_not_count_equal_ones_go_to_the_first_and_one_at_its_cap_is_passed_over() -> None:
    conjectures, statements = _random(20, 1), _random(30, 2)
    scales = np.linspace(0.5, 2.0, 20, dtype=np.float32)[:, None]
    assert match(conjectures * scales, statements) == pytest.approx(match(conjectures, statements))
    same = np.ones((8, 4), dtype=np.float32)
    assert list(match(same, same)) == [4.0, 4.0, 0, 0, 0, 0, 0, 0]
    conjectures = np.array([[1, 0.1], [1, 0], [1, 0], [1, 0], [1, 0]], dtype=np.float32)
    statements = np.full((5, 2), [-1, 0], dtype=np.float32)
    assert list(match(conjectures, statements)) == [4.0, 1.0, 0, 0, 0]


def test_nothing_to_match_leaves_weights_alone_and_broken_embeddings_are_refused() -> None:
    assert list(match(_random(3, 0), _random(0, 0))) == [1, 1, 1]
    assert len(match(_random(0, 0), _random(3, 0))) == 0
    with pytest.raises(ValueError, match="shapes"):
        match(_random(3, 0, 4), _random(3, 0, 5))
    with pytest.raises(ValueError, match="not finite"):
        match(_random(3, 0) * np.nan, _random(3, 0))
