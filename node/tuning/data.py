"""Training data of language models, before it is written as prompts: steps and whole proofs. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from common.lean import Theorem
from node.lean.text.lexing import blanked
from node.model.prompt import unnamed
from node.tuning.pairs import Pair


@dataclass(frozen=True)
class Step:
    """A proof state, and the tactic that a proof applies to it."""

    theorem: str
    """Name of the theorem, which decides whether the step is held out."""
    state: str
    """The text of the state as the policy reads it (`node.lean.text.goals.state_text`)."""
    tactic: str
    """All lines of the tactic; the first starts in column 0."""
    weight: float = 1.0
    """Weight of its tokens in the loss."""
    statement: str = ""
    """`stated_as` of the theorem, if known."""
    remaining: int | None = None
    """Tactics on the longest branch from this state, including this one; set only if the reader needs it."""


@dataclass(frozen=True)
class Proof:
    """A theorem with a whole proof."""

    theorem: Theorem
    script: str
    """The tactic block after `:= by`; it starts in column 0."""
    weight: float = 1.0
    place: str = ""
    """The theorem's name in its steps, if different."""

    @property
    def key(self) -> str:
        """The name that decides whether the proof is held out."""
        return self.place or self.theorem.name


@dataclass
class Data:
    """The data of a source."""

    steps: list[Step] = field(default_factory=list)
    proofs: list[Proof] = field(default_factory=list)
    held_out_steps: list[Step] = field(default_factory=list)
    """Steps of a split that the source itself holds out (LeanDojo's `val`)."""
    pairs: list[Pair] = field(default_factory=list)
    """Prepared texts: prompts with completions."""
    steps_left_out: Counter[str] = field(default_factory=Counter)
    """Number of steps that were left out, by reason."""
    proofs_left_out: Counter[str] = field(default_factory=Counter)

    def add(self, other: Data) -> None:
        self.steps += other.steps
        self.proofs += other.proofs
        self.held_out_steps += other.held_out_steps
        self.pairs += other.pairs
        self.steps_left_out += other.steps_left_out
        self.proofs_left_out += other.proofs_left_out


_UNPROVED = re.compile(r"(?<![\w.'«])(?:sorry|admit|sorryAx)(?![\w'!?»])")


def leaves_something_out(text: str) -> bool:
    """Whether a tactic or a proof uses `sorry` or `admit` outside comments and strings."""
    return ("sorry" in text or "admit" in text) and _UNPROVED.search(blanked(text)) is not None


def stated_as(theorem: Theorem) -> str:
    """The statement of a theorem without its name and white space; equal for theorems with the same statement text."""
    return " ".join(unnamed(theorem.signature).split())


SORRY = "of theorems whose proof uses sorry"


def without_sorry(steps: Iterable[Step]) -> Data:
    """The steps of theorems whose tactics use no `sorry` or `admit`. The other steps are counted as left out."""
    all_steps = list(steps)
    unproved = {step.theorem for step in all_steps if leaves_something_out(step.tactic)}
    proved_steps = [step for step in all_steps if step.theorem not in unproved]
    lost_count = len(all_steps) - len(proved_steps)
    return Data(steps=proved_steps, steps_left_out=Counter({SORRY: lost_count} if lost_count else {}))
