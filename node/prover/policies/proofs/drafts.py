"""Whole proofs before Lean checks them: requests to a proof source, its drafts, and the scripts made from drafts."""

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
    """One proof as its source wrote it, or an output without a proof."""

    text: str
    """The block of tactics after `:= by`. Its lines keep their indentation relative to each other."""
    problem: str = ""
    """The reason why the output has no proof; empty if it has one."""
    log_probability: float | None = None
    """Log-probability of the whole output; None: unknown."""
    tokens: int = 0
    """Tokens of the output; 0: unknown."""
    output: str = ""
    """The model's whole output, for correction prompts."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A draft that Lean or the text rules refused, and the errors."""

    draft: Draft
    script: str
    """The script that Lean checked; empty if the text rules refused the draft."""
    errors: str
    """The error messages of Lean or of the text rules."""
    line: int | None = None
    """The line of the script (from 0) with the error; None: the error is about the whole script."""


@dataclass(frozen=True, slots=True)
class ProofRequest:
    """A request to a source of proofs."""

    theorem: Theorem
    theorem_id: str
    """Its name in the benchmark."""
    count: int
    """Requested number of proofs, duplicates included."""
    first: int
    """Number of first proofs of this theorem that were requested before, in this attempt or an earlier one."""
    seed: int
    correct: tuple[Failed, ...] = ()
    """The history of a correction: the draft to correct is the last. Empty for a request of first proofs."""


class ProofsUnavailable(RuntimeError):
    """A source failed to give proofs, for a reason that is independent of the theorem."""


class ProofSource(Protocol):
    """Writes whole proofs of theorems. Equal requests give equal drafts if the source is deterministic."""

    async def propose(self, request: ProofRequest) -> Sequence[Draft]:
        """As many drafts as requested, or fewer if the source has no more. Raises ProofsUnavailable, BusError."""


def normalised(text: str) -> str:
    """A block of tactics in normal form: without common indentation, comments and empty lines.

    Proofs with the same normal form are duplicates. A text with unclosed comments or brackets keeps its comments.
    """
    lexed = lex(text)
    bare = text if lexed.problem else lexed.bare
    lines = [line.rstrip() for line in bare.split("\n")]
    return textwrap.dedent("\n".join(line for line in lines if line))


_CONTINUES = ("|", "<;>", ")", "]", "}", "⟩", ",", "else ", "at ", "with ")
"""Beginnings of lines in the first column that continue the tactic of the line above."""


def beginning(script: str, line: int) -> str:
    """The complete tactics of a script above one of its lines (from 0); empty if there are none."""
    lines = script.split("\n")
    starts = [
        number
        for number, text in enumerate(lines[: line + 1])
        if not text.startswith(" ") and not text.startswith(_CONTINUES)
    ]
    return "\n".join(lines[: starts[-1]]) if starts else ""


@dataclass(frozen=True, slots=True)
class Script:
    """The script of a draft, or the reason why there is none."""

    text: str
    """The script for Lean; empty if Lean must not check the draft."""
    problem: str = ""
    """The reason why the script is empty."""
    refused: bool = False
    """True if the draft has a proof that the text rules forbid."""


def script_of(draft: Draft) -> Script:
    """The script that Lean checks for a draft. A draft is a block of tactics, so it cannot change the statement."""
    if draft.problem or not draft.text.strip():
        return Script("", draft.problem or "an empty proof")
    text = normalised(draft.text)
    if problem := proof_problem(text):
        return Script("", problem, refused=bool(text))
    return Script(text)
