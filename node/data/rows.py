"""Typed rows of training data, and how they are parsed from lines of JSON, rows of datasets and files. Pure.

Transitions come as the bank writes them (`state`, `tactic`, `remaining_steps`), as our traces (`theorems` with
`blocks` of `steps`) and as LeanTree's files (`theorems` with `by_blocks` of trees; the schema of
github.com/Kripner/leantree, `proof_depth` being the remaining steps). Errors that a trace recorded are passed over.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from common.lean import Theorem
from common.protocol.attempts import Transition
from node.bank import statements
from node.lean.text.declarations import NoProof, block_of
from node.lean.text.goals import LeanTreeGoal, state_text, to_text
from node.lean.text.lexing import blanked
from node.model.prompt import unnamed

Row = Mapping[str, Any]
"""A row as it is stored."""

TEXT_FIELDS = ("text", "content", "code", "formal_statement")
"""Fields that may hold the text of a row, in this order, unless the settings name one."""

STATEMENT_FIELDS = ("statement", "formal_statement")
PROOF_FIELDS = ("proof", "formal_proof")
CONJECTURE_FIELDS = ("lemma", "statement", "proof", "conjecture")

REFUSED = ("sorry", "admit")
"""Tactics with one of these words are not proofs."""

NOTHING_LEFT = "no goals"
"""The state after a tactic that closed its goal, in Lean's words."""

UNREAD_STATEMENT, UNREAD_PROOF = "statements that cannot be read", "proofs that cannot be read"


class BadRow(ValueError):
    """A row in an unknown format. The message names its fields and the expected ones."""


class UnreadText(BadRow):
    """A row in a known format whose statement or proof is none."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason
        """UNREAD_STATEMENT or UNREAD_PROOF."""


# --- types ----------------------------------------------------------------------------------------------------------


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
    """Tactics on the longest branch from this state, including this one; None if unknown or not needed."""

    @property
    def transition(self) -> Transition:
        """As reinforcement learning records it."""
        return Transition(self.state, self.tactic, self.remaining or 0)


@dataclass(frozen=True)
class Proof:
    """A theorem with a whole proof."""

    theorem: Theorem
    script: str
    """The tactic block after `:= by`; it starts in column 0."""
    weight: float = 1.0
    """Weight of its tokens in the loss."""
    place: str = ""
    """The theorem's name in its steps, if different."""

    @property
    def key(self) -> str:
        """The name that decides whether the proof is held out."""
        return self.place or self.theorem.name

    @property
    def statement(self) -> str:
        """The statement without the theorem's name, which may be one that Lean would not read."""
        return unnamed(Theorem("t", self.theorem.binders, self.theorem.conclusion).signature)


@dataclass(frozen=True)
class SeededConjecture:
    """A conjecture and its seed, as they are written; held-out data is chosen by the seed's theorem."""

    theorem: str
    lemma: str
    """`theorem NAME BINDERS : CONCLUSION`."""
    statement: str
    """`unnamed`."""
    proof: str
    """A block of tactics, from column 0 on."""
    conjecture: str
    """`unnamed`."""
    weight: float = 1.0
    """Weight of its tokens in the loss."""


class Pair(msgspec.Struct, frozen=True):
    """A prompt and its completion, written to a template by another program. Only the completion counts in the loss."""

    prompt: Annotated[str, msgspec.Meta(min_length=1)]
    completion: Annotated[str, msgspec.Meta(min_length=1)]
    """The completion without end token."""
    weight: Annotated[float, msgspec.Meta(ge=0)] = 1.0
    """Weight of each token of the completion in the loss."""


# --- what rows have in common -----------------------------------------------------------------------------------------


def text_of(row: Row, field: str = "") -> str:
    """The text of a row. Raises BadRow."""
    for name in (field,) if field else TEXT_FIELDS:
        if isinstance(row.get(name), str):
            return str(row[name])
    wanted = f"`{field}`" if field else " or ".join(f"`{name}`" for name in TEXT_FIELDS)
    raise BadRow(f"no text in {wanted}; the row has {fields_of(row)}")


def fields_of(row: Row) -> str:
    """The names of a row's fields, for a message."""
    return ", ".join(f"`{name}`" for name in list(row)[:8]) or "no fields"


def weight_of(row: Row, which: str) -> float:
    """The `weight` of a row, 1 where it has none. `which`: what shows the row in a message. Raises BadRow."""
    weight = row.get("weight")
    if weight is None:
        return 1.0
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < math.inf:
        raise BadRow(
            f"`weight` is {weight!r} in the row of {which[:80]!r}; make it a finite number above 0, or leave it out (1)"
        )
    return float(weight)


_UNPROVED = re.compile(r"(?<![\w.'«])(?:sorry|admit|sorryAx)(?![\w'!?»])")


def leaves_something_out(text: str) -> bool:
    """Whether a tactic or a proof uses `sorry` or `admit` outside comments and strings."""
    return ("sorry" in text or "admit" in text) and _UNPROVED.search(blanked(text)) is not None


def stated_as(theorem: Theorem) -> str:
    """The statement of a theorem without its name and white space; equal for theorems with the same statement text."""
    return " ".join(unnamed(theorem.signature).split())


# --- transitions ------------------------------------------------------------------------------------------------------


def steps_of(row: Row) -> Iterator[Step]:
    """The transitions of a row, in order. Raises BadRow."""
    try:
        if "state" in row and "tactic" in row:
            yield _plain(row)
        elif "theorems" in row:
            for theorem in row["theorems"] or ():
                yield from _theorem(row, theorem)
        else:
            raise BadRow(f"no transitions: expected `state` and `tactic`, or `theorems`; the row has {fields_of(row)}")
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise BadRow(f"not the transitions that it seems to be: {type(error).__name__} {error}") from error


def _plain(row: Row) -> Step:
    state, tactic, steps = row["state"], row["tactic"], row.get("remaining_steps", row.get("proof_depth"))
    if not isinstance(state, str) or not isinstance(tactic, str):
        raise BadRow("`state` and `tactic` must be texts")
    if not isinstance(steps, int) or isinstance(steps, bool) or steps < 1:
        raise BadRow(f"`remaining_steps` is {steps!r}; it must be a whole number of at least 1")
    # A row without a theorem's name is a theorem of its own.
    theorem = str(row.get("theorem") or row.get("full_name") or state)
    return Step(theorem, state, tactic, remaining=steps)


def _theorem(row: Row, theorem: Row) -> Iterator[Step]:
    name = f"{row.get('path', '')}:{theorem.get('name') or theorem.get('span') or theorem.get('start')}"
    if theorem.get("error"):
        return
    for block in theorem.get("blocks") or ():
        for step in block.get("steps") or ():
            yield from _useful(name, step["state"], step["tactic"], step["remaining_steps"])
    for block in theorem.get("by_blocks") or ():
        tree = None if block.get("error") else block["tree"]
        if tree and not tree.get("error"):
            yield from _leantree(name, tree["nodes"])


def _leantree(name: str, nodes: list[Row]) -> Iterator[Step]:
    states = {node["id"]: _goals(node) for node in nodes if node.get("state")}
    for node in nodes:
        edge = node.get("tactic")
        if edge and states.get(node["id"]):
            yield from _useful(name, state_text(states[node["id"]]), edge["tactic_string"], node["proof_depth"])


def _goals(node: Row) -> list[str]:
    """The goals of a node as Lean prints them, so that equal states from different sources have equal texts."""
    try:
        return [to_text(msgspec.convert(goal, LeanTreeGoal)) for goal in node["state"]["goals"]]
    except msgspec.ValidationError as error:
        raise BadRow(f"no goal of LeanTree's: {error}") from error


def _useful(name: str, state: str, tactic: str, steps: int) -> Iterator[Step]:
    if not any(word in tactic.split() for word in REFUSED):
        yield Step(name, state, tactic, remaining=steps)


# --- whole proofs and conjectures -------------------------------------------------------------------------------------


def proof_of(row: Row, *, header: bool = False) -> Proof | None:
    """The statement and the proof of a row; None where the proof leaves something out (`sorry`). `header`: the row's
    header is needed, too. Raises BadRow."""
    statement, proof = (
        next((row[name] for name in names if row.get(name)), None) for names in (STATEMENT_FIELDS, PROOF_FIELDS)
    )
    if not isinstance(statement, str) or not isinstance(proof, str):
        name = " (a file for the policy `proofs:FILE` names its statements, and does not hold them)"
        raise BadRow(
            f"no whole proof: expected the texts `statement` and `proof`; the row has {fields_of(row)}"
            f"{name if proof and row.get('name') else ''}"
        )
    try:
        theorem = statements.theorem(
            statement, str(row.get("header") or "") if header else "", str(row.get("name") or "")
        )
        script = block_of(proof)
    except statements.Refused as error:
        raise UnreadText(f"`statement` is none: {error}; it is {statement[:80]!r}", UNREAD_STATEMENT) from error
    except NoProof as error:
        raise UnreadText(f"`proof` is none: {error}; it is {proof[:80]!r}", UNREAD_PROOF) from error
    return None if leaves_something_out(script) else Proof(theorem, script, weight_of(row, statement))


def theorem_of(row: Row, proof: Proof) -> str:
    """The name that decides whether a stage of training holds out the row: its own, or else its statement."""
    return str(row.get("name") or row.get("theorem") or proof.statement)


def conjecture_of(row: Row) -> SeededConjecture | None:
    """The conjecture of a row; None where the seed's proof leaves something out (`sorry`). Raises BadRow."""
    texts = {name: row[name] for name in CONJECTURE_FIELDS if isinstance(row.get(name), str) and row[name].strip()}
    if len(texts) < len(CONJECTURE_FIELDS):
        missing = ", ".join(f"`{name}`" for name in CONJECTURE_FIELDS if name not in texts)
        shown = f", with {next(reversed(texts.values()))[:80]!r}" if texts else ""
        raise BadRow(
            f"no text in {missing} of the row that has {fields_of(row)}{shown}: a conjecture comes with the `lemma`, "
            "`statement` and `proof` that it was asked for with; the empty lemma is `theorem true : True`"
        )
    seed = proof_of(row)
    if seed is None:
        return None
    try:
        conjecture = unnamed(statements.theorem(texts["conjecture"]).signature)
    except statements.Refused as error:
        raise BadRow(f"`conjecture` is none: {error}; it is {texts['conjecture'][:80]!r}") from error
    return SeededConjecture(theorem_of(row, seed), texts["lemma"], seed.statement, seed.script, conjecture, seed.weight)
