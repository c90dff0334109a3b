"""Encodes prompts as the model's tokens, and decodes its tokens to text, also one by one while a sample is drawn."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from node.llm.hub.loading import Loaded, in_a_line
from node.llm.prompts import raw_text
from node.llm.sampling import ContextExceeded, Prompt, SamplerError
from node.llm.templates import Template, TemplateError

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


# ----------------------------------------------------------------------------------------------------------------------
# Encodes prompts as the model's tokens, and decodes its tokens to text.


class Reader:
    """The tokenizer of a model."""

    def __init__(self, name: str, loaded: Loaded, template: Template | None) -> None:
        self._name = name
        self._tokenizer = loaded.tokenizer
        self._ends = loaded.ends
        self._encodes = loaded.encodes
        self._context = loaded.context
        self._template = template
        self._backend: Any = getattr(loaded.tokenizer, "backend_tokenizer", None)

    def ids(self, prompt: Prompt) -> tuple[int, ...]:
        """A prompt's tokens. Raises SamplerError."""
        text = prompt.text or "".join(each.content for each in prompt.messages)
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise SamplerError(f"{self._name}: the prompt is not valid text ({error.reason})") from None
        ids = self._chat(prompt) if prompt.messages else self._raw(prompt.text)
        if not ids:
            raise SamplerError(f"{self._name}: the prompt has no tokens")
        return tuple(ids)

    def room(self, prompt: int, requested: int) -> int:
        """Maximum tokens of a completion of a prompt with `prompt` tokens. If the model's context is too small for
        both, half of it is reserved for prompts. Raises ContextExceeded."""
        if self._context is None:
            return requested
        if self._encodes:
            if prompt > self._context:
                raise self._too_long(prompt, self._context)
            return min(requested, self._context - 1)
        room = min(requested, max(1, self._context // 2))
        if prompt > self._context - room:
            raise self._too_long(prompt, self._context - room)
        return room

    def _too_long(self, tokens: int, most: int) -> ContextExceeded:
        return ContextExceeded(
            f"{self._name}: the prompt has {tokens:,} tokens, but at most {most:,} of the model's context of "
            f"{self._context:,} are for the prompt"
        )

    def stop_tokens(self, stop: Collection[str]) -> frozenset[int]:
        """Ids of stop texts that are special tokens, which do not occur in decoded text."""
        special = {token.content: at for at, token in self._tokenizer.added_tokens_decoder.items() if token.special}
        return frozenset(special[text] for text in stop if text in special)

    def decode(self, ids: list[int]) -> str:
        """Decode without special tokens; white space is unchanged."""
        if self._backend is not None:
            return str(self._backend.decode(ids, skip_special_tokens=True))
        return str(self._tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False))

    def _raw(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer(text)["input_ids"]
        if not self._encodes:
            while len(ids) > 1 and ids[-1] in self._ends:  # some tokenizers append an end token to every text
                ids = ids[:-1]
        begin = self._tokenizer.bos_token_id
        if len(ids) > 1 and begin is not None and ids[0] == ids[1] == begin:  # the text itself also begins with bos
            ids = ids[1:]
        return ids if ids or begin is None else [begin]

    def _chat(self, prompt: Prompt) -> list[int]:
        """Encode a conversation with the tokenizer's chat template, or else the family's. Raises SamplerError."""
        if self._tokenizer.chat_template:
            messages = [{"role": each.role, "content": each.content} for each in prompt.messages]
            try:
                text = self._tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
            except Exception as error:  # a template is a program that may refuse a role
                raise SamplerError(f"{self._name}: its chat template fails: {in_a_line(error)}") from error
            ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
            return ids
        if self._template is not None and self._template.chat_text is not None:
            try:
                return self._raw(raw_text(self._template, prompt))
            except TemplateError as error:
                raise SamplerError(f"{self._name}: {error}") from error
        raise SamplerError(
            f"{self._name}: the prompt is a conversation, but the model's tokenizer has no chat template; name a "
            f"template with [chat_text] instead of `{self._template.name if self._template else 'none'}`"
        )
