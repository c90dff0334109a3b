"""Byte-level BPE with a pre-tokeniser for Lean text. Any text comes back exactly: bytes have no unknowns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

SPECIAL = ("<|pad|>", "<|bos|>", "<|state|>", "<|tactic|>", "<|eos|>")
PAD, BOS, STATE, TACTIC, EOS = range(len(SPECIAL))
"""Special tokens come first in the vocabulary, so their ids never change. Text that spells one is still text."""

PATTERN = "|".join(
    (
        r"\n[ \t]*",  # a line break with the indentation that follows it
        r" ?\p{L}[\p{L}\p{N}'!?]*",  # words: h₀, ih', Nat, simp
        r"[._][\p{L}\p{N}][\p{L}\p{N}'!?]*",  # further parts of names: .add, _comm, .1
        r" ?\d",  # numbers digit by digit
        r" ?[<>=:!&|*+\-/^%$#@~;?.\\,_]+",  # ASCII operators: :=, =>, <;>
        r" ?[^\s\p{L}\p{N}_]",  # brackets and Unicode operators one by one: ⟨ ∀ → ∧ ⊢
        r"\p{N}",  # numerals outside words, such as ₁ after an operator
        r"\s",
    )
)
"""Spaces stick to the word that follows them, as in GPT-2. Names are cut before each part (`Nat`, `.add`, `_comm`),
so that the policy can put together the name of a lemma that it never saw."""


class TokenizerError(ValueError):
    """Text that is not a tokenizer of ours; the message says what is wrong with it."""


class Tokenizer:
    """Text to token ids and back. Special ids are never produced by `encode` and never shown by `decode`."""

    def __init__(self, inner: tokenizers.Tokenizer) -> None:
        found = tuple(inner.id_to_token(index) for index in range(len(SPECIAL)))
        if found != SPECIAL:
            raise TokenizerError(f"the first tokens are {found}; a tokenizer of proofmesh begins with {SPECIAL}")
        # A state may spell "<|eos|>"; that is text, not an end. The setting is not kept in the JSON.
        inner.encode_special_tokens = True
        self._inner = inner

    @classmethod
    def train(cls, texts: Iterable[str], vocab_size: int = 1024) -> Tokenizer:
        """Learn merges from texts. The result may have fewer tokens than asked for when the texts are few."""
        inner = tokenizers.Tokenizer(models.BPE())
        inner.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(tokenizers.Regex(PATTERN), behavior="isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
        inner.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=vocab_size,
            special_tokens=list(SPECIAL),
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
            show_progress=False,
        )
        inner.train_from_iterator(texts, trainer)
        return cls(inner)

    @classmethod
    def from_json(cls, text: str) -> Tokenizer:
        """From the JSON of `to_json`. Raises TokenizerError."""
        try:
            inner = tokenizers.Tokenizer.from_str(text)
        except Exception as error:  # the library raises bare Exception for bad JSON
            raise TokenizerError(f"not a tokenizer: {error}") from error
        return cls(inner)

    @classmethod
    def load(cls, path: Path) -> Tokenizer:
        """From a tokenizer.json. Raises TokenizerError (also when there is no such file)."""
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise TokenizerError(f"{path}: {error.strerror}") from error
        return cls.from_json(text)

    def to_json(self) -> str:
        return self._inner.to_str()

    def save(self, path: Path) -> None:
        path.write_text(self.to_json(), encoding="utf-8")

    @property
    def vocab_size(self) -> int:
        return self._inner.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self._inner.encode(text, add_special_tokens=False).ids
        return ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self._inner.encode_batch(list(texts), add_special_tokens=False)]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the ids; special ids are left out. Bytes that are no UTF-8 become U+FFFD."""
        return self._inner.decode(list(ids), skip_special_tokens=True)

    def decode_batch(self, batch: Sequence[Sequence[int]]) -> list[str]:
        return self._inner.decode_batch([list(ids) for ids in batch], skip_special_tokens=True)
