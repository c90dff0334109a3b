"""Whole proofs before Lean has seen them: what is asked of a source, what it gives, and what of that goes to Lean."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from common.lean import Theorem
from node.lean.text.lexing import lex
from node.lean.text.rules import proof_problem


@dataclass(frozen=True, slots=True)
class Draft:
    """One proof as its author wrote it, or an output in which there is none."""

    text: str
    """The block of tactics behind `:= by`, as a block: its lines keep their indentation relative to each other."""
    problem: str = ""
    """Why the output holds no proof; empty when it does."""
    log_probability: float | None = None
    """Of the whole output; None: the source does not tell."""
    tokens: int = 0
    """Of the output; 0: the source does not tell."""
    output: str = ""
    """All that the model wrote, for a conversation about it."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A draft that Lean does not accept, and why."""

    draft: Draft
    script: str
    """What Lean was shown of it; empty where the text rules forbade that."""
    errors: str
    """Lean's words, or those of the text rules."""
    line: int | None = None
    """The line of the script (from 0) that they are about; None: all of it."""


@dataclass(frozen=True, slots=True)
class ProofRequest:
    """What is asked of a source."""

    theorem: Theorem
    theorem_id: str
    """What its benchmark calls it."""
    count: int
    """Proofs wanted, duplicates included."""
    first: int
    """How many first proofs of this theorem were asked for before, in this attempt or an earlier one."""
    seed: int
    correct: tuple[Failed, ...] = ()
    """The draft to correct, behind those that it corrected itself; empty: first proofs are wanted."""


class ProofsUnavailable(RuntimeError):
    """A source gave no proofs, and that says nothing about the theorem; the text says why."""


class ProofSource(Protocol):
    """Writes whole proofs of theorems. Equal requests give equal drafts where it can do that."""

    async def propose(self, request: ProofRequest) -> Sequence[Draft]:
        """As many drafts as wanted; fewer: there are no more. Raises ProofsUnavailable, BusError."""


def normalised(text: str) -> str:
    """A block of tactics as it goes to Lean: from its first column on, without comments and empty lines.

    Proofs that differ in nothing else are the same. A text whose comments or brackets are not closed is left as it is.
    """
    lexed = lex(text)
    bare = text if lexed.problem else lexed.bare
    lines = [line.rstrip() for line in bare.split("\n")]
    return textwrap.dedent("\n".join(line for line in lines if line))


_CONTINUES = ("|", "<;>", ")", "]", "}", "⟩", ",", "else ", "at ", "with ")
"""How a line in the first column begins that belongs to the tactic above it."""


def beginning(script: str, line: int) -> str:
    """The tactics of a script that end above one of its lines (from 0); empty when there are none."""
    lines = script.split("\n")
    starts = [
        number
        for number, text in enumerate(lines[: line + 1])
        if not text.startswith(" ") and not text.startswith(_CONTINUES)
    ]
    return "\n".join(lines[: starts[-1]]) if starts else ""


@dataclass(frozen=True, slots=True)
class Script:
    """What becomes of a draft before Lean sees it."""

    text: str
    """For Lean; empty when it is not to be shown to Lean."""
    problem: str = ""
    """Why it is not."""
    refused: bool = False
    """Whether there is a proof, but the text rules forbid it."""


def script_of(draft: Draft) -> Script:
    """What goes to Lean of a draft. The statement is ours: the draft is a block of tactics, and stays within it."""
    if draft.problem or not draft.text.strip():
        return Script("", draft.problem or "an empty proof")
    text = normalised(draft.text)
    if problem := proof_problem(text):
        return Script("", problem, refused=bool(text))
    return Script(text)
