"""Which fields of a dataset's rows are what: miniF2F and ProofNet, Lean-Workbook, NuminaMath-LEAN. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from node.bank.rows import Row

SPLITS = {"train": "train", "valid": "valid", "validation": "valid", "dev": "valid", "test": "test"}
"""Names of splits, and the bank's."""

WORKBOOK_HEADER = """import Mathlib
import Aesop
set_option maxHeartbeats 400000
open BigOperators Real Nat Topology Rat"""
"""What Lean-Workbook's statements are written under: its rows have no header."""


class NoFormat(ValueError):
    """Rows of an unknown form; the message names their fields."""


@dataclass(frozen=True)
class Raw:
    """A statement as its dataset has it."""

    name: str
    """Empty: the name that the statement itself gives."""
    header: str
    text: str
    split: str
    """`train`, `valid`, `test`; empty where the dataset does not say."""


@dataclass(frozen=True)
class Format:
    """How one family of datasets names its fields."""

    name: str
    fields: frozenset[str]
    """A row that has all of these is of this format."""
    read: Callable[[Row], Raw]
    header: str = ""
    """What its statements are written under, if their rows do not say."""


def _benchmark(row: Row) -> Raw:
    """miniF2F, ProofNet: name, split, header, formal_statement."""
    return Raw(_text(row, "name"), _text(row, "header"), _text(row, "formal_statement"), _split(row))


def _numina(row: Row) -> Raw:
    """NuminaMath-LEAN: uuid, formal_statement with imports and all; no splits. The statement's name is the name."""
    return Raw("", "", _text(row, "formal_statement"), _split(row))


def _workbook(row: Row) -> Raw:
    """Lean-Workbook: id, formal_statement without header; `split` says which of its parts it is of."""
    return Raw(_text(row, "id") or _text(row, "problem_id"), "", _text(row, "formal_statement"), _split(row))


FORMATS = (
    Format("benchmark", frozenset({"name", "header", "formal_statement"}), _benchmark),
    Format("numina", frozenset({"uuid", "formal_statement"}), _numina),
    Format("workbook", frozenset({"natural_language_statement", "formal_statement"}), _workbook, WORKBOOK_HEADER),
)
"""The first that fits is taken."""


def format_of(row: Row) -> Format:
    """The format of a row. Raises NoFormat."""
    for each in FORMATS:
        if each.fields <= row.keys():
            return each
    known = "; ".join(f"{each.name}: {', '.join(sorted(each.fields))}" for each in FORMATS)
    raise NoFormat(f"a row with the fields {', '.join(sorted(row))} is of no known format ({known})")


def _text(row: Row, field: str) -> str:
    value = row.get(field)
    return value if isinstance(value, str) else ""


def _split(row: Row) -> str:
    return SPLITS.get(_text(row, "split").lower(), "")
