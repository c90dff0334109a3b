"""The replay buffer: a window over the newest transitions of verified proofs, without duplicates.

A (state, tactic) that is proved again is new again: it becomes the newest of the window. Its target is the smallest
number of remaining steps that a proof in the window has shown, whichever proof came first.

The transitions stand in the run's database and nowhere else. The buffer holds their numbers in memory. Each start makes
it anew from the database, so a kill at any moment loses nothing.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import numpy as np

from common.limits import Natural, Positive, Share
from common.protocol.attempts import Transition
from common.records.rows import Example
from common.records.transitions import Ref
from common.seeds import derive_seed


@dataclass
class ReplaySettings:
    """The transitions that the trainer samples from."""

    window: Positive = 250_000
    """Number of newest transitions that are kept for sampling (AlphaProof's pseudocode)."""
    segment: Positive = 10_000
    """Transitions that are read from the database at once when a learner starts."""
    supervised_share: Share = 0.1
    """Share of a batch that comes from the supervised transitions (AlphaProof: 10%)."""
    held_out: Natural = 16
    """One in this many states is held out of training: weights are measured on it before they are published. 0:
    none."""


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
    """The replay buffer of one run."""

    def __init__(self, database: Path, settings: ReplaySettings) -> None:
        """An empty buffer; `database` has the transitions that are going to be added."""
        self.settings = settings
        self.source = str(database)
        """The file of its references."""
        self._window: OrderedDict[bytes, Ref] = OrderedDict()
        """By fingerprint, the recorded transition with the fewest remaining steps; the latest proved comes last."""
        self._steps: dict[bytes, int] = {}
        self._held_out: dict[bytes, Ref] = {}
        self._weights: dict[Ref, float] = {}
        """Of transitions whose weight is not 1."""
        self.last_id = 0
        """Number of the latest added transition; duplicates, and transitions that do not train, are included."""

    def __len__(self) -> int:
        return len(self._window)

    def fill(self, recorded: Callable[[int, int], Sequence[Example]]) -> None:
        """Add everything that is recorded. `recorded(after, limit)` returns the next examples with numbers above
        `after`, in order; none at the end (`Store.examples`)."""
        while rows := recorded(self.last_id, self.settings.segment):
            self.add(rows)

    def add(self, rows: Iterable[Example]) -> int:
        """Add examples in order; returns how many were new to the window. Examples that were added before are skipped,
        so a repeated call is harmless."""
        added = 0
        for number, transition, weight in rows:
            # 1. What was added before, and what its algorithm only records.
            if number <= self.last_id:
                continue
            self.last_id = number
            if weight <= 0:
                continue
            # 2. Proved again: newest again. A longer proof keeps the reference, so that its tokens stay in caches.
            key, steps = fingerprint(transition), transition.remaining_steps
            known = self._window.get(key)
            if known is not None and steps >= self._steps[key]:
                self._put(key, known, transition)
                continue
            # 3. New, or a shorter way. The weight of a way that was known counts on, if it is larger.
            ref = (self.source, number)
            if known is not None:
                weight = max(weight, self._weights.pop(known, 1.0))
            if weight != 1.0:
                self._weights[ref] = weight
            self._steps[key] = steps
            self._put(key, ref, transition)
            added += known is None
            while len(self._window) > self.settings.window:
                oldest, left = self._window.popitem(last=False)
                del self._steps[oldest]
                self._held_out.pop(oldest, None)
                self._weights.pop(left, None)
        return added

    def _put(self, key: bytes, ref: Ref, transition: Transition) -> None:
        """Make this the newest transition."""
        self._window[key] = ref
        self._window.move_to_end(key)
        if is_held_out(transition, self.settings.held_out):
            self._held_out.pop(key, None)
            self._held_out[key] = ref

    @property
    def trains(self) -> bool:
        """Whether it has a transition to train on."""
        return len(self._window) > len(self._held_out)

    def refs(self) -> list[Ref]:
        """The transitions to train on, those that were proved least lately first."""
        return [ref for key, ref in self._window.items() if key not in self._held_out]

    def weights(self, refs: Sequence[Ref]) -> list[float] | None:
        """The weights of these transitions; None if all are 1."""
        return [self._weights.get(ref, 1.0) for ref in refs] if self._weights else None

    def held_out(self) -> list[Ref]:
        """The held-out transitions, oldest first."""
        return list(self._held_out.values())


USES = "uses.npz"
"""File in a buffer's folder: how often its transitions have been trained on."""


def read_uses(file: Path) -> dict[int, int]:
    """How often each transition of a replay buffer has been trained on, by its number; empty if the file cannot be
    read."""
    try:
        with np.load(file, allow_pickle=False) as saved:
            return dict(zip(saved["numbers"].tolist(), saved["uses"].tolist(), strict=True))
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile):
        return {}


def clear(folder: Path) -> None:
    """Delete the copies of transitions that earlier versions kept in a run's folder. Raises OSError."""
    for pattern in ("segment-*.data", "segment-*.index", "supervised.*", "validation.*"):
        for path in folder.glob(pattern):
            path.unlink(missing_ok=True)


def sample(
    supervised: Sequence[Ref],
    replayed: Sequence[Ref],
    size: int,
    share: float,
    seed: int,
    weights: Sequence[float] | None = None,
) -> list[Ref]:
    """One batch: about `share` of it supervised, the rest from the replay window, with replacement; uniformly, or in
    proportion to the `weights` of the replayed transitions.

    Pure: equal arguments give equal batches. If one source is empty, the whole batch comes from the other.
    """
    generator = np.random.default_rng(seed)
    share = 1.0 if not replayed else 0.0 if not supervised else share
    first = int(generator.binomial(size, share))
    chosen = [supervised[index] for index in generator.integers(len(supervised), size=first)] if first else []
    second = size - first
    if not second:
        return chosen
    if weights is None:
        places = generator.integers(len(replayed), size=second)
    else:
        # The place of a number in [0, total) among the sums: a transition's share of the numbers is its weight.
        sums = np.array(list(accumulate(weights)))
        places = np.searchsorted(sums, generator.random(second) * sums[-1], side="right")
    return chosen + [replayed[index] for index in places]


def epochs(refs: Sequence[Ref], size: int, seed: int, step: int) -> list[Ref]:
    """Batch number `step` of epochs over `refs`, each epoch in a different order. Pure."""
    per_epoch = max(1, len(refs) // size)
    epoch, place = divmod(step, per_epoch)
    order = np.random.default_rng(derive_seed(seed, "epoch", epoch)).permutation(len(refs))
    return [refs[index] for index in order[place * size : (place + 1) * size]]
