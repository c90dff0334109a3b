"""Tokens as parts of a text, one after the other. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Decode = Callable[[list[int]], str]
"""Token ids to text, special tokens left out."""

CONTEXT = 5
"""Tokens of the prompt that the first ones of a sample are decoded behind: some tokenizers leave a space at the
beginning of a text out."""

PARTIAL = "\N{REPLACEMENT CHARACTER}"
"""What a decoder writes for bytes that are no whole character."""

PENDING = 8
"""Tokens whose bytes may wait for the end of their character: it has four at most, so more of them are no text."""


class TokenTexts:
    """The text of a sample while its tokens arrive: each gets the characters that it completes.

    As in vLLM (detokenize_incrementally): a few tokens are decoded with the new one and without it, and the difference
    is the new one's. A token that ends within a character gets nothing, and the one that completes it all of it.
    """

    def __init__(self, decode: Decode, prompt: Sequence[int]) -> None:
        self._decode = decode
        self._ids = list(prompt[-CONTEXT:])
        self._told = len(self._ids)
        """Tokens whose text is told."""
        self._before = decode(self._ids)
        """What `_ids` up to there give."""

    def push(self, token: int) -> str:
        """The text that a token adds."""
        self._ids.append(token)
        text = self._decode(self._ids)
        if len(text) <= len(self._before):
            return ""
        if text.endswith(PARTIAL) and len(self._ids) - self._told < PENDING:
            return ""
        return self._tell(text)

    def rest(self) -> str:
        """What is left at the end: the beginning of a character."""
        text = self._decode(self._ids)
        return self._tell(text) if len(text) > len(self._before) else ""

    def _tell(self, text: str) -> str:
        piece = text[len(self._before) :]
        self._ids = self._ids[self._told :]
        self._told = len(self._ids)
        self._before = self._decode(self._ids)
        return piece
