"""Byte-level BPE with a pre-tokenizer for Lean text. Decoding restores any text exactly: every byte has a token."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

SPECIAL = ("<|pad|>", "<|bos|>", "<|state|>", "<|tactic|>", "<|eos|>")
PAD, BOS, STATE, TACTIC, EOS = range(len(SPECIAL))
"""Special tokens come first in the vocabulary, so their ids never change. Text such as "<|eos|>" is encoded as text."""

ROLES = ("<|text|>", "<|lean|>")
"""Optional marks after SPECIAL: whether a document of the earlier training stages is text or Lean code."""
TEXT, LEAN = range(len(SPECIAL), len(SPECIAL) + len(ROLES))

VALUE = "<|value-{}|>"
"""Optional marks after ROLES: the number of remaining steps, one mark per bin of the value head."""

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
"""Spaces belong to the word after them, as in GPT-2. Names are split before each part (`Nat`, `.add`, `_comm`), so that
the policy can compose the names of lemmas that it has never seen."""

GPT2_PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
"""GPT-2's split pattern (Radford et al., 2019), for comparison with ours."""


class TokenizerError(ValueError):
    """Text that is not a proofmesh tokenizer; the message says what is wrong with it."""


class Tokenizer:
    """Text to token ids and back. Special ids are never produced by `encode` and never shown by `decode`."""

    def __init__(self, inner: tokenizers.Tokenizer) -> None:
        first = tuple(inner.id_to_token(index) for index in range(len(SPECIAL)))
        if first != SPECIAL:
            raise TokenizerError(f"the first tokens are {first}; a proofmesh tokenizer begins with {SPECIAL}")
        # A state may contain the text "<|eos|>". It must not become the special token. The JSON has no such setting.
        inner.encode_special_tokens = True
        self._inner = inner
        names = [token.content for _, token in sorted(inner.get_added_tokens_decoder().items())]
        if names != [inner.id_to_token(index) for index in range(len(names))]:
            raise TokenizerError("its special tokens are not the first ones of its vocabulary")
        self.specials = len(names)
        """Ids below this are special."""
        self.value_bins = sum(name == VALUE.format(bin) for bin, name in enumerate(names[len(SPECIAL) + len(ROLES) :]))
        """Number of marks of remaining steps; may be 0."""

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        vocab_size: int = 1024,
        *,
        roles: bool = False,
        value_bins: int = 0,
        gpt2_split: bool = False,
    ) -> Tokenizer:
        """Learn merges from texts. With little text the result may have fewer than `vocab_size` tokens.

        `roles`: add the marks ROLES; `value_bins`: add this many marks of remaining steps, and ROLES.
        `gpt2_split`: split with GPT-2's pattern instead of PATTERN, for comparisons.
        """
        marks = [*SPECIAL, *(ROLES if roles or value_bins else ()), *(VALUE.format(bin) for bin in range(value_bins))]
        inner = tokenizers.Tokenizer(models.BPE())
        inner.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(tokenizers.Regex(GPT2_PATTERN if gpt2_split else PATTERN), behavior="isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
        inner.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=vocab_size,
            special_tokens=marks,
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
        """From a tokenizer.json. Raises TokenizerError, also if the file does not exist."""
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

    @property
    def has_roles(self) -> bool:
        """Whether the vocabulary has the marks TEXT and LEAN."""
        return self.specials >= len(SPECIAL) + len(ROLES)

    @property
    def digest(self) -> str:
        """Identifies the tokenizer: equal tokenizers have equal digests."""
        return hashlib.blake2b(self.to_json().encode(), digest_size=12).hexdigest()

    def value_token(self, steps: float) -> int:
        """The mark for this many remaining steps; the last mark also stands for more. Needs `value_bins` above 0."""
        return len(SPECIAL) + len(ROLES) + max(0, min(round(steps), self.value_bins - 1))

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self._inner.encode(text, add_special_tokens=False).ids
        return ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self._inner.encode_batch(list(texts), add_special_tokens=False)]

    def piece(self, token: int) -> str:
        """A token in printable form: spaces as ␣, line breaks as ⏎, bytes of an incomplete character in brackets."""
        if token < self.specials:
            return str(self._inner.id_to_token(token))
        text = self.decode([token])
        if "\ufffd" in text:
            return f"[{self._inner.id_to_token(token)}]"
        return text.replace(" ", "␣").replace("\n", "⏎")

    def decode(self, ids: Sequence[int], *, special: bool = False) -> str:
        """The text of the ids, without special ids unless `special`. Invalid UTF-8 becomes U+FFFD."""
        return self._inner.decode(list(ids), skip_special_tokens=not special)

    def decode_batch(self, batch: Sequence[Sequence[int]]) -> list[str]:
        return self._inner.decode_batch([list(ids) for ids in batch], skip_special_tokens=True)
