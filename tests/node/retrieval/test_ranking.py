"""BM25, the best of many scores, nearest vectors, and the measures of rankings."""

import numpy as np
import pytest

from node.retrieval import index as vectors
from node.retrieval.corpus import read_corpus
from node.retrieval.index import NearestVectors, inverted_file
from node.retrieval.ranking import Bm25, best_of, difference, rank_of, ranking

SCORES = np.array([1.0, 3.0, 2.0, 3.0, 0.0, 3.0], dtype=np.float32)
MASK = np.array([True, True, True, True, True, False])


def test_the_best_are_within_the_mask_and_the_first_of_equal_ones():
    assert best_of(SCORES, MASK, 3) == [1, 3, 2]
    assert best_of(SCORES, MASK, 1) == [1]
    assert best_of(SCORES, MASK, 99) == [1, 3, 2, 0, 4]
    assert best_of(SCORES, np.zeros(6, dtype=bool), 3) == []


def test_of_equal_scores_the_rank_is_in_the_middle():
    assert rank_of(SCORES, MASK, [2, 4, 1]) == [3, 5, 1]
    assert rank_of(np.zeros(101, dtype=np.float32), np.ones(101, dtype=bool), [0]) == [51]


def test_bm25_finds_what_shares_words(library_folder):
    corpus = read_corpus(library_folder)
    best = Bm25(corpus).best("x : Nat\n⊢ tech x = tech y", corpus.everything(), 2)
    assert corpus.premises[best[0]].full_name == "Lib.tech_law"
    assert Bm25(corpus).scores("⊢ ☃").sum() == 0


def test_measures_of_a_known_ranking():
    found = ranking([[1, 20], [2], [10], [11]], ["a", "b", "b", "c"])
    assert found.recall_1.mean == pytest.approx(0.5 / 4)
    assert found.recall_10.mean == pytest.approx(2.5 / 4)
    assert found.mrr.mean == pytest.approx((1 + 1 / 2 + 1 / 10 + 1 / 11) / 4)
    assert found.recall_10.low <= found.recall_10.mean <= found.recall_10.high
    better = difference([[1]] * 30, [[99]] * 30, [str(number) for number in range(30)])
    assert (better.mean, better.low, better.high) == (1.0, 1.0, 1.0)


def random_vectors(count, width=16):
    """In clusters, as those of encoders are."""
    rng = np.random.default_rng(0)
    found = rng.standard_normal((40, width))[rng.integers(40, size=count)] + 0.4 * rng.standard_normal((count, width))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float16)


def test_an_inverted_file_finds_nearly_what_all_products_rank_highest(monkeypatch):
    monkeypatch.setattr(vectors, "SMALL", 200)
    monkeypatch.setattr(vectors, "EXACT", 200)
    many = random_vectors(4000)
    mask = np.random.default_rng(1).random(4000) < 0.5
    indexed, exact = NearestVectors(many, inverted_file(many)), NearestVectors(many)
    queries = many[:50].astype(np.float32)
    pairs = [(indexed.best(each, mask, 10), exact.best(each, mask, 10)) for each in queries]
    assert all(mask[number] for found, _ in pairs for number, _ in found)
    shared = [len({n for n, _ in found} & {n for n, _ in all_}) for found, all_ in pairs]
    assert np.mean(shared) > 9.5
    assert all(found[0] == all_[0] for found, all_ in pairs)


def test_few_allowed_ones_are_all_found_wherever_they_are(monkeypatch):
    monkeypatch.setattr(vectors, "SMALL", 200)
    monkeypatch.setattr(vectors, "EXACT", 2)
    many = random_vectors(4000)
    mask = np.zeros(4000, dtype=bool)
    mask[[5, 1000, 3999]] = True
    found = NearestVectors(many, inverted_file(many)).best(many[77].astype(np.float32), mask, 10)
    assert {number for number, _ in found} == {5, 1000, 3999}
    assert NearestVectors(many).best(many[0].astype(np.float32), np.zeros(4000, dtype=bool), 5) == []
