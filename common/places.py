"""Places in Lean files where a proof is missing, in the form that messages carry.

The meaning of a `sorry` in a file depends on the whole file above it. So a place consists of the text above the command
with the `sorry` (the context), and the command's text before and after the gap.
"""

from __future__ import annotations

import hashlib
import zlib
from functools import lru_cache

import msgspec

MOST_CHARACTERS = 16 * 2**20
"""Most bytes of a context. The largest file of Mathlib has 0.3 MB; a message that unpacks to more is refused."""

KEPT_TEXTS = 64
"""Unpacked contexts in the cache of a process. All requests of a search have the same one."""


class BadContext(ValueError):
    """A context whose packed text cannot be unpacked, is too long, or does not match its digest."""


class Context(msgspec.Struct, frozen=True):
    """The text of a Lean file above a command: imports, definitions, `variable`s, open namespaces. Make it with `of`.

    The text is compressed, because every request of a search carries it: so 10,000 lines fit into a message. Caches and
    comparisons use the digest.
    """

    digest: str = ""
    """blake2b of the text, hex."""
    packed: bytes = b""
    """The text in UTF-8, compressed by zlib."""

    @staticmethod
    def of(text: str) -> Context:
        """A context with this text."""
        return Context(digest_of(text), zlib.compress(text.encode(errors="surrogatepass"), level=1))

    @property
    def text(self) -> str:
        """The unpacked text. Raises BadContext."""
        return _unpacked(self.digest, self.packed)


class Place(msgspec.Struct, frozen=True):
    """A gap in a command of a Lean file, where a proof is missing."""

    context: Context
    """The file above the command; empty, or ends with a line break."""
    before: str
    """The command's text before the gap: `theorem t (p : Prop) (h : p) : p := by\\n  `."""
    after: str = ""
    """The command's text after the gap, to its end."""
    tactic: bool = True
    """Whether the gap is for a tactic. Otherwise it is for a term, and tactics are inserted after `by`."""

    @property
    def column(self) -> int:
        """Column of the gap, from 0, in characters."""
        return len(self.before) - (self.before.rfind("\n") + 1)

    @property
    def key(self) -> tuple[str, str, str, bool]:
        """A key that is equal for equal places. It contains the context's digest instead of its text."""
        return self.context.digest, self.before, self.after, self.tactic


def digest_of(text: str) -> str:
    """The digest of a context with this text."""
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()


@lru_cache(maxsize=KEPT_TEXTS)
def _unpacked(digest: str, packed: bytes) -> str:
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(packed, MOST_CHARACTERS).decode(errors="surrogatepass")
    except (zlib.error, UnicodeDecodeError) as error:
        raise BadContext(f"context {digest}: cannot be unpacked: {error}") from error
    if unpacker.unconsumed_tail:
        raise BadContext(f"context {digest}: more than {MOST_CHARACTERS} bytes")
    if digest_of(text) != digest:
        raise BadContext(f"context {digest}: its text does not match the digest")
    return text


NO_CONTEXT = Context.of("")
"""The context of a file's first command."""
