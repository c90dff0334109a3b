"""Parses rows of conjectures: a seed (a lemma, a statement and its proof that uses the lemma) and the conjecture."""

from __future__ import annotations

from dataclasses import dataclass

from node.bank import statements
from node.model.prompt import unnamed
from node.training.proof_rows import proof_of
from node.training.rows import BadRow, Row, fields_of

FIELDS = ("lemma", "statement", "proof", "conjecture")


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


def conjecture_of(row: Row) -> SeededConjecture | None:
    """The conjecture of a row; None where the seed's proof leaves something out (`sorry`). Raises BadRow."""
    texts = {name: row[name] for name in FIELDS if isinstance(row.get(name), str) and row[name].strip()}
    if len(texts) < len(FIELDS):
        missing = ", ".join(f"`{name}`" for name in FIELDS if name not in texts)
        raise BadRow(
            f"no text in {missing} of the row that has {fields_of(row)}{_shown(texts)}: a conjecture comes with the "
            "`lemma`, `statement` and `proof` that it was asked for with; the empty lemma is `theorem true : True`"
        )
    seed = proof_of(row)
    if seed is None:
        return None
    try:
        conjecture = unnamed(statements.theorem(texts["conjecture"]).signature)
    except statements.Refused as error:
        raise BadRow(f"`conjecture` is none: {error}; it is {texts['conjecture'][:80]!r}") from error
    return SeededConjecture(seed.theorem, texts["lemma"], seed.statement, seed.proof, conjecture, seed.weight)


def _shown(texts: dict[str, str]) -> str:
    """A text that identifies the row in a message."""
    return f", with {next(reversed(texts.values()))[:80]!r}" if texts else ""
