"""Seeds derived from what is decided, never from the order in which things arrive."""

from __future__ import annotations

import hashlib

SEEDS = 1 << 63
"""How many seeds there are: they are the numbers below."""


def derive_seed(*parts: int | str) -> int:
    """A 63-bit seed from (run seed, attempt id, node index, ...): equal parts give equal seeds on every machine."""
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1
