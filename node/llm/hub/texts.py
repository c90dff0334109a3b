"""Decodes sampled tokens one by one into pieces of text. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Decode = Callable[[list[int]], str]
"""Converts token ids to text without special tokens."""

CONTEXT = 5
"""Prompt tokens decoded before the first tokens of a sample: some tokenizers drop a space at the start of a text."""

PARTIAL = "\N{REPLACEMENT CHARACTER}"
"""The decoder's output for bytes of an incomplete character."""

PENDING = 8
"""Maximum tokens that wait for the rest of a character. A character has at most four bytes, so more tokens than this
are not valid text."""


class TokenTexts:
    """Incremental decoding of a sample: each token gets the characters that it completes.

    As in vLLM (detokenize_incrementally), the last few tokens are decoded with and without the new token. The
    difference is the new token's text. The token that completes a character gets all of it, and earlier ones nothing.
    """

    def __init__(self, decode: Decode, prompt: Sequence[int]) -> None:
        self._decode = decode
        self._ids = list(prompt[-CONTEXT:])
        self._emitted = len(self._ids)
        """Number of ids whose text was returned."""
        self._before = decode(self._ids)
        """The text of those ids."""

    def push(self, token: int) -> str:
        """Add a token; returns the text that it completes."""
        self._ids.append(token)
        text = self._decode(self._ids)
        if len(text) <= len(self._before):
            return ""
        if text.endswith(PARTIAL) and len(self._ids) - self._emitted < PENDING:
            return ""
        return self._emit(text)

    def rest(self) -> str:
        """The remaining text at the end: an incomplete character."""
        text = self._decode(self._ids)
        return self._emit(text) if len(text) > len(self._before) else ""

    def _emit(self, text: str) -> str:
        piece = text[len(self._before) :]
        self._ids = self._ids[self._emitted :]
        self._emitted = len(self._ids)
        self._before = self._decode(self._ids)
        return piece
