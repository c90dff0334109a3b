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
from node.retrieval.measures import Measure, Ranking, difference, ranking
from node.retrieval.queries import Query

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

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
