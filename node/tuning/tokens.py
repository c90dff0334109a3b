"""Tokenizes examples. Prompt and completion are tokenized separately; the prompt by the same code as at inference."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from node.data.errors import InputError
from node.llm.hub.loading import Loaded
from node.llm.hub.reading import Reader
from node.llm.prompts import raw_text
from node.llm.sampling import ChatMessage, ContextExceeded, Prompt, SamplerError
from node.llm.templates import Template
from node.tuning.examples import Example

IGNORED = -100
"""transformers' label of tokens that do not count in the loss."""

TOO_LONG = "longer than the model reads"

_QUESTION, _ANSWER = "question", "answer"
"""A conversation that shows which tokens follow an answer."""


@dataclass(frozen=True)
class Tokens:
    """A tokenized example."""

    ids: tuple[int, ...]
    prompt: int
    """Number of tokens of the prompt, which are not predicted."""
    weight: float
    theorem: str

    @property
    def labels(self) -> list[int]:
        return [IGNORED] * self.prompt + list(self.ids[self.prompt :])


@dataclass
class Encoded:
    """Tokenized examples, and the number of those that were left out by reason."""

    rows: list[Tokens] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def tokens(self) -> int:
        return sum(len(row.ids) for row in self.rows)

    @property
    def predicted(self) -> int:
        return sum(len(row.ids) - row.prompt for row in self.rows)

    def digest(self) -> str:
        """A digest of tokens and weights in their order."""
        hasher = hashlib.blake2b(digest_size=16)
        for row in self.rows:
            hasher.update(f"{row.ids} {row.prompt} {row.weight}\n".encode())
        return hasher.hexdigest()


class Encoder:
    """Tokenizes the examples of one template."""

    def __init__(self, name: str, loaded: Loaded, template: Template, *, most: int = 0) -> None:
        """`name`: the model's name for messages. `most`: most tokens of an example; 0: the model's limit.

        Raises InputError if the template is a chat and the tokenizer has no chat template, or if there is no end token.
        """
        self._template = template
        self._tokenizer = loaded.tokenizer
        self._reader = Reader(name, loaded, template)
        self._most = most
        self._context = loaded.context
        self._name = name
        self.ending = self._ending(loaded)

    def encoded(self, examples: Iterable[Example]) -> Encoded:
        """Tokenizes examples. Those that are too long are left out, never truncated. Raises InputError if the chat
        template fails."""
        result = Encoded()
        for example in examples:
            row = self.one(example)
            if row is None:
                result.left_out[TOO_LONG] += 1
            else:
                result.rows.append(row)
        return result

    def one(self, example: Example) -> Tokens | None:
        """Tokenizes an example; returns None if it is too long. Raises InputError."""
        try:
            prompt = self._reader.ids(example.prompt)
            # At inference the model gets no longer prompt, and cannot write a longer completion.
            room = self._reader.room(len(prompt), self._template.decoding.max_tokens)
        except ContextExceeded:
            return None
        except SamplerError as error:
            raise InputError(str(error)) from error
        answer = (*self._text(example.completion), *self.ending)
        if len(answer) > room or (self._most and len(prompt) + len(answer) > self._most):
            return None
        return Tokens((*prompt, *answer), len(prompt), example.weight, example.theorem)

    def _text(self, text: str) -> Sequence[int]:
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def _ending(self, loaded: Loaded) -> tuple[int, ...]:
        """The tokens that end an answer. With a chat template: the tokens after an answer up to the first stop token.
        Otherwise a special token at which the template stops, or the tokenizer's end token. Raises InputError."""
        if self._template.kind == "chat":
            behind = self._text(self._behind_an_answer())
            at = next((at for at, token in enumerate(behind) if token in loaded.ends), None)
            if at is not None:
                return tuple(behind[: at + 1])
        elif stops := self._reader.stop_tokens(self._template.output.stops):
            return (min(stops),)  # the template writes the conversation as text, without a chat template
        own: Any = self._tokenizer.eos_token_id
        if own is None and not loaded.ends:
            raise InputError(
                f"{self._name}: neither the model nor its tokenizer has an end token: add `eos_token_id` to config.json"
            )
        return (own if own is not None else min(loaded.ends),)

    def _behind_an_answer(self) -> str:
        """The text that a conversation has after an answer. Raises InputError."""
        messages = (ChatMessage("user", _QUESTION), ChatMessage("assistant", _ANSWER))
        if self._tokenizer.chat_template:
            try:
                text = self._tokenizer.apply_chat_template(
                    [{"role": each.role, "content": each.content} for each in messages], tokenize=False
                )
            except Exception as error:  # a chat template is a program that can raise any error
                raise InputError(
                    f"{self._name}: its chat template fails: {' '.join(str(error).split())[:300]}"
                ) from error
        elif self._template.chat_text is not None:
            text = raw_text(self._template, Prompt(messages=messages)).removesuffix(self._template.chat_text.answer)
        else:
            raise InputError(
                f"{self._name}: the template `{self._template.name}` is a conversation, and the tokenizer has no "
                "chat template: name a raw template (MODEL@TEMPLATE; `proofmesh models list` shows them), or save a "
                "tokenizer with a chat template beside the model"
            )
        return str(text).rpartition(_ANSWER)[2]
