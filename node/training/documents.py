"""Encodes rows as documents of tokens: which tokens are predicted, and where the value is read.

Text and Lean code are `<bos> <text|lean> TEXT <eos>`, cut into pieces of at most the row's length, all of it predicted.
Transitions are `<bos> <state> STATE <tactic> TACTIC <eos>`: the tactic is predicted, and the value where the prompt
ends. With `state_after`, `<state> STATE_AFTER <eos>` follows, and is predicted as an auxiliary task. As text
(midtraining) all of a transition is predicted, and a mark of the remaining steps follows the tactic.
Whole proofs are `<bos> <lean> STATEMENT <tactic> PROOF <eos>`: the proof is predicted, and no value.
What is predicted is never cut: a tactic without its end would teach the network not to end. A state may lose its first
hypotheses; a row whose tactic, proof or conjecture is too long has no document, and is counted.
Conjectures are `<bos> <text> PROMPT <tactic> CONJECTURE <eos>` in the same way (`node.model.prompt`).

Augmentation reorders and renames hypotheses without a change of meaning. The network reads canonical names
(`node.model.names`), so renaming alone changes nothing for it unless that is switched off; another order changes which
name is which.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from common.protocol.attempts import Transition
from common.seeds import derive_seed, is_held_out
from node.data.rows import (
    NOTHING_LEFT,
    Proof,
    Row,
    SeededConjecture,
    Step,
    conjecture_of,
    proof_of,
    steps_of,
    text_of,
    theorem_of,
)
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
from node.model.tokenizer import BOS, EOS, LEAN, STATE, TEXT, Tokenizer
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
    after: int = 0
    """Number of tokens at the end that are the state after the tactic. They are predicted with a separate weight,
    except for the first, which is a mark."""
    weight: float = 1.0
    """Weight of each predicted token in the loss."""

    @property
    def predicted(self) -> int:
        """Number of tokens in the policy loss."""
        return len(self.tokens) - self.prompt - self.after


SEPARATOR = "\x1f"
"""Stands in no Lean text."""


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


def transition_document(
    tokenizer: Tokenizer, transition: Transition, room: Room, *, canonical: bool = True
) -> Document | None:
    """What the learner trains on, and the stages unless they augment; None if the tactic is too long for `room`.

    The tactic keeps its room; the state is shortened to what is left. `canonical`: with local names as v0, v1, ...,
    which is what inference shows the network.
    """
    state, tactic = transition.state, transition.tactic
    if canonical:
        names = Names(state)
        state, tactic = names.state, names.hide(tactic)
    answer = tactic_tokens(tokenizer, tactic)
    if len(answer) > room.tactic:
        return None
    prompt = prompt_tokens(tokenizer, state, room.tokens - len(answer))
    return Document((*prompt, *answer), len(prompt), transition.remaining_steps, len(tactic.encode()))


def with_state_after(document: Document, tokenizer: Tokenizer, state: str, limit: int) -> Document:
    """The document followed by `<state> STATE <eos>`, as far as `limit` leaves room: a longer state loses its end."""
    room = limit - len(document.tokens)
    if room < 3:
        return document
    after = (STATE, *tokenizer.encode(state)[: room - 2], EOS)
    return replace(document, tokens=(*document.tokens, *after), after=len(after))


def proof_document(tokenizer: Tokenizer, proof: Proof, limit: int, *, canonical: bool = True) -> Document | None:
    """A whole proof, with names as in `transition_document`; None if it has more than `limit` tokens, because neither a
    statement nor a proof can be cut."""
    statement, text = proof.statement, proof.script
    if canonical:
        names = StatementNames(statement)
        statement, text = names.state, names.hide(text)
    answer = tactic_tokens(tokenizer, text)
    prompt = proof_prompt_tokens(tokenizer, statement, limit - len(answer))
    if prompt is None:
        return None
    return Document((*prompt, *answer), len(prompt), None, len(text.encode()), weight=proof.weight)


def conjecture_document(
    tokenizer: Tokenizer, asked: SeededConjecture, limit: int, *, canonical: bool = True
) -> Document | None:
    """A conjecture behind its seed (lemma, statement, proof), as in generation; None for more than `limit` tokens."""
    text = written_conjecture(asked.conjecture, canonical=canonical)
    answer = tactic_tokens(tokenizer, text)
    prompt_text = conjecture_prompt(asked.lemma, asked.statement, asked.proof, canonical=canonical)
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
            canonical = self._settings.canonical_names
            yield proof_document(self._tokenizer, proof, self._length, canonical=canonical)

    def _conjectures(self, row: Row, purpose: Purpose) -> Iterator[Document | None]:
        asked = conjecture_of(row)
        if asked is not None and self._is_for(asked.theorem, purpose):
            canonical = self._settings.canonical_names
            yield conjecture_document(self._tokenizer, asked, self._length, canonical=canonical)

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
            if purpose == "train" and (options.shuffle_hypotheses or options.rename_hypotheses):
                rng = random.Random(derive_seed(self._seed, "augment", number, place))
                transition = augmented(
                    transition, rng, shuffle=options.shuffle_hypotheses, rename=options.rename_hypotheses
                )
            yield self._as_text(transition) if options.transitions_as_text else self._supervised(transition, step)

    def _supervised(self, transition: Transition, step: Step) -> Document | None:
        canonical = self._settings.canonical_names
        document = transition_document(self._tokenizer, transition, self._room, canonical=canonical)
        options = self._settings
        # Renamed hypotheses would have other names in the state after.
        if document is None or not options.state_after or not step.state_after or options.rename_hypotheses:
            return document
        after = step.state_after
        if canonical and after != NOTHING_LEFT:
            # Names of the state before stay; those that the tactic introduces are numbered as in the tactic.
            hidden = Names(transition.state).hide(f"{transition.tactic}{SEPARATOR}{after}")
            after = hidden.partition(SEPARATOR)[2]
        return with_state_after(document, self._tokenizer, after, self._length)

    def _as_text(self, transition: Transition) -> Document | None:
        marks = (self._tokenizer.value_token(transition.remaining_steps),) if self._tokenizer.value_bins else ()
        room = replace(self._room, tokens=self._length - len(marks))
        canonical = self._settings.canonical_names
        supervised = transition_document(self._tokenizer, transition, room, canonical=canonical)
        if supervised is None:
            return None
        tokens = (*supervised.tokens, *marks)
        return Document(tokens, 1, None, len(transition.state.encode()) + supervised.characters)


# --- augmentation -----------------------------------------------------------------------------------------------------

FRESH = tuple("abcdefgijklmnopqrstuvwxyzαβγδ") + tuple(f"{letter}{digit}" for letter in "hxyz" for digit in "₀₁₂₃₄₅₆₇")
"""Names to draw from, typical of human-written Lean."""


def augmented(transition: Transition, rng: random.Random, *, shuffle: bool, rename: bool) -> Transition:
    """The augmented transition."""
    if shuffle:
        transition = shuffled(transition, rng)
    return renamed(transition, rng) if rename else transition


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


def renamed(transition: Transition, rng: random.Random) -> Transition:
    """Local names drawn anew, consistently in state and tactic; new names in the tactic are drawn, too."""
    names = Names(transition.state)
    hidden_state, hidden = names.state, names.hide(transition.tactic)
    taken = {found.group() for found in IDENTIFIER.finditer(f"{transition.state}\n{transition.tactic}")}
    canonical = sorted({word for word in IDENTIFIER.findall(f"{hidden_state}\n{hidden}") if _is_canonical(word)})
    free = [name for name in FRESH if name not in taken]
    rng.shuffle(free)
    if len(free) < len(canonical):
        return transition
    drawn = dict(zip(canonical, free, strict=False))

    def put(text: str) -> str:
        return IDENTIFIER.sub(lambda match: drawn.get(match.group(), match.group()), text)

    return Transition(put(hidden_state), put(hidden), transition.remaining_steps)


def _is_canonical(word: str) -> bool:
    return word[0] == "v" and word[1:].isdecimal()
