"""Sum tree: draws an index in proportion to its weight, and changes single weights, in logarithmic time."""

from __future__ import annotations

from array import array
from collections.abc import Sequence


class SumTree:
    """Every node holds the sum of its two children, so rounding errors do not accumulate: equal weights give equal
    trees, in whatever order they were set, and the total is 0 exactly when all weights are 0."""

    def __init__(self, weights: Sequence[float]) -> None:
        leaves = 1
        while leaves < len(weights):
            leaves *= 2
        self._leaves = leaves
        # Node i has the children 2i and 2i + 1; the leaves come last.
        self._sums = array("d", bytes(8 * 2 * leaves))
        self._sums[leaves : leaves + len(weights)] = array("d", weights)
        for node in range(leaves - 1, 0, -1):
            self._sums[node] = self._sums[2 * node] + self._sums[2 * node + 1]

    @property
    def total(self) -> float:
        """The sum of all weights."""
        return self._sums[1]

    def __getitem__(self, index: int) -> float:
        return self._sums[self._leaves + index]

    def __setitem__(self, index: int, weight: float) -> None:
        sums, node = self._sums, self._leaves + index
        sums[node] = weight
        while node > 1:
            node //= 2
            sums[node] = sums[2 * node] + sums[2 * node + 1]

    def find(self, place: float) -> int:
        """The index whose share of [0, total) contains `place`; its weight is above 0. Needs a positive total."""
        sums, node = self._sums, 1
        while node < self._leaves:
            node *= 2
            # Rounding can lead past the end of the left half: go right only if the right half has weight.
            if place >= sums[node] and sums[node + 1] > 0.0:
                place -= sums[node]
                node += 1
        return node - self._leaves
