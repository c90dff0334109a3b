"""Layout of a pass in the KV cache: groups slots into rectangles, so that short states do not pay for long ones. Pure.

Attention of the running completions is computed for one rectangle of slots x cells x keys at a time. A rectangle is as
large as its largest state, so states of similar length should be neighbours: short ones get the first slots, long ones
the last, and the range of slots is cut where that saves the most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from node.inference.engine.running import Rows

Ints = NDArray[np.int64]

CALL = 300_000
"""Overhead of one more rectangle, in multiplications of queries with keys: its views and calls take about 0.1 ms a
layer, and a core does some 3 multiplications in a nanosecond."""

DEPTH = 2
"""Depth of recursive cuts: at most four rectangles."""


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
    """Rectangles that cover all rows. The network's `width` weighs their size against their number. With `whole`,
    there is a single rectangle that begins at slot 0."""
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
    """Ranges of states: cut in two if that is cheaper, then each half again."""
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
    """Take a slot out of the sorted free ones for a state of `keys` keys; `running` holds the lengths of the running
    states. A state longer than the geometric mean of the extremes gets the highest slot, any other the lowest."""
    if running.size == 0:
        return free.pop(0)
    low, high = min(keys, int(running.min())), max(keys, int(running.max()))
    # States whose lengths differ by less than half can share a rectangle at little cost.
    long = high > 1.5 * low and keys * keys > low * high
    return free.pop(-1 if long else 0)
