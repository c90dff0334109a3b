"""Metrics of replay transitions in training batches: their age in steps, and how often they have been trained on.

Age: training steps between the weights whose search found a transition and the step that trains on it. Uses: how often
a transition has been trained on, including the current batch.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path

import numpy as np

from common.files import write_whole
from common.life.metrics import gauge
from node.learner.replay.replay import Ref
from node.learner.replay.segments import read_index

AGE = gauge("learner_replay_age_steps", "Steps since the weights that found a transition of the batch, mean")
USES = gauge("learner_replay_uses_mean", "Times that a transition of the batch has been trained on, mean")
MOST_USES = gauge("learner_replay_uses_max", "Times that a transition of the batch has been trained on, largest")

FILE = "uses.npz"
NOT_KNOWN = -1
"""Step of a transition that was found without weights, or by a version with an unknown step: it has no age."""


class Usage:
    """Counts how training batches use one replay buffer. Supervised transitions do not count."""

    def __init__(self, folder: Path) -> None:
        """Load the saved counts. If the file cannot be read, counting starts at 0: these are only metrics."""
        self._folder = folder
        self._prefix = str(folder / "segment-")
        self._uses: dict[str, np.ndarray] = {}
        self._ids: dict[str, np.ndarray] = {}
        """By segment: how often each transition was used (`_uses`), and its database id (`_ids`)."""
        self._found_at: dict[int, int] = {}
        """By database id, for transitions in the window: the training step of the weights that found it."""
        self._batches: list[tuple[float | None, float, int]] = []
        self._last_id = 0
        self._step = -1
        self._load()

    def new_after(self, window: Sequence[Ref]) -> int:
        """The database id after which the transitions of the window have not been added with `add`."""
        return max(self._last_id, self._first_id(window) - 1)

    def add(self, rows: Iterable[tuple[int, int | None]], window: Sequence[Ref]) -> None:
        """Add new transitions, as (database id, training step of the weights that found it) (`Store.steps_found`), and
        remove those that have left the window."""
        oldest = window[0][0] if window else ""
        for by_segment in (self._uses, self._ids):
            for base in [base for base in by_segment if base < oldest]:
                del by_segment[base]
        for row_id, step in rows:
            self._found_at[row_id] = NOT_KNOWN if step is None else step
            self._last_id = row_id
        first = self._first_id(window)
        for row_id in list(takewhile(lambda row_id: row_id < first, self._found_at)):  # its keys are in order
            del self._found_at[row_id]

    def seen(self, batch: list[Ref], step: int) -> list[Ref]:
        """Count the batch as trained on at this step, and return it. A step that is repeated after a crash counts
        once."""
        if step <= self._step:
            return batch
        self._step = step
        replayed = [ref for ref in batch if ref[0].startswith(self._prefix)]
        for base, position in replayed:
            self._uses_of(base, position)[position] += 1
        if replayed:
            uses = [int(self._uses[base][position]) for base, position in replayed]
            found_at = [self._found_at.get(int(self._ids_of(*ref)[ref[1]]), NOT_KNOWN) for ref in replayed]
            ages = [max(0, step - each) for each in found_at if each != NOT_KNOWN]
            self._batches.append((sum(ages) / len(ages) if ages else None, sum(uses) / len(uses), max(uses)))
        return batch

    def values(self) -> dict[str, float]:
        """Mean age in steps, and mean and largest number of uses, over the batches since the last call. Empty if they
        had no replay transitions."""
        batches, self._batches = self._batches, []
        if not batches:
            return {}
        values = {
            "replay_uses_mean": sum(mean for _, mean, _ in batches) / len(batches),
            "replay_uses_max": float(max(most for _, _, most in batches)),
        }
        USES.set(values["replay_uses_mean"])
        MOST_USES.set(values["replay_uses_max"])
        if ages := [age for age, _, _ in batches if age is not None]:
            values["replay_age_steps"] = sum(ages) / len(ages)
            AGE.set(values["replay_age_steps"])
        return values

    def save(self) -> None:
        """Write the counts to the buffer's folder, for the next process. Raises OSError."""
        content = io.BytesIO()
        np.savez_compressed(content, **{Path(base).name: uses for base, uses in self._uses.items()})  # type: ignore[arg-type]
        write_whole(self._folder / FILE, content.getvalue())

    def _load(self) -> None:
        try:
            with np.load(self._folder / FILE, allow_pickle=False) as saved:
                self._uses = {str(self._folder / name): saved[name].astype(np.uint32) for name in saved.files}
        except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile):
            self._uses = {}

    def _first_id(self, window: Sequence[Ref]) -> int:
        return int(self._ids_of(*window[0])[window[0][1]]) if window else 0

    def _uses_of(self, base: str, position: int) -> np.ndarray:
        uses = self._uses.get(base, np.zeros(0, np.uint32))
        if position >= len(uses):
            uses = self._uses[base] = np.pad(uses, (0, len(self._ids_of(base, position)) - len(uses)))
        return uses

    def _ids_of(self, base: str, position: int) -> np.ndarray:
        """Database ids of a segment, at least up to this position. The segment may grow."""
        ids = self._ids.get(base)
        if ids is None or position >= len(ids):
            ids = self._ids[base] = read_index(Path(base))["id"]
        return ids
