"""Reproducible seeds: hashes of names and numbers, independent of the order of events."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Protocol, TypeVar

SEEDS = 1 << 63
"""The number of seeds. Seeds are integers from 0 to SEEDS - 1."""


def derive_seed(*parts: int | str) -> int:
    """A 63-bit seed from (run seed, attempt id, node index, ...): equal parts give equal seeds on every machine."""
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def is_held_out(name: str, share: int) -> bool:
    """Whether the theorem (or text) of this name is held out of training. One in `share` is, the same on every machine
    and in every training run; 0: none."""
    return share > 0 and derive_seed("held-out", name) % share == 0


class OfTheorem(Protocol):
    """An example from a theorem."""

    @property
    def theorem(self) -> str: ...


T = TypeVar("T", bound=OfTheorem)


def split(examples: Iterable[T], share: int) -> tuple[list[T], list[T]]:
    """Splits examples into (training, held out). One in `share` theorems is held out with all its examples; 0: none."""
    train: list[T] = []
    held_out: list[T] = []
    for example in examples:
        (held_out if is_held_out(example.theorem, share) else train).append(example)
    return train, held_out
