"""Recognises the format of a data set's rows, and reads name, header, statement and split from their fields. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from node.bank.known import MINIF2F_HEADER
from node.bank.texts import Row

SPLITS = {"train": "train", "valid": "valid", "validation": "valid", "dev": "valid", "test": "test"}
"""The bank's names of splits, by the names in data sets."""

_NO_NAME = re.compile(r"[^\w.']+")
"""Characters that cannot be in a theorem's name, as in ProofNet#'s `Artin|exercise_2_3_2`."""


class NoFormat(ValueError):
    """The format of a row is unknown; the message names its fields."""


@dataclass(frozen=True)
class Raw:
    """A statement in the form of its data set."""

    name: str
    """Empty: the name in the statement's text."""
    header: str
    text: str
    split: str
    """`train`, `valid`, `test`; empty if the row names none."""


@dataclass(frozen=True)
class Format:
    """The fields of one family of data sets."""

    name: str
    fields: frozenset[str]
    """A row that has all of these is of this format."""
    read: Callable[[Row], Raw]
    header: str = ""
    """The header of its statements, if their rows have none."""


def _benchmark(row: Row) -> Raw:
    """miniF2F, ProofNet, ProverBench: name (or id), split, header, formal_statement."""
    return Raw(_name(row, "name", "id"), _text(row, "header"), _text(row, "formal_statement"), split_of(row))


def _putnam(row: Row) -> Raw:
    """PutnamBench: name, lean4_statement; no splits."""
    return Raw(_name(row, "name"), _text(row, "header"), _text(row, "lean4_statement"), split_of(row))


def _sharp(row: Row) -> Raw:
    """ProofNet#: id with the book before it, lean4_src_header, lean4_formalization."""
    header = _text(row, "lean4_src_header")
    return Raw(_name(row, "id"), header, _text(row, "lean4_formalization"), split_of(row))


def _formalmath(row: Row) -> Raw:
    """FormalMATH: theorem_names, autoformalization with its imports; no splits."""
    return Raw(_name(row, "theorem_names"), "", _text(row, "autoformalization"), split_of(row))


def _numina(row: Row) -> Raw:
    """NuminaMath-LEAN: uuid, formal_statement with its imports; no splits. The name is the one in the statement."""
    return Raw("", "", _text(row, "formal_statement"), split_of(row))


def _workbook(row: Row) -> Raw:
    """Lean-Workbook: id, formal_statement without header; `split` is a part of the data set."""
    return Raw(_name(row, "id", "problem_id"), "", _text(row, "formal_statement"), split_of(row))


def _plain(row: Row) -> Raw:
    """A user's own file: statement, with optional name, header and split."""
    return Raw(_name(row, "name", "id"), _text(row, "header"), _text(row, "statement"), split_of(row))


_STATED = "formal_statement"

FORMATS = (
    Format("benchmark", frozenset({"name", "header", _STATED}), _benchmark),
    Format("benchmark by id", frozenset({"id", "header", _STATED}), _benchmark),
    Format("putnambench", frozenset({"lean4_statement"}), _putnam),
    Format("proofnet-sharp", frozenset({"id", "lean4_formalization"}), _sharp),
    Format("formalmath", frozenset({"autoformalization"}), _formalmath),
    Format("numina", frozenset({"uuid", _STATED}), _numina),
    Format("workbook", frozenset({"natural_language_statement", _STATED}), _workbook, MINIF2F_HEADER),
    Format("minif2f-numina", frozenset({"name", "informal_prefix", _STATED}), _benchmark, MINIF2F_HEADER),
    Format("plain", frozenset({"statement"}), _plain),
    Format("plain benchmark", frozenset({"name", _STATED}), _benchmark),
)
"""All formats. A row has the first one that fits."""


def format_of(row: Row) -> Format:
    """The format of a row. Raises NoFormat."""
    for each in FORMATS:
        if each.fields <= row.keys():
            return each
    known = "; ".join(f"{each.name}: {', '.join(sorted(each.fields))}" for each in FORMATS)
    raise NoFormat(f"a row with the fields {', '.join(sorted(row))} has no known format; known are {known}")


def _name(row: Row, *fields: str) -> str:
    """The first of these fields that is not empty, as the name of a theorem."""
    name = next((text for field in fields if (text := _text(row, field))), "")
    return _NO_NAME.sub("_", name).strip("_.")


def _text(row: Row, field: str) -> str:
    value = row.get(field)
    return value if isinstance(value, str) else ""


def split_of(row: Row) -> str:
    """The bank's name of a row's split; empty if the row names none."""
    return SPLITS.get(_text(row, "split").lower(), "")
