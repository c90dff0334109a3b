"""Reproducible seeds: hashes of names and numbers, independent of the order of events."""

from __future__ import annotations

import hashlib

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
