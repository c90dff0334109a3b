"""How fresh and how often used the replay transitions of training batches are.

Freshness: training steps between the weights whose search found a transition and the step that trains on it. Reuse: how
often a transition has been trained on, the batch at hand included.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path

import numpy as np

from common.files import write_whole
from common.metrics import gauge
from node.learner.replay.replay import Ref
from node.learner.replay.segments import read_index

AGE = gauge("learner_replay_age_steps", "Steps since the weights that found a transition of the batch, mean")
USES = gauge("learner_replay_uses_mean", "Times that a transition of the batch has been trained on, mean")
MOST_USES = gauge("learner_replay_uses_max", "Times that a transition of the batch has been trained on, largest")

FILE = "uses.npz"
NOT_KNOWN = -1
"""Step of what was found without weights, or with such as nobody remembers: it has no age."""


class Usage:
    """Counts the batches of one replay buffer. Supervised transitions beside it do not count."""

    def __init__(self, folder: Path) -> None:
        """With the counts that were saved there. A file that cannot be read counts as none: these are only metrics."""
        self._folder = folder
        self._prefix = str(folder / "segment-")
        self._uses: dict[str, np.ndarray] = {}
        self._ids: dict[str, np.ndarray] = {}
        """By segment: how often each of its transitions was used; their database ids."""
        self._found: dict[int, int] = {}
        """By database id of those in the window: the training step of the weights that found it."""
        self._batches: list[tuple[float | None, float, int]] = []
        self._last_id = 0
        self._step = -1
        self._load()

    def asks(self, window: Sequence[Ref]) -> int:
        """The database id above which transitions of the window are not known yet."""
        return max(self._last_id, self._first_id(window) - 1)

    def told(self, rows: Iterable[tuple[int, int | None]], window: Sequence[Ref]) -> None:
        """Take in new transitions, as (database id, training step of the weights that found it)
        (`Store.steps_found`), and forget what has left the window."""
        oldest = window[0][0] if window else ""
        for known in (self._uses, self._ids):
            for base in [base for base in known if base < oldest]:
                del known[base]
        for row_id, step in rows:
            self._found[row_id] = NOT_KNOWN if step is None else step
            self._last_id = row_id
        first = self._first_id(window)
        for row_id in list(takewhile(lambda row_id: row_id < first, self._found)):  # which is in order
            del self._found[row_id]

    def seen(self, batch: list[Ref], step: int) -> list[Ref]:
        """The batch, counted as trained on at this step. A step that is taken again, since it was lost, counts once."""
        if step <= self._step:
            return batch
        self._step = step
        mine = [ref for ref in batch if ref[0].startswith(self._prefix)]
        for base, position in mine:
            self._uses_of(base, position)[position] += 1
        if mine:
            uses = [int(self._uses[base][position]) for base, position in mine]
            found = [self._found.get(int(self._ids_of(*ref)[ref[1]]), NOT_KNOWN) for ref in mine]
            ages = [max(0, step - each) for each in found if each != NOT_KNOWN]
            self._batches.append((sum(ages) / len(ages) if ages else None, sum(uses) / len(uses), max(uses)))
        return batch

    def values(self) -> dict[str, float]:
        """Over the batches since the last call: mean age in steps, mean and largest number of uses; nothing where they
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
        """Write the counts beside the buffer, for the next process. Raises OSError."""
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
        known = self._uses.get(base, np.zeros(0, np.uint32))
        if position >= len(known):
            known = self._uses[base] = np.pad(known, (0, len(self._ids_of(base, position)) - len(known)))
        return known

    def _ids_of(self, base: str, position: int) -> np.ndarray:
        """Database ids of a segment that grows, at least up to this position."""
        known = self._ids.get(base)
        if known is None or position >= len(known):
            known = self._ids[base] = read_index(Path(base))["id"]
        return known
