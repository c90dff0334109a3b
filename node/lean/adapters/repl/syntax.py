"""Finds the kinds of syntax nodes, from Lean's printed syntax, or from the source if Lean prints none. Pure."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"|`\[anonymous\]|`(?:«[^»]*»|[^\s()\[\]"«»])+|(?:«[^»]*»|[^\s()\[\]"`«»])+|[()\[\]]'
)

PARSER = "Lean.Parser."

_PARSER_NAMES = {"Attr", "Command", "Level", "Module", "Syntax", "Tactic", "Term"}
"""The names after `Lean.Parser.`, a prefix that Lean does not print."""

_IDENTIFIER = re.compile(r"(?:[^\W\d]|«[^»]*»)(?:[\w.'!?]|«[^»]*»)*")
_MACRO = re.compile(r"_aux_.*___macroRules_(.*)_\d+$")
_ELABORATOR = re.compile(r"Lean\.Elab\.(Term|Command|Tactic)\.(?:elab|eval|expand)(\w)(\w*)$")

_SAME = ("theorem", "example", "abbrev", "instance", "axiom", "opaque", "inductive", "structure", "coinductive")

_DECLARATIONS = {"def": "definition", "class": "structure", **{word: word for word in _SAME}}
"""The name of a declaration's kind, by keyword."""

_KEYWORD = re.compile(rf"\b({'|'.join(_DECLARATIONS)})\b")

_TERMS = {"Term.parenthesized": "Term.paren", "Term.ident": "ident", "Term.numLit": "num", "Term.strLit": "str"}

Kinds = tuple[str, list[str]]
"""A node's kind, and the kinds of its parts."""


def of_printed(text: str) -> Kinds:
    """The kinds of a printed piece of syntax: `(kind part ...)`, `[part ...]`, an atom or an identifier."""
    tokens = _TOKEN.findall(text)
    if not tokens:
        return "missing", []
    if tokens[0] not in ("(", "["):
        return _leaf(tokens[0]), []
    listed = tokens[0] == "["
    kind = "null" if listed else kind_name(tokens[1]) if len(tokens) > 1 else "missing"
    parts: list[str] = []
    depth = 0
    for at, token in enumerate(tokens[1 if listed else 2 :], start=1 if listed else 2):
        if token in (")", "]"):
            depth -= 1
            if depth < 0:
                break
            continue
        if depth == 0:
            following = tokens[at + 1] if at + 1 < len(tokens) else ""
            parts.append("null" if token == "[" else kind_name(following) if token == "(" else _leaf(token))
        if token in ("(", "["):
            depth += 1
    return kind, parts


def is_node(text: str) -> bool:
    """True when a printed piece of syntax is a node, and not an atom or an identifier."""
    return text.lstrip()[:1] in ("(", "[")


def kind_name(printed: str) -> str:
    """The full name of a kind that Lean prints without `Lean.Parser.`."""
    return PARSER + printed if printed.split(".")[0] in _PARSER_NAMES else printed


def of_term(source: str, elaborator: str) -> Kinds:
    """The kinds of a term, from its source or its elaborator's name, because Lean does not print its syntax."""
    if source in ("Prop", "Type", "Sort"):
        return f"{PARSER}Term.{source.lower()}", [source]
    if _IDENTIFIER.fullmatch(source) and elaborator in ("", "Lean.Elab.Term.elabIdent"):
        return "ident", []
    if source.isdecimal():
        return "num", [source]
    if source.startswith("by") and source[2:3].isspace():
        return f"{PARSER}Term.byTactic", ["by", f"{PARSER}Tactic.tacticSeq"]
    return by_elaborator(elaborator), []


def of_command(source: str, elaborator: str) -> Kinds:
    """The kinds of a command, from its source and its elaborator's name, because Lean does not print its syntax."""
    if elaborator.endswith(".elabEoi"):
        return f"{PARSER}Command.eoi", ["«»"]
    if elaborator.endswith(".elabDeclaration") and (match := _KEYWORD.search(source)):
        modifiers, name = f"{PARSER}Command.declModifiers", f"{PARSER}Command.{_DECLARATIONS[match.group(1)]}"
        return f"{PARSER}Command.declaration", [modifiers, name]
    return by_elaborator(elaborator), []


def by_elaborator(elaborator: str) -> str:
    """The kind of syntax in an elaborator's name; `null` if the name contains none."""
    if match := _MACRO.search(elaborator.replace("«", "").replace("»", "")):
        return f"«{match.group(1)}»"
    if match := _ELABORATOR.match(elaborator):
        name = f"{match.group(1)}.{match.group(2).lower()}{match.group(3)}"
        name = _TERMS.get(name, name)
        return PARSER + name if "." in name else name
    return "null"


def _leaf(token: str) -> str:
    if token.startswith('"'):
        return token[1:-1]
    return "ident" if token.startswith("`") else "missing"
