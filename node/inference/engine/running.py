"""The running completions as arrays, so that Python does not loop over them.

A state has a *slot*. Its samples with the same tokens so far share one *row*, in a *cell* of that slot. All rows of a
slot are equally long. When samples of a row draw different tokens, the row splits; the cache's keys do not move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from node.inference.engine.job import STOPS, Job
from node.model.tokenizer import EOS, SPECIAL

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
        self.temperature = np.ones(slots, dtype=np.float32)
        self.top_p = np.ones(slots, dtype=np.float32)
        self.distinct = np.zeros(slots, dtype=bool)
        self.stop = np.full((slots, STOPS), EOS, dtype=np.int64)
        """Tokens that end a completion: the end-of-tactic token always does."""
        self.noise = np.zeros((slots, cells, limit), dtype=np.float32)
        self.tokens = np.zeros((slots, cells, limit), dtype=np.int64)
        self.length = np.zeros((slots, cells), dtype=np.int64)
        """Tokens of a finished sample, its end not counted."""
        self.complete = np.zeros((slots, cells), dtype=bool)
        self.log_probability = np.zeros((slots, cells), dtype=np.float64)
        """Sums of log-probabilities under the policy itself."""
        self.log_sampled = np.zeros((slots, cells), dtype=np.float64)
        """Sums of log-probabilities under the distributions that the tokens were drawn from."""
        self.rows = Rows(_none(), _none(), _none(), _none(), _none())

    def admit(self, slot: int, prompt: int, job: Job, stop: Sequence[int] = ()) -> None:
        """Put a state into a free slot; its first token is drawn after the pass that reads its prompt."""
        self.cell[slot] = -1
        self.cell[slot, : job.samples] = 0
        self.prompt[slot] = self.keys[slot] = prompt
        self.drawn[slot] = 0
        self.temperature[slot] = job.sampling.temperature
        self.top_p[slot] = job.sampling.top_p
        self.distinct[slot] = job.sampling.distinct
        self.stop[slot] = EOS
        self.stop[slot, : len(stop)] = stop
        self.noise[slot, : job.samples] = uniforms(job.seed, job.samples, self.limit)
        self.log_probability[slot] = self.log_sampled[slot] = 0.0
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

    def advance(
        self,
        samples: Ints,
        token: Ints,
        log_probability: NDArray[np.float32],
        log_sampled: NDArray[np.float32],
    ) -> tuple[Moves, Ints]:
        """Append the tokens drawn for `samples` (flattened (slot, sample)), retire what ends, lay out the next rows.

        Returns the moves for the cache's mask, and the slots whose last sample has ended.
        """
        slot = samples // self.cells
        drawn = self.drawn[slot]
        self.tokens.reshape(-1, self.limit)[samples, drawn] = token
        self.log_probability.reshape(-1)[samples] += log_probability
        self.log_sampled.reshape(-1)[samples] += log_sampled
        ended = (token[:, None] == self.stop[slot]).any(axis=1)
        strange = ~ended & ((token < self.specials) | (token >= self.vocab_size))
        stop = ended | strange | (drawn + 1 >= self.limit)
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
