"""Places in Lean files where a proof is missing, as messages carry them.

A theorem of a bank is a statement by itself. A `sorry` in somebody's file is not: what it means depends on all that
stands above it. So it is described by its place: the text above its command, once, and its command around the gap.
"""

from __future__ import annotations

import hashlib
import zlib
from functools import lru_cache

import msgspec

MOST_CHARACTERS = 16 * 2**20
"""Of a context. The largest file of Mathlib has 0.3 MB; a message that unpacks to more is not believed."""

KEPT_TEXTS = 64
"""Contexts that a process keeps unpacked. A search asks about the same one again and again."""


class BadContext(ValueError):
    """A context whose packed text cannot be unpacked, or is not the one that its digest names."""


class Context(msgspec.Struct, frozen=True):
    """The text of a Lean file above a command: imports, definitions, `variable`s, open namespaces. Make it with `of`.

    The text travels packed, because every request of a search carries it: 10,000 lines fit into a message then. Caches
    and comparisons use the digest.
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
        """Raises BadContext."""
        return _unpacked(self.digest, self.packed)


class Place(msgspec.Struct, frozen=True):
    """A gap in a command of a Lean file, where a proof is missing."""

    context: Context
    """All that stands above the command; empty, or with a line break at its end."""
    before: str
    """The command's text before the gap: `theorem t (p : Prop) (h : p) : p := by\\n  `."""
    after: str = ""
    """The command's text behind the gap, to its end."""
    tactic: bool = True
    """Whether a tactic stands in the gap; otherwise a term, in whose stead tactics stand behind `by`."""

    @property
    def column(self) -> int:
        """Of the gap, from 0, in characters."""
        return len(self.before) - (self.before.rfind("\n") + 1)

    @property
    def key(self) -> tuple[str, str, str, bool]:
        """Equal for equal places, without the context's text."""
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
        raise BadContext(f"the context {digest} cannot be unpacked: {error}") from error
    if unpacker.unconsumed_tail:
        raise BadContext(f"the context {digest} has more than {MOST_CHARACTERS} bytes")
    if digest_of(text) != digest:
        raise BadContext(f"the context {digest} has another text than its digest says")
    return text


NO_CONTEXT = Context.of("")
"""A file that begins with the command itself."""
