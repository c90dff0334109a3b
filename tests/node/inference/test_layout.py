"""Rectangles of the cache: they cover every row once, and cost less than one rectangle for all."""

import numpy as np
import pytest

from node.inference.engine.batch import Rows, choose_slot, segments


def rows_of(states: dict[int, tuple[int, int]]) -> Rows:
    """Rows of states {slot: (cells, keys)}."""
    slot, cell, key = [], [], []
    for number, (cells, keys) in sorted(states.items()):
        slot += [number] * cells
        cell += range(cells)
        key += range(keys - cells, keys)
    zeros = np.zeros(len(slot), dtype=np.int64)
    return Rows(np.array(slot), np.array(cell), zeros, zeros, np.array(key))


def random_states(seed: int) -> dict[int, tuple[int, int]]:
    rng = np.random.default_rng(seed)
    slots = rng.choice(32, size=rng.integers(1, 20), replace=False)
    return {int(slot): (int(rng.integers(1, 9)), int(rng.choice([40, 60, 500, 900]))) for slot in slots}


@pytest.mark.parametrize("seed", range(6))
def test_every_row_is_in_one_rectangle_that_holds_it(seed: int) -> None:
    states = random_states(seed)
    rows = rows_of(states)
    found = segments(rows, width=4096)
    covered = [place for segment in found for place in range(segment.rows.start, segment.rows.stop)]
    assert covered == list(range(rows.slot.size))
    for segment in found:
        slot, cell, key = (part[segment.rows] for part in (rows.slot, rows.cell, rows.key))
        assert ((slot - segment.slot) * segment.cells + cell == segment.at).all()
        assert slot.max() - segment.slot < segment.slots and cell.max() < segment.cells and key.max() < segment.keys
        assert len(set(segment.at.tolist())) == segment.at.size
    one = segments(rows, width=4096, whole=True)[0]
    assert sum(part.slots * part.cells * part.keys for part in found) <= one.slots * one.cells * one.keys


def test_short_and_long_states_do_not_share_a_rectangle_where_it_matters() -> None:
    rows = rows_of(dict.fromkeys(range(12), (6, 60)) | dict.fromkeys((30, 31), (6, 900)))
    assert [(part.slot, part.slots, part.keys) for part in segments(rows, width=256)] == [(0, 12, 60), (30, 2, 900)]


def test_long_states_take_the_last_slots_and_short_ones_the_first() -> None:
    free, running = list(range(8)), np.zeros(0, dtype=np.int64)
    taken = []
    for keys in (50, 400, 60, 380, 55):
        taken.append(choose_slot(free, keys, running))
        running = np.append(running, keys)
    assert taken == [0, 7, 1, 6, 2] and free == [3, 4, 5]
