"""Ranks the accessible premises of held-out theorems, and measures the ranks.

The baseline of a dense retriever is BM25 (Robertson and Zaragoza 2009), with bm25s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from common.report.table import Table
from node.retrieval.corpus import Corpus, Mask, query_text, words
from node.retrieval.encoder import Vectors, encode_premises, encode_states

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from node.retrieval.queries import Query


class Bm25:
    """Ranks premises by the words that they share with a state."""

    def __init__(self, corpus: Corpus) -> None:
        import bm25s

        self._index = bm25s.BM25(method="lucene")
        self._index.index([words(premise.text) for premise in corpus.premises], show_progress=False)

    def scores(self, state: str) -> NDArray[np.float32]:
        """Scores of all premises, shape (premises,); 0 for premises that share no word with the state."""
        known_words = [word for word in words(query_text(state)) if word in self._index.vocab_dict]
        if not known_words:
            return np.zeros(self._index.scores["num_docs"], dtype=np.float32)
        scores: NDArray[np.float32] = self._index.get_scores(known_words)
        return scores

    def best(self, state: str, mask: Mask, count: int) -> list[int]:
        """Numbers of the best premises of a mask, the best one first."""
        return best_of(self.scores(state), mask, count)


def best_of(scores: NDArray[np.float32], mask: Mask, count: int) -> list[int]:
    """The positions of the highest scores within a mask, the highest first; equal scores by position."""
    allowed = np.flatnonzero(mask)
    count = min(count, len(allowed))
    if count == 0:
        return []
    within = scores[allowed]
    if count < len(allowed):
        top = np.argpartition(-within, count - 1)[:count]
        # argpartition picks any of equal scores; choosing the lowest positions makes the result reproducible.
        edge = within[top].min()
        sure = np.flatnonzero(within > edge)
        top = np.concatenate([sure, np.flatnonzero(within == edge)[: count - len(sure)]])
    else:
        top = np.arange(len(allowed))
    order = np.lexsort((top, -within[top]))
    return [int(allowed[place]) for place in top[order]]


def rank_of(scores: NDArray[np.float32], mask: Mask, premises: Sequence[int]) -> list[int]:
    """The ranks (from 1) of premises within a mask. Equal scores share their mean rank, so ties give no advantage."""
    within = scores[mask]
    ranks = []
    for number in premises:
        better = int((within > scores[number]).sum())
        equal = int((within == scores[number]).sum())
        ranks.append(better + (equal + 1) // 2 if equal else better + 1)
    return ranks


# --- measures of ranks, with bootstrap intervals ----------------------------------------------------------------------
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


def ranking(ranks: Sequence[Sequence[int]], theorems: Sequence[str]) -> Ranking:
    """The measures of a retriever. `ranks`: the ranks of the premises of each state. `theorems`: its theorem."""
    figures = [[recall(each, 1), recall(each, 10), 1 / min(each)] for each in ranks]
    return Ranking(len(ranks), *_measures(figures, theorems))


def difference(first: Sequence[Sequence[int]], second: Sequence[Sequence[int]], theorems: Sequence[str]) -> Measure:
    """R@10 of one retriever minus another's, on the same states."""
    (measure,) = _measures([[recall(a, 10) - recall(b, 10)] for a, b in zip(first, second, strict=True)], theorems)
    return measure


def recall(ranks: Sequence[int], among: int) -> float:
    """The share of premises among the best `among`."""
    return sum(rank <= among for rank in ranks) / len(ranks)


def _measures(figures: Sequence[Sequence[float]], theorems: Sequence[str]) -> list[Measure]:
    """Means of figures of states, shape (states, figures). Intervals resample theorems, not states, because the states
    of one theorem are similar."""
    columns = np.array(figures, dtype=np.float64)
    names = {name: number for number, name in enumerate(dict.fromkeys(theorems))}
    groups = np.array([names[name] for name in theorems])
    sums = np.zeros((len(names), columns.shape[1]))
    np.add.at(sums, groups, columns)
    counts = np.bincount(groups, minlength=len(names))
    # How often each theorem is drawn in each resample, shape (resamples, theorems).
    drawn = np.random.default_rng(0).multinomial(len(names), np.full(len(names), 1 / len(names)), size=RESAMPLES)
    means = (drawn @ sums) / (drawn @ counts)[:, None]
    low, high = np.quantile(means, [0.025, 0.975], axis=0)
    return [Measure(*map(float, each)) for each in zip(columns.mean(axis=0), low, high, strict=True)]


# --- evaluations ------------------------------------------------------------------------------------------------------

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


def table_of(evaluation: Evaluation) -> Table:
    """An evaluation as a table: percentages with 95% intervals over theorems."""
    title = (
        f"{evaluation.dense.queries:,} states of {evaluation.theorems:,} held-out theorems; "
        f"{evaluation.accessible:,.0f} accessible premises in the mean"
    )
    note = f"R@10, dense minus BM25: {evaluation.advantage}"
    rows = (("dense", evaluation.dense), ("BM25", evaluation.bm25))
    return Table(("retriever", "R@1", "R@10", "MRR"), title, (note,)).fill(
        (name, str(each.recall_1), str(each.recall_10), str(each.mrr)) for name, each in rows
    )
