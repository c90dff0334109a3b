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
from common.records.transitions import Ref

AGE = gauge("learner_replay_age_steps", "Steps since the weights that found a transition of the batch, mean")
MEAN_USES = gauge("learner_replay_uses_mean", "Times that a transition of the batch has been trained on, mean")
MOST_USES = gauge("learner_replay_uses_max", "Times that a transition of the batch has been trained on, largest")

USES = "uses.npz"
"""Name of the file of the counts."""
NOT_KNOWN = -1
"""Step of a transition that was found without weights, or by a version with an unknown step: it has no age."""


class Usage:
    """Counts how training batches use one replay buffer. Supervised transitions do not count."""

    def __init__(self, file: Path, source: str) -> None:
        """Load the saved counts. If the file cannot be read, counting starts at 0: these are only metrics. `source`:
        the file of the buffer's references (`Replay.source`)."""
        self._file = file
        self._source = source
        self._uses: dict[int, int] = {}
        self._found_at: dict[int, int] = {}
        """By number, for transitions in the window: the training step of the weights that found it."""
        self._batches: list[tuple[float | None, float, int]] = []
        self._last_id = 0
        self._step = -1
        try:
            with np.load(file, allow_pickle=False) as saved:
                self._uses = dict(zip(saved["numbers"].tolist(), saved["uses"].tolist(), strict=True))
        except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile):
            pass

    def new_after(self, window: Sequence[Ref]) -> int:
        """The number after which the transitions of the window have not been added with `add`."""
        return max(self._last_id, window[0][1] - 1 if window else -1)

    def add(self, rows: Iterable[tuple[int, int | None]], window: Sequence[Ref]) -> None:
        """Add new transitions, as (number, training step of the weights that found it) (`Store.steps_found`), and
        remove those that have left the window."""
        for number, step in rows:
            self._found_at[number] = NOT_KNOWN if step is None else step
            self._last_id = number
        oldest = window[0][1] if window else 0
        for number in list(takewhile(lambda number: number < oldest, self._found_at)):  # its keys are in order
            del self._found_at[number]
        for number in [number for number in self._uses if number < oldest]:
            del self._uses[number]

    def seen(self, batch: list[Ref], step: int) -> list[Ref]:
        """Count the batch as trained on at this step, and return it. A step that is repeated after a crash counts
        once."""
        if step <= self._step:
            return batch
        self._step = step
        replayed = [number for file, number in batch if file == self._source]
        for number in replayed:
            self._uses[number] = self._uses.get(number, 0) + 1
        if replayed:
            uses = [self._uses[number] for number in replayed]
            found_at = [self._found_at.get(number, NOT_KNOWN) for number in replayed]
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
        MEAN_USES.set(values["replay_uses_mean"])
        MOST_USES.set(values["replay_uses_max"])
        if ages := [age for age, _, _ in batches if age is not None]:
            values["replay_age_steps"] = sum(ages) / len(ages)
            AGE.set(values["replay_age_steps"])
        return values

    def save(self) -> None:
        """Write the counts for the next process. Raises OSError."""
        content = io.BytesIO()
        numbers, uses = np.array([*self._uses], np.int64), np.array([*self._uses.values()], np.int64)
        np.savez_compressed(content, numbers=numbers, uses=uses)
        write_whole(self._file, content.getvalue())
