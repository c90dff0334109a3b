"""Finds the declarations of a Lean text by patterns, and extracts the proof of one. Pure."""

from __future__ import annotations

import itertools
import re
import textwrap
from dataclasses import dataclass

from node.lean.text.lexing import ATTRIBUTE, blanked, outside_brackets

# --- Finds the declarations of a Lean file by patterns: names, kinds, statements, constructors. Pure -----------------
#
# It does not parse Lean. It only proposes names to try, and a wrong one costs a failed tactic.


PROOFS = frozenset({"theorem", "lemma", "axiom"})
TYPES = frozenset({"inductive", "structure", "class", "coinductive"})

_MODIFIERS = r"(?:(?:private|protected|public|noncomputable|nonrec|partial|unsafe|local|scoped)\s+){0,8}"
_KINDS = "theorem|lemma|axiom|def|abbrev|inductive|coinductive|structure|class|instance|opaque"
_COMMAND = re.compile(
    rf"^(?:{ATTRIBUTE}\s*){{0,6}}(?P<modifiers>{_MODIFIERS})"
    rf"(?:(?P<kind>{_KINDS})\s+(?P<name>(?:«[^»]*»|[^\s:(){{}}\[\]⦃⦄«])+)"
    r"|(?P<scope>namespace|section|end|mutual)\b[ \t]*(?P<of>[^\s]*)|(?P<variable>variable)\b|\S)",
    re.MULTILINE,
)
_VALUE = re.compile(r":=|\bwhere\b|\n[ \t]*\|")
"""The start of a declaration's value."""

_CONSTRUCTOR = re.compile(r"\|\s*([^\W\d][\w'!?₀-₉]*)([^|]*)")


@dataclass(frozen=True)
class Constructor:
    """A constructor of an inductive type."""

    name: str
    """Its name without the name of the type."""
    signature: str


@dataclass(frozen=True)
class Declaration:
    """A declaration of a file."""

    name: str
    """Its name with its namespace."""
    kind: str
    """Its keyword: theorem, def, inductive, ..."""
    statement: str
    """The text between the name and the value."""
    constructors: tuple[Constructor, ...] = ()
    modifiers: tuple[str, ...] = ()
    """`private`, `protected`, ..."""
    variables: tuple[str, ...] = ()
    """Binders of the `variable` commands that apply to it, outer ones first."""

    @property
    def is_proof(self) -> bool:
        return self.kind in PROOFS

    @property
    def is_type(self) -> bool:
        return self.kind in TYPES


def declarations(text: str) -> tuple[tuple[Declaration, ...], str]:
    """The declarations of a text, in order, and the namespace that is open at its end."""
    code = blanked(text)
    result: list[Declaration] = []
    scopes: list[str] = []
    """Names of the open namespaces; empty names for sections and `mutual` blocks."""
    inside: list[str] = []
    """The names of the open namespaces alone."""
    variables: list[tuple[int, str]] = []
    """Number of open scopes, and binders, of each `variable` command in effect."""
    binders: tuple[str, ...] | None = ()
    """The binders alone; None if they have changed."""
    matches = list(_COMMAND.finditer(code))
    for match, following in itertools.zip_longest(matches, matches[1:]):
        end = following.start() if following is not None else len(code)
        # 1. Scopes open and close; `end A.B` closes two. Variables end with the scope that declared them.
        if scope := match["scope"]:
            parts = match["of"].split(".")
            if scope == "end":
                for _ in parts[: len(scopes)]:
                    if scopes.pop():
                        inside.pop()
                while variables and variables[-1][0] > len(scopes):
                    variables.pop()
                    binders = None
            else:
                scopes += parts if scope == "namespace" else [""] * len(parts)
                inside += filter(None, parts if scope == "namespace" else ())
        # 2. A `variable` command counts for all declarations below it in its scope.
        elif match["variable"]:
            variables.append((len(scopes), " ".join(text[match.end() : end].split())))
            binders = None
        # 3. A declaration, with the binders that are in effect.
        elif match["kind"]:
            if binders is None:
                binders = tuple(each for _, each in variables)
            result.append(_declaration(text, code, match, end, inside, binders))
    return tuple(result), ".".join(inside)


def _declaration(
    text: str, code: str, match: re.Match[str], end: int, namespace: list[str], variables: tuple[str, ...]
) -> Declaration:
    start = match.end("name")
    stop = next((at for at in outside_brackets(code, start, end) if _VALUE.match(code, at)), end)
    constructors: tuple[Constructor, ...] = ()
    if match["kind"] in ("inductive", "coinductive"):
        matches = _CONSTRUCTOR.finditer(code, stop, end)
        constructors = tuple(Constructor(each.group(1), each.group(2).strip()) for each in matches)
    name = match["name"].removeprefix("_root_.")
    full = name if match["name"] != name else ".".join([*namespace, name])
    statement = " ".join(text[start:stop].split())
    return Declaration(full, match["kind"], statement, constructors, tuple(match["modifiers"].split()), variables)


# --- Extracts the proof from a text: the tactic block of a declaration. Pure -----------------------------------------
#
# It goes by patterns and does not parse Lean. The extracted proof is checked against a known statement, so a wrong
# reading only makes the proof fail.


_DECLARATION = re.compile(
    rf"^[ \t]*(?:{ATTRIBUTE}\s*){{0,6}}(?:(?:private|protected|nonrec)\s+){{0,8}}"
    r"(?:theorem|lemma|example)\b[ \t]*([^\s:(){}\[\]⦃⦄]*)",
    re.MULTILINE,
)
_NEXT_COMMAND = re.compile(
    r"^(?:theorem|lemma|example|def|abbrev|instance|end|namespace|section|open|set_option|variable|@\[|#)", re.MULTILINE
)
_BY = re.compile(r":=\s*by\b")
_OPENING = re.compile(r"\s*(?::=\s*)?by\b")


class NoProof(ValueError):
    """There is no proof in a text. The message says why."""


def block_of(text: str, name: str = "") -> str:
    """The tactic block of a proof. Raises NoProof.

    If the text contains declarations, the block is taken from the one with this name, or else from the last one. If it
    contains none, the whole text is the block. A term proof becomes `exact (TERM)`.
    """
    code = blanked(text)
    declarations = list(_DECLARATION.finditer(code))
    if not declarations:
        opening = _OPENING.match(code)
        return _block(text, opening.end() if opening else 0) if code.strip() else _none("it is empty")
    declaration = next((each for each in declarations if name and each[1] == name), declarations[-1])
    following = _NEXT_COMMAND.search(code, declaration.end())
    end = following.start() if following else len(code)
    outside = list(outside_brackets(code, declaration.end(), end))
    if by := next((match for at in outside if (match := _BY.match(code, at, end))), None):
        return _block(text[:end], by.end())
    value = next((at for at in outside if code.startswith(":=", at)), None)
    if value is None or not code[value + 2 : end].strip():
        return _none(f"nothing stands behind the statement of `{declaration[1] or 'example'}`")
    term = text[value + 2 : end].strip()
    return f"exact ({term})"


def _block(text: str, start: int = 0) -> str:
    """The text from a position on, as a dedented block. Its first line counts with the column of that position."""
    column = start - (text.rfind("\n", 0, start) + 1)
    block = textwrap.dedent(" " * column + text[start:]).strip("\n").rstrip()
    return block if block.strip() else _none("nothing stands behind `by`")


def _none(reason: str) -> str:
    raise NoProof(reason)
