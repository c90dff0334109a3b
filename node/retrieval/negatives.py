"""Training examples of a retriever: a state, a premise that its tactic names, and premises that it does not name.

Hard negatives are accessible but wrong (arXiv 2306.15626, section 5: some are from the theorem's own file). Half of
them are premises that BM25 ranks highest: they look similar and are the hardest to distinguish from the right one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import numpy as np

from common.seeds import derive_seed
from node.retrieval.corpus import Corpus
from node.retrieval.lexical import Bm25
from node.retrieval.queries import Query
from node.retrieval.texts import query_text

HARD_AMONG = 30
"""Hard negatives are sampled from this many premises that BM25 ranks highest."""

Example = dict[str, str]
"""Columns `anchor`, `positive`, `negative_1`, ...: what MultipleNegativesRankingLoss reads, in this order."""


def examples(queries: Sequence[Query], corpus: Corpus, negatives: int, seed: int) -> Iterator[Example]:
    """One example for each premise of each state; equal seeds give equal examples. States with too few accessible
    premises for the negatives are left out."""
    bm25 = Bm25(corpus) if negatives else None
    for number, query in enumerate(queries):
        wrong: list[int] = []
        if bm25 is not None:
            mask = corpus.accessible(query.file, query.start).copy()
            mask[list(query.positives)] = False
            rng = random.Random(derive_seed(seed, number))
            hard = bm25.best(query.state, mask, HARD_AMONG)
            wrong = rng.sample(hard, min(len(hard), (negatives + 1) // 2))
            mask[wrong] = False
            allowed = np.flatnonzero(mask)
            if len(wrong) + len(allowed) < negatives:
                continue
            wrong += [int(allowed[rng.randrange(len(allowed))]) for _ in range(negatives - len(wrong))]
        for positive in query.positives:
            row = {"anchor": query_text(query.state), "positive": corpus.premises[positive].text}
            yield row | {f"negative_{k}": corpus.premises[each].text for k, each in enumerate(wrong, 1)}
