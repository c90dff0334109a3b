"""Finds the nearest vectors within a mask of accessible premises.

Measured with 200,000 vectors of 256 numbers on one core (`proofmesh bench premises --compare`): comparing with all of
them takes tens of milliseconds at any precision. An inverted file of bytes (IVF, SQ8) takes one to three milliseconds:
it compares only with the allowed vectors in the cells near the query, and exact products rank the best ones again.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from node.retrieval.corpus import Mask

SMALL = 20_000
"""Up to this many vectors need no inverted file: all products take a millisecond."""

EXACT = 4_000
"""Up to this many allowed vectors are compared exactly, which takes about two milliseconds."""

SCORED = 20_000
"""Approximate number of allowed vectors that a search in the inverted file compares with. The fewer vectors are
allowed, the more cells it visits. In the worst case, 26,000 allowed vectors at random among 200,000, this finds 99% of
the ten nearest."""

LEAST_PROBES = 64
"""Least number of visited cells."""

AGAIN = 8
"""This many times the requested number of candidates is ranked again exactly."""

TRAINING = 50_000
"""Vectors from which the cells are computed."""


class NearestVectors:
    """Nearest neighbours by inner product. A vector is identified by its position."""

    def __init__(self, vectors: NDArray[np.float16], inverted: Any = None) -> None:
        """`vectors`: shape (count, width), each of length 1. `inverted`: the result of `inverted_file` for them; None:
        searches compare with all vectors."""
        self._vectors = vectors
        self._whole = vectors.astype(np.float32) if inverted is None else None
        self._inverted = inverted

    def best(self, vector: NDArray[np.float32], mask: Mask, count: int) -> list[tuple[int, float]]:
        """The nearest vectors within a mask with their cosines, the nearest first. `vector`: shape (width,)."""
        if self._whole is not None:
            among = np.flatnonzero(mask)
            products = (self._whole @ vector)[among]
        else:
            among = self._candidates(vector, mask, count)
            products = self._vectors[among].astype(np.float32) @ vector
        top = np.argsort(-products, kind="stable")[:count]
        return [(int(among[place]), float(products[place])) for place in top]

    def _candidates(self, vector: NDArray[np.float32], mask: Mask, count: int) -> NDArray[np.int64]:
        """Numbers of candidates for the nearest vectors."""
        allowed = int(mask.sum())
        if allowed > EXACT:
            candidates = self._guessed(vector, mask, AGAIN * count, allowed)
            if len(candidates) >= count:  # otherwise the visited cells have too few allowed vectors
                return candidates
        return np.flatnonzero(mask)

    def _guessed(self, vector: NDArray[np.float32], mask: Mask, count: int, allowed: int) -> NDArray[np.int64]:
        faiss: Any = importlib.import_module("faiss")  # faiss's type stubs lack the functions of its Python layer

        cells = int(self._inverted.nlist)
        probes = min(cells, max(LEAST_PROBES, cells * SCORED // allowed))
        bits = np.packbits(mask, bitorder="little")
        parameters = faiss.SearchParametersIVF(sel=faiss.IDSelectorBitmap(bits), nprobe=probes)
        _, nearest = self._inverted.search(vector[None], count, params=parameters)
        numbers: NDArray[np.int64] = nearest[0][nearest[0] >= 0]
        return numbers


def inverted_file(vectors: NDArray[np.float16], seed: int = 0) -> Any:
    """An inverted file of faiss over the vectors; None if there are so few that it is not needed."""
    if len(vectors) <= SMALL:
        return None
    import faiss

    cells = 2 ** round(np.log2(np.sqrt(len(vectors))))
    index = faiss.index_factory(vectors.shape[1], f"IVF{cells},SQ8", faiss.METRIC_INNER_PRODUCT)
    chosen = np.random.default_rng(seed).choice(len(vectors), min(TRAINING, len(vectors)), replace=False)
    index.train(vectors[np.sort(chosen)].astype(np.float32))
    for at in range(0, len(vectors), TRAINING):
        index.add(vectors[at : at + TRAINING].astype(np.float32))
    return index
