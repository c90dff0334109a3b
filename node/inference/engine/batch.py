"""Jobs of the generation engine, the running ones as arrays, and the place of their completions in the KV cache.

Attention of the running completions is computed for one rectangle of slots x cells x keys at a time. A rectangle is as
large as its largest state, so states of similar length should be neighbours: short ones get the first slots, long ones
the last, and the range of slots is cut where that saves the most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from common.limits import MOST_STOPS
from common.protocol.messages import SampledTactic
from common.settings import PLAIN, Sampling
from node.model.tokenizer import EOS, SPECIAL

# ----------------------------------------------------------------------------------------------------------------------
# Jobs, their results, and the counters of an engine.

STOPS = MOST_STOPS + 1
"""Most stop tokens of a job, including the end-of-tactic token."""


@dataclass(frozen=True)
class Job:
    """One state, statement, or prompt to sample from."""

    key: Any
    """Returned with the answer."""
    state: str
    """A proof state; for whole proofs a statement, `theorem NAME BINDERS : CONCLUSION`; for conjectures the prompt's
    text."""
    samples: int
    seed: int
    sampling: Sampling = PLAIN
    """Its limits (`common.limits`) are checked earlier, when settings are read and requests are decoded."""
    proof: bool = False
    """Sample whole proofs of the statement, not tactics."""
    conjecture: bool = False
    """Sample conjectures, not tactics."""

    @property
    def whole(self) -> bool:
        """True for whole proofs and conjectures: they have no value, and each sample has its own token count."""
        return self.proof or self.conjecture

    def problem(self, cells: int) -> str | None:
        """Why this job can never run in an engine with `cells` samples per state; None if it can."""
        if not 1 <= self.samples <= cells:
            return f"{self.samples} samples asked for; this network gives 1 to {cells} at once (--samples)"
        if self.proof and self.conjecture:
            return "asked for whole proofs and for conjectures at once; ask for one of them"
        return None


@dataclass(frozen=True)
class FinishedJob:
    """The answer to a job."""

    key: Any
    tactics: tuple[SampledTactic, ...]
    """In sample order, with duplicates. Empty: the statement or the prompt is longer than the network's context."""
    value: float
    """V: minus the expected remaining steps; 0 for whole proofs and conjectures."""
    tokens: int = 0
    """Tokens of the samples, including end tokens."""
    problem: str = ""
    """Why nothing was sampled: a stop text is not a single token of this version's tokenizer, or the network was not
    trained on whole proofs or conjectures."""


@dataclass
class Counters:
    """Counters of an engine since its creation."""

    passes: int = 0
    rows: int = 0
    """Rows that drew a token, summed over passes: distinct completions and new prompts."""
    samples: int = 0
    """Samples that drew a token, summed over passes. Samples with equal tokens so far share a row, but count each."""
    states: int = 0
    """Finished states."""
    tokens: int = 0
    """Tokens of finished samples, including end tokens."""
    prompt_tokens: int = 0
    """Tokens of prompts that were read; prompts in the prefix cache are not read again."""
    remembered: int = 0
    """Hits of the prefix cache: states whose prompt was prefilled before."""
    dropped: int = 0
    """Prefilled states evicted from the prefix cache."""
    cut_off: int = 0
    """Samples without an end: never sent to Lean."""

    def clear(self) -> None:
        """Reset all counters to 0."""
        for name in self.__dataclass_fields__:
            setattr(self, name, 0)

    def add(self, other: Counters) -> None:
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


# ----------------------------------------------------------------------------------------------------------------------
# The running completions as arrays, so that Python does not loop over them.

Ints = NDArray[np.int64]


@dataclass
class Rows:
    """Rows of the next pass, ordered by slot and cell; every array (R,)."""

    slot: Ints
    cell: Ints
    token: Ints
    position: Ints
    key: Ints
    """Index of the row's token in its slot's list of keys."""


@dataclass
class Moves:
    """Rows that changed their cell or split: flattened (slot, cell) from and to."""

    source: Ints
    target: Ints


def _none() -> Ints:
    return np.zeros(0, dtype=np.int64)


def no_rows() -> Rows:
    """Rows of a pass over nothing but prompts."""
    return Rows(_none(), _none(), _none(), _none(), _none())


class Running:
    """The samples of up to `slots` states, at most `cells` each, at most `limit` new tokens long."""

    def __init__(self, slots: int, cells: int, limit: int, vocab_size: int, specials: int = len(SPECIAL)) -> None:
        self.slots, self.cells, self.limit = slots, cells, limit
        self.vocab_size, self.specials = vocab_size, specials
        self.cell = np.full((slots, cells), -1, dtype=np.int64)
        """Cell of the row that each sample is in; -1: no such sample, or finished."""
        self.prompt = np.zeros(slots, dtype=np.int64)
        self.keys = np.zeros(slots, dtype=np.int64)
        """Length of each slot's key list."""
        self.drawn = np.zeros(slots, dtype=np.int64)
        self.longest = np.full(slots, limit, dtype=np.int64)
        """Most new tokens of each slot's samples."""
        self.temperature = np.ones(slots, dtype=np.float32)
        self.top_p = np.ones(slots, dtype=np.float32)
        self.stop = np.full((slots, STOPS), EOS, dtype=np.int64)
        """Tokens that end a completion: the end-of-tactic token always does."""
        self.noise = np.zeros((slots, cells, limit), dtype=np.float32)
        self.tokens = np.zeros((slots, cells, limit), dtype=np.int64)
        self.length = np.zeros((slots, cells), dtype=np.int64)
        """Tokens of a finished sample, its end not counted."""
        self.complete = np.zeros((slots, cells), dtype=bool)
        self.log_probability = np.zeros((slots, cells), dtype=np.float64)
        """Sums of log-probabilities under the policy itself."""
        self.rows = no_rows()

    def admit(self, slot: int, prompt: int, job: Job, longest: int, stop: Sequence[int] = ()) -> None:
        """Put a state into a free slot, with samples of at most `longest` tokens; its first token is drawn after the
        pass that reads its prompt."""
        self.cell[slot] = -1
        self.cell[slot, : job.samples] = 0
        self.prompt[slot] = self.keys[slot] = prompt
        self.drawn[slot] = 0
        self.longest[slot] = longest
        self.temperature[slot] = job.sampling.temperature
        self.top_p[slot] = job.sampling.top_p
        self.stop[slot] = EOS
        self.stop[slot, : len(stop)] = stop
        self.noise[slot, : job.samples, :longest] = uniforms(job.seed, job.samples, longest)
        self.log_probability[slot] = 0.0
        self.complete[slot] = False

    def questions(self, new: Ints) -> tuple[Ints, Ints, NDArray[np.float32]]:
        """The uniform numbers for the next tokens: samples (P,), the place of each in the table (P,), and the table
        (R + new, W).

        Row r of the table holds the uniform numbers of the samples in row r of the pass (`rows`, then one row for
        each slot in `new`); unused entries are 0.
        """
        row_of = np.empty((self.slots, self.cells), dtype=np.int64)
        slots = np.concatenate([self.rows.slot, new])
        row_of[slots, np.concatenate([self.rows.cell, np.zeros_like(new)])] = np.arange(slots.size)
        samples = np.flatnonzero(self.cell >= 0)
        slot = samples // self.cells
        row = row_of[slot, self.cell.reshape(-1)[samples]]
        order = np.argsort(row, kind="stable")
        samples, slot, row = samples[order], slot[order], row[order]
        column = np.arange(row.size) - np.searchsorted(row, row)
        table = np.zeros((slots.size, int(column.max()) + 1), dtype=np.float32)
        table[row, column] = self.noise.reshape(-1, self.limit)[samples, self.drawn[slot]]
        return samples, row * table.shape[1] + column, table

    def advance(self, samples: Ints, token: Ints, log_probability: NDArray[np.float32]) -> tuple[Moves, Ints]:
        """Append the tokens drawn for `samples` (flattened (slot, sample)), retire what ends, lay out the next rows.

        Returns the moves for the cache's mask, and the slots whose last sample has ended.
        """
        slot = samples // self.cells
        drawn = self.drawn[slot]
        self.tokens.reshape(-1, self.limit)[samples, drawn] = token
        self.log_probability.reshape(-1)[samples] += log_probability
        ended = (token[:, None] == self.stop[slot]).any(axis=1)
        strange = ~ended & ((token < self.specials) | (token >= self.vocab_size))
        stop = ended | strange | (drawn + 1 >= self.longest[slot])
        was = self.cell.reshape(-1)[samples]
        touched = np.unique(slot)
        if stop.any():
            self.complete.reshape(-1)[samples[ended]] = True
            self.length.reshape(-1)[samples[stop]] = drawn[stop] + ~(ended | strange)[stop]
            self.cell.reshape(-1)[samples[stop]] = -1
        self.drawn[touched] += 1
        moves = self._split(samples[~stop], slot[~stop], was[~stop], token[~stop])
        return moves, touched[(self.cell[touched] < 0).all(axis=1)]

    def _split(self, samples: Ints, slot: Ints, cell: Ints, token: Ints) -> Moves:
        """One row for each distinct (slot, cell, token); cells of a slot are numbered from 0 again."""
        span = np.int64(self.vocab_size)
        kinds, kind = np.unique((slot * self.cells + cell) * span + token, return_inverse=True)
        source = kinds // span
        slots = source // self.cells
        cells = np.arange(kinds.size) - np.searchsorted(slots, slots)
        self.cell.reshape(-1)[samples] = cells[kind]
        target = slots * self.cells + cells
        keys = self.keys[slots] + cells
        position = self.prompt[slots] + self.drawn[slots] - 1
        self.rows = Rows(slots, cells, kinds % span, position, keys)
        self.keys += np.bincount(slots, minlength=self.slots)
        moved = source != target
        return Moves(source[moved], target[moved])


# ----------------------------------------------------------------------------------------------------------------------
# Counter-based random numbers: the number for a token depends only on (seed, sample index, position).

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX = ((30, np.uint64(0xBF58476D1CE4E5B9)), (27, np.uint64(0x94D049BB133111EB)))
"""Constants of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014)."""


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    x = x + _GOLDEN
    for shift, factor in _MIX:
        x = (x ^ (x >> np.uint64(shift))) * factor
    return x ^ (x >> np.uint64(31))


def uniforms(seed: int, samples: int, length: int) -> NDArray[np.float32]:
    """Uniform numbers in [0, 1 - 2^-23], shape (samples, length): row i belongs to sample i, column t to its token t.

    23 bits, so that a product with a float32 total is always below that total.
    """
    key = _mix(np.array([seed % (1 << 64)], dtype=np.uint64))
    rows = _mix(key ^ _mix(np.arange(samples, dtype=np.uint64)))
    bits = _mix(rows[:, None] ^ _mix(np.arange(length, dtype=np.uint64)))
    return (bits >> np.uint64(41)).astype(np.float32) * np.float32(2.0**-23)


# ----------------------------------------------------------------------------------------------------------------------
# The layout of a pass in the KV cache.


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
