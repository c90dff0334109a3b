"""Encodes rows as documents of tokens: which tokens are predicted, and where the value is read.

Text and Lean code are `<bos> <text|lean> TEXT <eos>`, cut into pieces of at most the row's length, all of it predicted.
Transitions are `<bos> <state> STATE <tactic> TACTIC <eos>`: the tactic is predicted, and the value where the prompt
ends. As text (midtraining) all of it is predicted, and a mark of the remaining steps follows the tactic.
Whole proofs are `<bos> <lean> STATEMENT <tactic> PROOF <eos>`: the proof is predicted, and no value.
What is predicted is never cut: a tactic without its end would teach the network not to end. A state may lose its first
hypotheses; a row whose tactic, proof or conjecture is too long has no document, and is counted.
Conjectures are `<bos> <text> PROMPT <tactic> CONJECTURE <eos>` in the same way (`node.model.prompt`).

The network reads canonical names (`node.model.names`), as inference shows them. Augmentation reorders hypotheses
without a change of meaning, which changes which name is which.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from common.protocol.attempts import Transition
from common.seeds import derive_seed, is_held_out
from node.data.rows import Proof, Row, SeededConjecture, conjecture_of, proof_of, steps_of, text_of, theorem_of
from node.model.config import ModelConfig
from node.model.names import IDENTIFIER, Names, StatementNames
from node.model.prompt import (
    conjecture_prompt,
    conjecture_prompt_tokens,
    entries,
    prompt_tokens,
    proof_prompt_tokens,
    tactic_tokens,
    written_conjecture,
)
from node.model.tokenizer import BOS, EOS, LEAN, TEXT, Tokenizer
from node.training.settings import DataSettings

Purpose = Literal["train", "valid", "all"]
"""Rows that are not held out (`train`), held-out rows (`valid`), or both (`all`)."""


@dataclass(frozen=True)
class Document:
    """Tokens that attend to each other and to no others."""

    tokens: tuple[int, ...]
    prompt: int
    """Number of tokens at the start that are not predicted; at least one."""
    remaining_steps: float | None
    """Target of the value, which is read at the last token of the prompt; None: no value."""
    characters: int
    """Bytes of UTF-8 of the predicted tokens, for bits per byte."""
    weight: float = 1.0
    """Weight of each predicted token in the loss."""

    @property
    def predicted(self) -> int:
        """Number of tokens in the policy loss."""
        return len(self.tokens) - self.prompt


@dataclass(frozen=True)
class Room:
    """Most tokens of a document and of the tactic in it."""

    tokens: int
    """Of the document; at most the network's context."""
    longest: int = ModelConfig.tactic_tokens
    """The network's longest tactic (`ModelConfig.longest_tactic`)."""

    @property
    def tactic(self) -> int:
        """Of a tactic, its end included: the state keeps half of the room."""
        return min(self.longest, self.tokens // 2)


def transition_document(tokenizer: Tokenizer, transition: Transition, room: Room) -> Document | None:
    """What the learner trains on, and the stages unless they augment; None if the tactic is too long for `room`.

    The tactic keeps its room; the state is shortened to what is left. Local names are v0, v1, ...
    """
    names = Names(transition.state)
    tactic = names.hide(transition.tactic)
    answer = tactic_tokens(tokenizer, tactic)
    if len(answer) > room.tactic:
        return None
    prompt = prompt_tokens(tokenizer, names.state, room.tokens - len(answer))
    return Document((*prompt, *answer), len(prompt), transition.remaining_steps, len(tactic.encode()))


def proof_document(tokenizer: Tokenizer, proof: Proof, limit: int) -> Document | None:
    """A whole proof, with names as in `transition_document`; None if it has more than `limit` tokens, because neither a
    statement nor a proof can be cut."""
    names = StatementNames(proof.statement)
    text = names.hide(proof.script)
    answer = tactic_tokens(tokenizer, text)
    prompt = proof_prompt_tokens(tokenizer, names.state, limit - len(answer))
    if prompt is None:
        return None
    return Document((*prompt, *answer), len(prompt), None, len(text.encode()), weight=proof.weight)


def conjecture_document(tokenizer: Tokenizer, asked: SeededConjecture, limit: int) -> Document | None:
    """A conjecture behind its seed (lemma, statement, proof), as in generation; None for more than `limit` tokens."""
    text = written_conjecture(asked.conjecture)
    answer = tactic_tokens(tokenizer, text)
    prompt_text = conjecture_prompt(asked.lemma, asked.statement, asked.proof)
    prompt = conjecture_prompt_tokens(tokenizer, prompt_text, limit - len(answer))
    if prompt is None:
        return None
    return Document((*prompt, *answer), len(prompt), None, len(text.encode()), weight=asked.weight)


class Encoder:
    """Turns rows of one kind into documents that fit into `room`."""

    def __init__(self, tokenizer: Tokenizer, kind: str, settings: DataSettings, room: Room, seed: int) -> None:
        self._tokenizer, self._kind, self._settings = tokenizer, kind, settings
        self._room, self._length, self._seed = room, room.tokens, seed
        self.made = 0
        """Documents so far."""
        self.left_out = 0
        """Tactics, proofs and conjectures so far that were left out, because they are too long."""

    def documents(self, row: Row, purpose: Purpose, number: int) -> Iterator[Document]:
        """Documents of a row that are for training, or those that are held out. `number` seeds augmentation: the same
        row with another number is written otherwise. Counts what is too long. Raises BadRow."""
        for document in self._documents(row, purpose, number):
            if document is None:
                self.left_out += 1
            else:
                self.made += 1
                yield document

    def _documents(self, row: Row, purpose: Purpose, number: int) -> Iterator[Document | None]:
        if self._kind == "transitions":
            yield from self._transitions(row, purpose, number)
            return
        if self._kind == "proofs":
            yield from self._proofs(row, purpose)
            return
        if self._kind == "conjectures":
            yield from self._conjectures(row, purpose)
            return
        text = text_of(row, self._settings.text_field)
        if text.strip() and self._is_for(text, purpose):
            yield from self._pieces(text)

    def _proofs(self, row: Row, purpose: Purpose) -> Iterator[Document | None]:
        proof = proof_of(row)
        if proof is not None and self._is_for(theorem_of(row, proof), purpose):
            yield proof_document(self._tokenizer, proof, self._length)

    def _conjectures(self, row: Row, purpose: Purpose) -> Iterator[Document | None]:
        asked = conjecture_of(row)
        if asked is not None and self._is_for(asked.theorem, purpose):
            yield conjecture_document(self._tokenizer, asked, self._length)

    def _is_for(self, key: str, purpose: Purpose) -> bool:
        return purpose == "all" or is_held_out(key, self._settings.held_out) == (purpose == "valid")

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

    def _transitions(self, row: Row, purpose: Purpose, number: int) -> Iterator[Document | None]:
        options = self._settings
        for place, step in enumerate(steps_of(row)):
            if not self._is_for(step.theorem, purpose):
                continue
            transition = step.transition
            if purpose == "train" and options.shuffle_hypotheses:
                transition = shuffled(transition, random.Random(derive_seed(self._seed, "augment", number, place)))
            if options.transitions_as_text:
                yield self._as_text(transition)
            else:
                yield transition_document(self._tokenizer, transition, self._room)

    def _as_text(self, transition: Transition) -> Document | None:
        marks = (self._tokenizer.value_token(transition.remaining_steps),) if self._tokenizer.value_bins else ()
        room = replace(self._room, tokens=self._length - len(marks))
        supervised = transition_document(self._tokenizer, transition, room)
        if supervised is None:
            return None
        tokens = (*supervised.tokens, *marks)
        return Document(tokens, 1, None, len(transition.state.encode()) + supervised.characters)


# --- augmentation -----------------------------------------------------------------------------------------------------


def shuffled(transition: Transition, rng: random.Random) -> Transition:
    """The hypotheses of each goal in a random order; none comes before a hypothesis that it mentions.

    The order is drawn hypothesis by hypothesis from those that are ready. A state with inaccessible names (`h✝`) keeps
    its order: tactics such as `rename_i` go by it.
    """
    if "✝" in transition.state:
        return transition
    parts: list[str] = []
    block: list[str] = []
    lines = entries(transition.state)
    for place, entry in enumerate(lines):
        if entry.startswith(("⊢", "case ")) or ":" not in entry:
            parts += _reordered(block, rng)
            block = []
            parts.append(entry)
        else:
            block.append(entry if entry.endswith("\n") or place < len(lines) - 1 else entry + "\n")
    return Transition("".join(parts + block), transition.tactic, transition.remaining_steps)


def _reordered(block: list[str], rng: random.Random) -> list[str]:
    names = [set(entry.split(":", 1)[0].split()) for entry in block]
    mentioned = [{found.group() for found in IDENTIFIER.finditer(entry.split(":", 1)[1])} for entry in block]
    left = list(range(len(block)))
    order: list[int] = []
    while left:
        ready = [
            place for place in left if not any(names[other] & mentioned[place] for other in left if other != place)
        ]
        # Two hypotheses of one name (shadowing) can seem to need each other: then the order stays.
        if not ready:
            return block
        chosen = rng.choice(ready)
        left.remove(chosen)
        order.append(chosen)
    return [block[place] for place in order]
