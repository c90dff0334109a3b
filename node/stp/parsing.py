"""Parses the conjecturer's outputs to conjectures: which outputs are statements, and which of them are new. Pure.

Source: STP (arXiv 2502.00212), section 3.2 and appendix A.2, and its code (`collect_conjecture`, `select`). As in STP,
the text is cut at `</hard theorem>` and at `:=`. Differences here:
- An output that was cut off is rejected; STP uses its beginning as a conjecture.
- Statements are compared up to white space and bound names (`node.stp.keys`); STP compares up to white space only.
- Earlier conjectures count as known, like the statements of the data set, including test statements.
- The theorem's name is replaced by ours. So the name of a conjecture does not matter, and a conjecture that states its
  own seed is known.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from typing import Protocol

from common.lean import Theorem
from common.seeds import derive_seed
from node.bank.statements import given_proof
from node.lean.text.lexing import blanked, lex
from node.lean.text.rules import HEADER_STOPS, statement_problem
from node.lean.text.script import below
from node.lean.text.statement import StatementError, parse_statement
from node.stp.keys import key
from node.stp.records import Conjecture, Fate, Seed

__all__ = ["END", "NotAStatement", "Written", "conjecture_name", "key", "sift", "statement_of"]

END = "</hard theorem>"

NOT_ENDED = "it was cut off at the token limit"

_MARK = re.compile(r"</?(?:lemma|easy theorem|hard theorem)>")
_KEYWORD = re.compile(r"(theorem|lemma|example)(?![\w'!?.])")
_FIRST_WORD = re.compile(r"@?\[?[^\s(\[{:]*")
_UNIVERSES = re.compile(r"(?:theorem|lemma)\s+[^\s({\[:]*\.\{")
_CONSTANT = {"True": "there is nothing to prove", "False": "it claims `False` without assumptions"}
_NEGATED = {"False": "True", "True": "False"}


class NotAStatement(ValueError):
    """An output is not a statement that can be attempted; the text says why."""


class Written(Protocol):
    """An output of the conjecturer (`node.stp.conjecturing.Output`)."""

    @property
    def text(self) -> str: ...

    @property
    def complete(self) -> bool:
        """Whether it ended before the token limit."""
        ...


def conjecture_name(round_: int, number: int) -> str:
    """The name of a conjecture, which is its key in the store."""
    return f"conjecture_{round_}_{number}"


def statement_of(output: str, *, name: str, header: str) -> Theorem:
    """Parse an output to a statement with our name. Raises NotAStatement."""
    text = output.split(END)[0].strip()
    if not text:
        raise NotAStatement("it is empty")
    if mark := _MARK.search(text):
        raise NotAStatement(f"it contains `{mark.group()}`, so it is a prompt, not a statement")
    if not _KEYWORD.match(text):
        raise NotAStatement(_no_beginning(text))
    if _UNIVERSES.match(text):
        raise NotAStatement("it names universes, which must be left to Lean")
    lexed = lex(text)
    if lexed.comments and not lexed.problem:
        raise NotAStatement("it contains a comment")
    text = text[: given_proof(blanked(text))].rstrip()
    try:
        parsed = parse_statement(text, header)
    except StatementError as error:
        raise NotAStatement(str(error)) from error
    if problem := statement_problem(parsed.binders, parsed.conclusion):
        raise NotAStatement(problem)
    if problem := _why_trivial(parsed):
        raise NotAStatement(problem)
    return Theorem(name, parsed.binders, parsed.conclusion, header)


def sift(
    outputs: Sequence[tuple[Seed, Written]], known: Iterable[str], limit: int, *, round_: int, rng_seed: int = 0
) -> list[Conjecture]:
    """Turn every output into a conjecture with its fate: CUT, REFUSED, KNOWN, SURPLUS or NEW.

    `known`: the keys of all statements of the data set and of all earlier conjectures. Of equal outputs the first is
    new, and the others are known. If more than `limit` are new, a random choice by `rng_seed` stays new, and the others
    are surplus (there should not be more conjectures than unproved statements).
    """
    seen = set(known)
    conjectures: list[Conjecture] = []
    new: dict[str, int] = {}
    for number, (seed, written) in enumerate(outputs):
        conjecture = _read(seed, written, conjecture_name(round_, number), round_)
        if conjecture.fate == Fate.NEW and conjecture.theorem is not None:
            its_key = key(conjecture.theorem)
            if its_key in seen:
                conjecture = _with_fate(conjecture, Fate.KNOWN, _why_known(its_key, seed))
            else:
                seen.add(its_key)
                new[its_key] = number
        conjectures.append(conjecture)
    rng = random.Random(derive_seed("surplus", rng_seed, round_))
    chosen = set(rng.sample(sorted(new), max(0, limit))) if len(new) > limit else set(new)
    for its_key, number in new.items():
        if its_key not in chosen:
            conjectures[number] = _with_fate(
                conjectures[number], Fate.SURPLUS, f"{len(new)} new conjectures; {max(0, limit)} are chosen at random"
            )
    return conjectures


def _read(seed: Seed, written: Written, name: str, round_: int) -> Conjecture:
    if not written.complete:
        return Conjecture(name, round_, seed, written.text, Fate.CUT, reason=NOT_ENDED)
    try:
        theorem = _in_seed_environment(seed.theorem, written.text, name)
    except NotAStatement as error:
        return Conjecture(name, round_, seed, written.text, Fate.REFUSED, reason=str(error))
    return Conjecture(name, round_, seed, written.text, Fate.NEW, theorem)


def _in_seed_environment(seed: Theorem, output: str, name: str) -> Theorem:
    """Parse an output to a statement in the environment of its seed. Raises NotAStatement."""
    statement = statement_of(output, name=name, header=seed.header)
    return statement if seed.place is None else below(seed.place.context, statement)


def _with_fate(conjecture: Conjecture, fate: Fate, reason: str) -> Conjecture:
    return Conjecture(
        conjecture.name,
        conjecture.round,
        conjecture.seed,
        conjecture.output,
        fate,
        conjecture.theorem,
        reason,
    )


def _why_known(its_key: str, seed: Seed) -> str:
    if its_key == key(seed.theorem):
        return "it repeats its own seed"
    return "it is a statement of the data set, or an earlier conjecture"


def _no_beginning(text: str) -> str:
    first = _FIRST_WORD.match(text)
    word = first.group()[:30] if first else ""
    if word in HEADER_STOPS or word.startswith("@"):
        return f"it begins with `{word}`, but a conjecture is a single theorem without other commands"
    return f"a statement begins with `theorem`, `lemma` or `example`, but it begins with {text[:30]!r}"


def _why_trivial(theorem: Theorem) -> str:
    """Why a statement is trivial, such as `True`; empty if it may not be."""
    words = theorem.conclusion.replace("(", " ").replace(")", " ").replace("¬", " ¬ ").split()
    value = words.pop() if words else ""
    if value not in _CONSTANT or any(word != "¬" for word in words):
        return ""
    for _ in words:
        value = _NEGATED[value]
    if value == "False" and theorem.binders.strip():
        return ""  # a contradiction may follow from the hypotheses
    return f"it states `{theorem.conclusion}`: {_CONSTANT[value]}"
