"""Rows of files of statements. Programs without our other packages read them, too (`proofmesh_verifiers`)."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from common.files import NOT_JSON

STDIN = "-"

_COMMENTS = ("--", "#")


@dataclass(frozen=True)
class Row:
    """A statement of a file, or the problem with its row."""

    name: str
    statement: str = ""
    problem: str = ""


def read_row(line: bytes, number: int, kind: str) -> Row | None:
    """Parse a line of a file (`.jsonl`: objects, `.txt`: statements, `-`: either). None for blanks and comments."""
    where = f"line {number}"
    try:
        text = line.decode().strip()
    except UnicodeDecodeError as error:
        return Row(where, problem=f"{where}: not UTF-8 ({error.reason})")
    if kind == ".jsonl" or (kind == STDIN and text.startswith("{")):
        return _object(text, where) if text else None
    return Row("", text) if text and not text.startswith(_COMMENTS) else None


def _object(text: str, where: str) -> Row:
    try:
        row = msgspec.json.decode(text)
    except NOT_JSON as error:
        return Row(where, problem=f"{where}: no JSON: {error}")
    if not isinstance(row, dict):
        return Row(where, problem=f'{where}: an object {{"name": ..., "statement": ...}} was expected')
    name, statement = row.get("name") or "", row.get("statement")
    if not isinstance(name, (str, int)):
        return Row(where, problem=f"{where}: `name` is a text")
    if not isinstance(statement, str):
        keys = ", ".join(map(str, row)) or "none"
        return Row(str(name) or where, problem=f"{where}: no `statement` with a text (its keys: {keys})")
    return Row(str(name), statement)
