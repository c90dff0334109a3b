"""Tables of texts, which the tests of Lean's texts are about."""

import re

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "_": "\u00a0"}


def cells(table: str) -> list[str]:
    r"""Texts of a table, which stand between bars, or in lines of their own; `\n` is a line break, `\\` a backslash."""
    texts = re.split(r" ¦ |\n", table.strip("\n"))
    return [re.sub(r"\\([ntr\\_])", lambda found: _ESCAPES[found[1]], text) for text in texts]
