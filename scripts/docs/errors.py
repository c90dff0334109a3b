"""`python -m scripts.docs.errors [WORD ...]`: prints a table of all error texts.

Each row has the class, file and line, and the text as in the source. With words: only rows that contain one of them. A
good text says what is wrong, where, and what to do next.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from scripts.docs import fields

ROOT = Path(__file__).parents[2]

INTERNAL = {
    *(
        "AssertionError",
        "KeyError",
        "IndexError",
        "TypeError",
        "StopIteration",
        "NotImplementedError",
        "AttributeError",
    ),
    *("Busy", "BusyError", "CancelledError", "SystemExit"),
}
"""Errors that users do not see."""


def rows() -> Iterator[tuple[str, str, str]]:
    """(class, file:line, text) of every `raise` with a text."""
    for folder in ("broker", "common", "node", "proofmesh", "ui", "scripts"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
                    name = ast.unparse(node.exc.func).rpartition(".")[2]
                    text = _text(node.exc.args[0])
                    if text and name not in INTERNAL:
                        yield name, f"{file.relative_to(ROOT)}:{node.lineno}", text


def _text(node: ast.expr) -> str:
    """The text of a constant or an f-string, with its expressions in braces; empty for other expressions."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(
            _text(part) if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}"
            for part in node.values
            if isinstance(part, (ast.Constant, ast.FormattedValue))
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left) + _text(node.right)
    return ""


def main(words: list[str]) -> int:
    """The command; returns its exit code."""
    print("| error | where | text |\n|---|---|---|")
    for name, place, text in rows():
        if not words or any(word in f"{name} {place} {text}" for word in words):
            print(f"| {name} | {place} | {fields.cell(text)} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
