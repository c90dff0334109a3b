"""BM25 over premises (Robertson and Zaragoza 2009), with bm25s: the baseline of a dense retriever."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from node.retrieval.corpus import Corpus, Mask
from node.retrieval.texts import query_text, words


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
