"""Measures retrievers on held-out theorems, among the premises that are accessible to each theorem."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from node.retrieval.corpus import Corpus
from node.retrieval.encoder import Vectors, encode_premises, encode_states
from node.retrieval.lexical import Bm25, rank_of
from node.retrieval.queries import Query

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


# --- r@k and MRR of rankings of accessible premises, with bootstrap intervals. Pure -----------------------------------
# The definitions are those of ReProver (arXiv 2306.15626, section 5): R@k of a state is the share of its premises
# among the best k; MRR is the mean of 1 / rank of its best ranked premise.

RESAMPLES = 2000


class Measure(msgspec.Struct, frozen=True):
    """A mean over states, with its 95% interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.mean:.1f} [{100 * self.low:.1f}, {100 * self.high:.1f}]"


class Ranking(msgspec.Struct, frozen=True):
    """How well one retriever ranks."""

    queries: int
    recall_1: Measure
    recall_10: Measure
    mrr: Measure


def ranking(ranks: Sequence[Sequence[int]], theorems: Sequence[str], seed: int = 0) -> Ranking:
    """The measures of a retriever. `ranks`: the ranks of the premises of each state. Intervals resample theorems, not
    states, because the states of one theorem are similar."""
    columns = np.array(
        [[recall(each, 1), recall(each, 10), 1 / min(each)] for each in ranks], dtype=np.float64
    )  # (states, 3)
    names = {name: number for number, name in enumerate(dict.fromkeys(theorems))}
    groups = np.array([names[name] for name in theorems])
    sums = np.zeros((len(names), 3))
    np.add.at(sums, groups, columns)
    counts = np.bincount(groups, minlength=len(names))
    generator = np.random.default_rng(seed)
    drawn = generator.multinomial(len(names), np.full(len(names), 1 / len(names)), size=RESAMPLES)
    means = (drawn @ sums) / (drawn @ counts)[:, None]
    low, high = np.quantile(means, [0.025, 0.975], axis=0)
    measures = [Measure(*map(float, each)) for each in zip(columns.mean(axis=0), low, high, strict=True)]
    return Ranking(len(ranks), *measures)


def difference(first: Sequence[Sequence[int]], second: Sequence[Sequence[int]], theorems: Sequence[str]) -> Measure:
    """R@10 of one retriever minus another's, on the same states, with its interval over theorems."""
    names = {name: number for number, name in enumerate(dict.fromkeys(theorems))}
    groups = np.array([names[name] for name in theorems])
    each = np.array([recall(a, 10) - recall(b, 10) for a, b in zip(first, second, strict=True)])
    sums, counts = np.bincount(groups, each, len(names)), np.bincount(groups, minlength=len(names))
    drawn = np.random.default_rng(0).multinomial(len(names), np.full(len(names), 1 / len(names)), size=RESAMPLES)
    low, high = np.quantile((drawn @ sums) / (drawn @ counts), [0.025, 0.975])
    return Measure(float(each.mean()), float(low), float(high))


def recall(ranks: Sequence[int], among: int) -> float:
    """The share of premises among the best `among`."""
    return sum(rank <= among for rank in ranks) / len(ranks)


# ----------------------------------------------------------------------------------------------------------------------

BATCH = 256
"""Texts that are encoded at once, and states that are ranked at once."""

Tick = Callable[[int], None]
"""A callback that gets the number of finished items."""


class Evaluation(msgspec.Struct, frozen=True):
    """A dense retriever and BM25, measured on the same states."""

    theorems: int
    accessible: float
    """Mean number of premises that are accessible at a state."""
    dense: Ranking
    bm25: Ranking
    advantage: Measure
    """R@10, dense minus BM25."""


def evaluate(
    queries: Sequence[Query],
    corpus: Corpus,
    states: Iterable[NDArray[np.float32]],
    premises: Vectors,
    tick: Tick = lambda done: None,
) -> Evaluation:
    """Measures the vectors of states and premises. Ranks are exact, also if searches use an approximate index.
    `states`: vectors of the queries, in blocks. `premises`: shape (premises, width)."""
    bm25 = Bm25(corpus)
    dense_ranks, bm25_ranks, sizes = [], [], []
    for query, vector in zip(queries, (vector for block in states for vector in block), strict=True):
        mask = corpus.accessible(query.file, query.start)
        sizes.append(int(mask.sum()))
        dense_ranks.append(rank_of(premises @ vector, mask, query.positives))
        bm25_ranks.append(rank_of(bm25.scores(query.state), mask, query.positives))
        tick(len(sizes))
    theorems = [query.theorem for query in queries]
    return Evaluation(
        len(set(theorems)),
        float(np.mean(sizes)),
        ranking(dense_ranks, theorems),
        ranking(bm25_ranks, theorems),
        difference(dense_ranks, bm25_ranks, theorems),
    )


def evaluate_model(model: SentenceTransformer, queries: Sequence[Query], corpus: Corpus) -> Evaluation:
    """Measures a model without an index."""
    texts = [each.text for each in corpus.premises]
    premises = np.concatenate([encode_premises(model, texts[at : at + BATCH]) for at in range(0, len(texts), BATCH)])
    return evaluate(queries, corpus, state_blocks(model, queries), premises)


def state_blocks(model: SentenceTransformer, queries: Sequence[Query]) -> Iterable[Vectors]:
    """The vectors of the queries' states, in blocks."""
    for at in range(0, len(queries), BATCH):
        yield encode_states(model, [query.state for query in queries[at : at + BATCH]])
