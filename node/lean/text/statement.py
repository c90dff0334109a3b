"""Parses statements to a `Theorem` (name, binders, conclusion), writes them for Lean, and combines headers. Pure."""

from __future__ import annotations

import re
from functools import lru_cache

from common.lean import Theorem
from node.lean.text.lexing import blanked, comment_end

# --- Finds the imports of a Lean text, and combines headers: the commands before a theorem. Pure ---------------------
#
# Imports decide what a process has to load. They stand at the beginning of a text, with only white space and comments
# between them.


_BLANK = re.compile(r"(?:\s+|--[^\n]*)*")
_IMPORT = re.compile(r"(?:(?:public|meta|private)\s+)*(?:import|prelude|module)\b[^\n]*")

_MODULE = re.compile(r"module(?![\w.'!?₀-₉])")

_IMPORTED = re.compile(r"(?:(?:public|meta|private)\s+)*import\s+(?:all\s+)?([^\s;]+)")
_HEADER = re.compile(r"(?:\s+|module\b|prelude\b|(?:(?:public|meta|private)\s+)*import\s+(?:all\s+)?[^\s;]+)*")

CACHED_TEXTS = 256
"""Number of texts whose imports are cached: every request for a file of thousands of lines needs them again."""


def imports(text: str) -> list[str]:
    """The `import`, `prelude` and `module` lines at the beginning of a text."""
    return [line for line, _ in _imports(text)]


def imports_of(text: str) -> tuple[str, ...]:
    """The modules that a text imports."""
    code = blanked(text)
    header = _HEADER.match(code)
    return tuple(name.replace("«", "").replace("»", "") for name in _IMPORTED.findall(header.group() if header else ""))


def is_module(text: str) -> bool:
    """True if a text begins with `module`: then other files see only its public part (Lean's module system)."""
    return _MODULE.match(text, _behind_blank(text, 0)) is not None


def import_lines(text: str) -> int:
    """Number of lines up to and including the last import; 0 if there is none."""
    end = imports_end(text)
    return text.count("\n", 0, end) + 1 if end else 0


def imports_end(text: str) -> int:
    """Character offset of the end of the last import; 0 if there is none."""
    located = _imports(text)
    return located[-1][1] if located else 0


def leading_imports(text: str) -> tuple[str, ...]:
    """The lines up to and including the last import, with comments and blank lines between them."""
    return tuple(text.split("\n", import_lines(text))[: import_lines(text)])


def completed(own: str, configured: str) -> str:
    """The configured header followed by a theorem's own one; only the own one if that has imports."""
    if not own.strip():
        return configured
    return own if not configured or imports(own) else f"{configured}\n{own}"


@lru_cache(maxsize=CACHED_TEXTS)
def _imports(text: str) -> tuple[tuple[str, int], ...]:
    """The text and the end offset of each import."""
    located: list[tuple[str, int]] = []
    at = 0
    while True:
        at = _behind_blank(text, at)
        match = _IMPORT.match(text, at)
        if match is None:
            return tuple(located)
        at = match.end()
        located.append((match.group().strip(), at))


def _behind_blank(text: str, at: int) -> int:
    """End of the white space and comments that begin at an offset. Block comments nest."""
    while True:
        match = _BLANK.match(text, at)
        assert match is not None
        at = match.end()
        if not text.startswith("/-", at):
            return at
        end = comment_end(text, at)
        if end < 0:
            return len(text)
        at = end


# --- Parses the text of a statement into a `Theorem` (name, binders, conclusion), and writes it for Lean -------------
#
# Only the shape is checked here (one theorem, balanced brackets, a colon at depth zero). Lean checks the types.


_KEYWORD = re.compile(r"\s*(theorem|lemma|example)\b")
NAME = r"(?:«[^»\n]*»|[^\s(){}\[\]⦃⦄:«»])+"
"""Pattern of a name. Components in guillemets may contain any characters."""
_NAME = re.compile(rf"\s*({NAME})")
_PROOF = re.compile(r":=\s*(by\s*)?(sorry\s*)?$")
_OTHER_PROOF = re.compile(r":=\s*by\b")
_OPEN = {"(": ")", "{": "}", "[": "]", "⟨": "⟩", "⦃": "⦄", "⟦": "⟧"}
_CLOSE = {close: open_ for open_, close in _OPEN.items()}


BY_COLUMN = len("  : Prop) := ")
"""Column of `by` in the last of the lines that `statement_lines` writes."""


class StatementError(ValueError):
    """The text is not one theorem statement. The message says what is wrong and where."""


def parse_statement(text: str, header: str = "") -> Theorem:
    """Parse `theorem NAME BINDERS : CONCLUSION`, optionally followed by `:=`, `:= by` or `:= by sorry`.

    `example` statements get the name `t`. Raises StatementError.
    """
    keyword = _KEYWORD.match(text)
    if keyword is None:
        raise StatementError(f"a statement begins with `theorem NAME`, but this one with {text.strip()[:30]!r}")
    body = _PROOF.sub("", text[keyword.end() :].strip()).strip()
    if keyword.group(1) == "example":
        name = "t"
    else:
        match = _NAME.match(body)
        if match is None:
            raise StatementError(f"no name after `{keyword.group(1)}`: {text.strip()[:60]!r}")
        name, body = match.group(1), body[match.end() :]
    colon = _top_level_colon(body)
    binders, conclusion = body[:colon].strip(), body[colon + 1 :].strip()
    if _OTHER_PROOF.search(conclusion):
        raise StatementError("a proof stands behind the statement: remove it (`proofmesh verify` checks proofs)")
    if not conclusion:
        raise StatementError("the statement has no conclusion: nothing stands after the colon")
    return Theorem(name, binders, conclusion, header)


def _top_level_colon(text: str) -> int:
    """Position of the first colon outside every bracket. Raises StatementError."""
    stack: list[tuple[str, int]] = []
    for position, char in enumerate(text):
        if char in _OPEN:
            stack.append((char, position))
        elif char in _CLOSE:
            if not stack or stack[-1][0] != _CLOSE[char]:
                raise StatementError(f"unbalanced {char!r} at character {position} of {text.strip()[:80]!r}")
            stack.pop()
        elif char == ":" and not stack:
            return position
    if stack:
        raise StatementError(f"{stack[-1][0]!r} at character {stack[-1][1]} is never closed in {text.strip()[:80]!r}")
    raise StatementError(f"no colon between binders and conclusion in {text.strip()[:80]!r}")


def statement_lines(keyword: str, theorem: Theorem) -> list[str]:
    """The lines of `KEYWORD BINDERS : (CONCLUSION : Prop) := by`.

    The parentheses keep the text of a conclusion from reaching beyond its end. `: Prop` is needed because `example`
    accepts any type.
    """
    binders = f" {theorem.binders.strip()}" if theorem.binders.strip() else ""
    return [*f"{keyword}{binders} : ({theorem.conclusion.strip()}".split("\n"), "  : Prop) := by"]
