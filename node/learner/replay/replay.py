"""The replay buffer: transitions of verified proofs, without duplicates, in a bounded window over append-only segments.

Its transitions come from the run database in order of recording, so it can be rebuilt at any time (`proofmesh replay
rebuild`).
"""

from __future__ import annotations

import hashlib
import shutil
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from common.limits import Natural, Positive, Share
from common.protocol.attempts import Transition
from common.seeds import derive_seed
from node.learner.replay.segments import SegmentReader, SegmentWriter, read_index


@dataclass
class ReplaySettings:
    """The transitions that the trainer samples from."""

    window: Positive = 250_000
    """Number of newest transitions that are kept for sampling (AlphaProof's pseudocode)."""
    segment: Positive = 10_000
    """Transitions per segment file."""
    supervised_share: Share = 0.1
    """Share of a batch that comes from the supervised transitions (AlphaProof: 10%)."""

    held_out: Natural = 16
    """One in this many states is held out of training: weights are measured on it before they are published. 0:
    none."""


Ref = tuple[str, int]
"""Reference to a transition: the segment's path (without suffix) and the position in it."""


def fingerprint(transition: Transition) -> bytes:
    """Equal for transitions with the same state and tactic."""
    text = f"{transition.state}\x1f{transition.tactic}".encode()
    return hashlib.blake2b(text, digest_size=16).digest()


def is_held_out(transition: Transition, every: int) -> bool:
    """True if a transition is held out of training: one state in `every` is; with 0, none. It depends on the state
    only, not on the tactic, and is the same in every run."""
    digest = hashlib.blake2b(transition.state.encode(), digest_size=8).digest()
    return every > 0 and int.from_bytes(digest, "big") % every == 0


class Replay:
    """The replay buffer on disk. It may have one writer only."""

    def __init__(self, folder: Path, settings: ReplaySettings) -> None:
        self.folder = folder
        self.settings = settings
        self._window: OrderedDict[bytes, Ref] = OrderedDict()
        self._held_out: dict[bytes, Ref] = {}
        self._bases: list[Path] = []
        self.last_id = 0
        """Database id of the latest added transition, duplicates included."""
        folder.mkdir(parents=True, exist_ok=True)
        self._load()
        self._writer = SegmentWriter(self._bases[-1] if self._bases else self._new_base())

    def __len__(self) -> int:
        return len(self._window)

    def add(self, rows: Sequence[tuple[int, Transition]]) -> int:
        """Add transitions with their database ids, in order; returns how many were new to the window.

        Transitions that were added before are skipped, so a repeated call is harmless.
        """
        added = 0
        for row_id, transition in rows:
            if row_id <= self.last_id:
                continue
            self.last_id = row_id
            key = fingerprint(transition)
            if key in self._window:
                continue
            self._append(row_id, key, transition)
            added += 1
        return added

    def refs(self) -> list[Ref]:
        """The transitions to train on, oldest first."""
        return [ref for key, ref in self._window.items() if key not in self._held_out]

    def held_out(self) -> list[Ref]:
        """The held-out transitions, oldest first."""
        return list(self._held_out.values())

    def close(self) -> None:
        self._writer.close()

    def _append(self, row_id: int, key: bytes, transition: Transition) -> None:
        if self._writer.count >= self.settings.segment:
            self._writer.close()
            self._writer = SegmentWriter(self._new_base())
        position = self._writer.count
        self._writer.append([(row_id, transition)])
        self._enter(key, transition, (str(self._bases[-1]), position))

    def _enter(self, key: bytes, transition: Transition, ref: Ref) -> None:
        self._window[key] = ref
        if is_held_out(transition, self.settings.held_out):
            self._held_out[key] = ref
        while len(self._window) > self.settings.window:
            self._held_out.pop(self._window.popitem(last=False)[0], None)
        self._drop_unused()

    def _drop_unused(self) -> None:
        """Delete segments whose transitions have all left the window; the database still has them."""
        oldest = next(iter(self._window.values()))[0]
        while str(self._bases[0]) != oldest:
            base = self._bases.pop(0)
            for suffix in (".data", ".index"):
                base.with_suffix(suffix).unlink(missing_ok=True)

    def _new_base(self) -> Path:
        number = int(self._bases[-1].name.rpartition("-")[2]) + 1 if self._bases else 1
        base = self.folder / f"segment-{number:06d}"
        self._bases.append(base)
        return base

    def _load(self) -> None:
        """Load the segments of an earlier process."""
        names = sorted(path.with_suffix("") for path in self.folder.glob("segment-*.index"))
        for base in names:
            self._bases.append(base)
            reader = SegmentReader(base)
            for position, entry in enumerate(read_index(base)):
                self.last_id = int(entry["id"])
                transition = reader.read(position)
                self._enter(fingerprint(transition), transition, (str(base), position))


def rebuild(folder: Path, settings: ReplaySettings, recorded: Callable[[int], Sequence[tuple[int, Transition]]]) -> int:
    """Build a new buffer in place of the one in `folder`; returns its number of transitions.

    `recorded(after)` returns the next transitions with database ids above `after`, in order; none at the end
    (`Store.transitions`). The old buffer is deleted only when the new one is complete. Raises OSError.
    """
    fresh = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(fresh, ignore_errors=True)
    replay = Replay(fresh, settings)
    try:
        while rows := recorded(replay.last_id):
            replay.add(rows)
        count = len(replay)
    finally:
        replay.close()
    shutil.rmtree(folder, ignore_errors=True)
    fresh.rename(folder)
    return count


def sample(supervised: Sequence[Ref], replayed: Sequence[Ref], size: int, share: float, seed: int) -> list[Ref]:
    """One batch: about `share` of it supervised, the rest from the replay window, uniformly with replacement.

    Pure: equal arguments give equal batches. If one source is empty, the whole batch comes from the other.
    """
    generator = np.random.default_rng(seed)
    share = 1.0 if not replayed else 0.0 if not supervised else share
    first = int(generator.binomial(size, share))
    chosen = [supervised[index] for index in generator.integers(len(supervised), size=first)] if first else []
    second = size - first
    return chosen + ([replayed[index] for index in generator.integers(len(replayed), size=second)] if second else [])


def epochs(refs: Sequence[Ref], size: int, seed: int, step: int) -> list[Ref]:
    """Batch number `step` of epochs over `refs`, each epoch in a different order. Pure."""
    per_epoch = max(1, len(refs) // size)
    epoch, place = divmod(step, per_epoch)
    order = np.random.default_rng(derive_seed(seed, "epoch", epoch)).permutation(len(refs))
    return [refs[index] for index in order[place * size : (place + 1) * size]]
