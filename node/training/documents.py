"""From rows to tokens: what is read, what is predicted, and where the value is.

Text and Lean code are `<bos> <text|lean> TEXT <eos>`, cut into pieces of at most the row's length, all of it predicted.
Transitions are `<bos> <state> STATE <tactic> TACTIC <eos>`: the tactic is predicted, and the value where the prompt
ends. As text (midtraining) all of a transition is predicted, and a mark of the remaining steps follows the tactic.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from common.messages import Transition
from common.seeds import derive_seed
from node.model.batches import encode_transition
from node.model.names import Names
from node.model.prompt import prompt_tokens, tactic_tokens
from node.model.tokenizer import BOS, EOS, LEAN, TEXT, Tokenizer
from node.training.rows import Row, steps_of, text_of
from node.training.settings import DataSettings

Purpose = Literal["train", "valid", "all"]
"""What is not held out; what is; everything."""


@dataclass(frozen=True)
class Document:
    """Tokens that attend to each other and to no others."""

    tokens: tuple[int, ...]
    prompt: int
    """How many at the start are not predicted; at least one."""
    remaining_steps: float | None
    """For the value, read at the last token of the prompt; None: no value."""
    characters: int
    """Bytes of UTF-8 that the predicted tokens stand for: for bits per byte."""


class Encoder:
    """Turns rows of one kind into documents of at most `length` tokens."""

    def __init__(self, tokenizer: Tokenizer, kind: str, settings: DataSettings, length: int, seed: int) -> None:
        self._tokenizer, self._kind, self._settings = tokenizer, kind, settings
        self._length, self._seed = length, seed

    def documents(self, row: Row, purpose: Purpose, number: int) -> Iterator[Document]:
        """Documents of a row that are for training, or those that are held out. `number` seeds augmentation: the same
        row with another number is written otherwise. Raises BadRow."""
        if self._kind == "transitions":
            yield from self._transitions(row, purpose, number)
            return
        text = text_of(row, self._settings.text_field)
        if text.strip() and self._is_for(text, purpose):
            yield from self._pieces(text)

    def _is_for(self, key: str, purpose: Purpose) -> bool:
        share = self._settings.held_out
        held_out = share > 0 and derive_seed("held-out", key) % share == 0
        return purpose == "all" or held_out == (purpose == "valid")

    def _pieces(self, text: str) -> Iterator[Document]:
        mark = [LEAN if self._kind == "lean" else TEXT] if self._tokenizer.has_roles else []
        ids = [*self._tokenizer.encode(text), EOS]
        room = self._length - 1 - len(mark)
        characters = len(text.encode())
        for start in range(0, len(ids), room):
            piece = ids[start : start + room]
            # The first piece alone has the mark predicted by nobody: it is part of what is given.
            share = round(characters * len(piece) / len(ids))
            yield Document((BOS, *mark, *piece), 1 + len(mark), None, share)

    def _transitions(self, row: Row, purpose: Purpose, number: int) -> Iterator[Document]:
        options = self._settings
        for place, step in enumerate(steps_of(row)):
            if not self._is_for(step.theorem, purpose):
                continue
            transition = step.transition
            if purpose == "train" and (options.shuffle_hypotheses or options.rename_hypotheses):
                from node.training.augment import augmented

                rng = random.Random(derive_seed(self._seed, "augment", number, place))
                transition = augmented(
                    transition, rng, shuffle=options.shuffle_hypotheses, rename=options.rename_hypotheses
                )
            yield self._as_text(transition) if options.transitions_as_text else self._supervised(transition)

    def _supervised(self, transition: Transition) -> Document:
        if self._settings.canonical_names:
            example = encode_transition(self._tokenizer, transition, self._length)
            tokens, prompt = example.tokens, example.prompt
            tactic = Names(transition.state).hide(transition.tactic)
        else:
            tactic = transition.tactic
            ends = tactic_tokens(self._tokenizer, tactic)[: self._length // 2]
            start = prompt_tokens(self._tokenizer, transition.state, self._length - len(ends))
            tokens, prompt = (*start, *ends), len(start)
        return Document(tokens, prompt, transition.remaining_steps, len(tactic.encode()))

    def _as_text(self, transition: Transition) -> Document:
        supervised = self._supervised(transition)
        marks = (self._tokenizer.value_token(transition.remaining_steps),) if self._tokenizer.value_bins else ()
        tokens = (*supervised.tokens[: self._length - len(marks)], *marks)
        return Document(tokens, 1, None, len(transition.state.encode()) + supervised.characters)
