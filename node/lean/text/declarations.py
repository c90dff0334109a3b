"""Finds the declarations of a Lean file by patterns: names, kinds, statements, constructors. Pure.

It does not parse Lean. It only proposes names to try, and a wrong one costs a failed tactic.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

from node.lean.text.lexing import blanked, outside_brackets

PROOFS = frozenset({"theorem", "lemma", "axiom"})
TYPES = frozenset({"inductive", "structure", "class", "coinductive"})

_MODIFIERS = r"(?:(?:private|protected|public|noncomputable|nonrec|partial|unsafe|local|scoped)\s+)*"
_KINDS = "theorem|lemma|axiom|def|abbrev|inductive|coinductive|structure|class|instance|opaque"
_COMMAND = re.compile(
    rf"^(?:@\[[^\]]*\]\s*)*(?P<modifiers>{_MODIFIERS})"
    rf"(?:(?P<kind>{_KINDS})\s+(?P<name>[^\s:(){{}}\[\]⦃⦄]+)"
    r"|(?P<scope>namespace|section|end|mutual)\b[ \t]*(?P<of>[^\s]*)|(?P<variable>variable)\b|\S)",
    re.MULTILINE,
)
_VALUE = re.compile(r":=|\bwhere\b|\n\s*\|")
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
    variables: list[tuple[int, str]] = []
    """Number of open scopes, and binders, of each `variable` command in effect."""
    matches = list(_COMMAND.finditer(code))
    for match, following in itertools.zip_longest(matches, matches[1:]):
        end = following.start() if following is not None else len(code)
        if scope := match["scope"]:
            parts = match["of"].split(".")
            if scope == "end":
                del scopes[max(0, len(scopes) - len(parts)) :]
                variables = [each for each in variables if each[0] <= len(scopes)]
            else:
                scopes += parts if scope == "namespace" else [""] * len(parts)
        elif match["variable"]:
            variables.append((len(scopes), " ".join(text[match.end() : end].split())))
        elif match["kind"]:
            binders = [binders for _, binders in variables]
            result.append(_declaration(text, code, match, end, [*filter(None, scopes)], binders))
    return tuple(result), ".".join(filter(None, scopes))


def _declaration(
    text: str, code: str, match: re.Match[str], end: int, namespace: list[str], variables: list[str]
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
    return Declaration(
        full, match["kind"], statement, constructors, tuple(match["modifiers"].split()), tuple(variables)
    )
