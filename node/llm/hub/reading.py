"""Prompts as the model's tokens, and its tokens as text."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from node.llm.faults import ContextExceeded
from node.llm.hub.loading import Loaded, in_a_line
from node.llm.prompts import raw_text
from node.llm.sampling import Prompt, SamplerError
from node.llm.templates import Template, TemplateError


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
            raise SamplerError(f"{self._name} was not asked: the prompt is no text ({error.reason})") from None
        ids = self._chat(prompt) if prompt.messages else self._raw(prompt.text)
        if not ids:
            raise SamplerError(f"{self._name} was not asked: the prompt has no tokens")
        return tuple(ids)

    def room(self, prompt: int, wanted: int) -> int:
        """Tokens of an answer to a prompt of so many. A model with a context too small for both leaves half of it to
        prompts. Raises ContextExceeded."""
        if self._context is None:
            return wanted
        if self._encodes:
            if prompt > self._context:
                raise self._too_long(prompt, self._context)
            return min(wanted, self._context - 1)
        room = min(wanted, max(1, self._context // 2))
        if prompt > self._context - room:
            raise self._too_long(prompt, self._context - room)
        return room

    def _too_long(self, tokens: int, most: int) -> ContextExceeded:
        return ContextExceeded(
            f"{self._name}: the prompt has {tokens:,} tokens, and the model's context of {self._context:,} leaves it "
            f"{most:,}"
        )

    def stop_tokens(self, stop: Collection[str]) -> frozenset[int]:
        """Stop texts that are a special token: decoded text leaves these out."""
        special = {token.content: at for at, token in self._tokenizer.added_tokens_decoder.items() if token.special}
        return frozenset(special[text] for text in stop if text in special)

    def decode(self, ids: list[int]) -> str:
        """Without special tokens, and with white space as it is."""
        if self._backend is not None:
            return str(self._backend.decode(ids, skip_special_tokens=True))
        return str(self._tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False))

    def _raw(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer(text)["input_ids"]
        if not self._encodes:
            while len(ids) > 1 and ids[-1] in self._ends:  # some tokenizers end every text
                ids = ids[:-1]
        begin = self._tokenizer.bos_token_id
        if len(ids) > 1 and begin is not None and ids[0] == ids[1] == begin:  # the text has it, too
            ids = ids[1:]
        return ids if ids or begin is None else [begin]

    def _chat(self, prompt: Prompt) -> list[int]:
        """By the tokenizer's own chat template, or else the family's. Raises SamplerError."""
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
            f"{self._name}: the prompt is a conversation, and neither the model's tokenizer has a chat template nor "
            f"the template `{self._template.name if self._template else 'none'}` a [chat_text]"
        )
