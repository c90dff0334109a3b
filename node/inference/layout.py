"""How the rows of one pass lie in the cache: segments of slots, so that short states do not pay for long ones. Pure.

Attention of the running completions is computed for a rectangle of slots x cells x keys at a time. A rectangle is as
large as its largest state, so states of about one length belong together: short ones are put into the first slots, long
ones into the last, and the range of slots is cut where that saves the most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from node.inference.running import Rows

Ints = NDArray[np.int64]

CALL = 300_000
"""What one more rectangle costs, in multiplications of queries with keys: about 0.1 ms a layer for its views and calls,
while a core does some 3 of them in a nanosecond."""

DEPTH = 2
"""Cuts of cuts: at most four rectangles."""


@dataclass(frozen=True)
class Segment:
    """A rectangle of the cache."""

    slot: int
    """First slot."""
    slots: int
    cells: int
    keys: int
    rows: slice
    """Rows of the pass that are in it."""
    at: Ints
    """Where in the flattened (slots, cells) rectangle each of those rows goes."""


@dataclass(frozen=True)
class _States:
    """Slots that have rows, in order, each array (S,)."""

    slot: Ints
    cells: Ints
    keys: Ints
    first: Ints
    """First row of each."""


def segments(rows: Rows, width: int, whole: bool = False) -> list[Segment]:
    """Rectangles that cover all rows; `width` of the network weighs their size against their number. With `whole`
    there is one, from slot 0 on."""
    if not rows.slot.size:
        return []
    first = np.flatnonzero(np.diff(rows.slot, prepend=-1))
    ends = np.append(first[1:], rows.slot.size)
    states = _States(rows.slot[first], ends - first, np.maximum.reduceat(rows.key, first) + 1, first)
    if whole:
        return [_segment(rows, states, 0, first.size, slot=0)]
    return [_segment(rows, states, start, stop) for start, stop in _cut(states, 0, first.size, width, DEPTH)]


def _segment(rows: Rows, states: _States, start: int, stop: int, slot: int | None = None) -> Segment:
    slot, cells = int(states.slot[start]) if slot is None else slot, int(states.cells[start:stop].max())
    end = int(states.first[stop]) if stop < states.first.size else rows.slot.size
    part = slice(int(states.first[start]), end)
    return Segment(
        slot=slot,
        slots=int(states.slot[stop - 1]) - slot + 1,
        cells=cells,
        keys=int(states.keys[start:stop].max()),
        rows=part,
        at=(rows.slot[part] - slot) * cells + rows.cell[part],
    )


def _cut(states: _States, start: int, stop: int, width: int, depth: int) -> list[tuple[int, int]]:
    """Ranges of states; cut in two where that is cheaper, and the halves again."""
    if depth == 0 or stop - start < 2:
        return [(start, stop)]
    slot, cells, keys = (part[start:stop] for part in (states.slot, states.cells, states.keys))
    below = (slot - slot[0] + 1) * np.maximum.accumulate(cells) * np.maximum.accumulate(keys)
    above = (slot[-1] - slot + 1) * np.maximum.accumulate(cells[::-1])[::-1] * np.maximum.accumulate(keys[::-1])[::-1]
    costs = below[:-1] + above[1:]
    best = int(costs.argmin())
    if (below[-1] - costs[best]) * width < CALL:
        return [(start, stop)]
    middle = start + best + 1
    return _cut(states, start, middle, width, depth - 1) + _cut(states, middle, stop, width, depth - 1)


def choose_slot(free: list[int], keys: int, running: Ints) -> int:
    """Take a slot out of the sorted free ones, for a state of `keys` keys beside running ones of these lengths: the
    lowest for a short one, the highest for one beyond the geometric mean of the extremes."""
    if running.size == 0:
        return free.pop(0)
    low, high = min(keys, int(running.min())), max(keys, int(running.max()))
    # States that differ by less than half share a rectangle well.
    long = high > 1.5 * low and keys * keys > low * high
    return free.pop(-1 if long else 0)
