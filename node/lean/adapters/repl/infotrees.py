"""Converts info trees to the REPL's JSON. Pure.

Lean prints its trees as text, which leaves out some fields. They are approximated: the kinds of a term's syntax come
from its source, and its expected type comes from Lean's steps, or else from the term's type.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from node.lean.adapters.repl import syntax, traced
from node.lean.adapters.repl.prepared import Prepared
from node.lean.adapters.repl.protocol import CommandPosition
from node.lean.adapters.repl.traced import Layouts
from node.lean.text.lexing import outside_brackets
from node.lean.trace.infotree import Info, Span, TacticInfo

_PLACE = re.compile(r" @ ⟨(\d+), (\d+)⟩(†?!?)-⟨(\d+), (\d+)⟩(†?!?)(?: @ (.*))?$", re.DOTALL)
_KIND = re.compile(r"\[?(\w+)")
_BINDER = " (isBinder := true)"
_BROKEN = re.compile(r"\n[ \t]*")

_KINDS = {
    "Tactic": "TacticInfo",
    "Term": "TermInfo",
    "PartialTerm": "PartialTermInfo",
    "Command": "CommandInfo",
    "MacroExpansion": "MacroExpansionInfo",
    "Option": "OptionInfo",
    "Field": "FieldInfo",
    "Completion": "CompletionInfo",
    "UserWidget": "UserWidgetInfo",
    "CustomInfo": "CustomInfo",
    "FVarAlias": "FVarAliasInfo",
    "FieldRedecl": "FieldRedeclInfo",
    "Choice": "ChoiceInfo",
    "DelabTerm": "DelabTermInfo",
}
"""The REPL's kind of a node, by Lean's word in brackets. Other nodes are `CustomInfo`, because clients know only these
kinds."""

_STRUCTURE = {
    "null",
    "Lean.cdot",
    "Lean.cdotTk",
    *(f"{syntax.PARSER}Tactic.{name}" for name in ("tacticSeq", "tacticSeq1Indented", "«tactic_<;>_»", "paren")),
    f"{syntax.PARSER}Term.byTactic",
}
"""Kinds of syntax that only group or combine tactics."""

DECLARATION_NAME: syntax.Kinds = (f"{syntax.PARSER}Command.declId", ["ident", "null"])


class SyntaxRange(msgspec.Struct):
    synthetic: bool
    start: CommandPosition
    finish: CommandPosition


class Syntax(msgspec.Struct, rename="camel"):
    """A piece of syntax."""

    pp: str
    range: SyntaxRange
    kind: str
    arg_kinds: list[str]


class TacticNode(msgspec.Struct, rename="camel"):
    stx: Syntax
    name: str | None
    goals_before: list[str]
    goals_after: list[str]


class CommandNode(msgspec.Struct):
    stx: Syntax
    elaborator: str | None


class TermNode(msgspec.Struct, rename="camel"):
    stx: Syntax
    is_binder: bool
    expr: str
    elaborator: str | None
    expected_type: str | msgspec.UnsetType = msgspec.UNSET


class InfoNode(msgspec.Struct):
    """A node and its children."""

    kind: str
    node: TacticNode | CommandNode | TermNode | None
    children: list[InfoNode]


@dataclass(frozen=True)
class _Place:
    """The position of a node's syntax, and its elaborator."""

    span: Span
    synthetic: bool
    elaborator: str


def tree_kind(info: Info) -> str:
    """The REPL's name for the kind of a node."""
    match = _KIND.match(info.head)
    return _KINDS.get(match.group(1) if match else "", "CustomInfo")


def printed_syntax(info: Info) -> str:
    """The syntax that Lean prints below the head of a tactic node."""
    lines = info.body
    ends = (number for number, line in enumerate(lines) if line.rstrip() in ("before", "before no goals"))
    return "\n".join(lines[: next(ends, len(lines))])


def is_original(info: Info) -> bool:
    """True when the node's syntax is in the source, and not in the expansion of a macro."""
    match = _PLACE.search(info.head)
    return match is None or not match.group(3)


def is_substantive(info: Info) -> bool:
    """True for the node of a tactic that does more than group or combine other tactics."""
    text = printed_syntax(info)
    return syntax.is_node(text) and syntax.of_printed(text)[0] not in _STRUCTURE


def _is_tactic(info: Info) -> bool:
    return info.tactic is not None


_FILTERS: dict[str, Callable[[Info], bool]] = {
    "full": lambda info: True,
    "tactics": _is_tactic,
    "original": lambda info: _is_tactic(info) and is_original(info),
    "substantive": lambda info: _is_tactic(info) and is_substantive(info),
    "no_children": lambda info: True,
}
"""Selects the nodes to write, by the request's `infotree`. `no_children` (LeanTree adds it) writes only the roots."""


def asks(infotree: object) -> bool:
    """True when a request's `infotree` requests trees."""
    return isinstance(infotree, str) and infotree in _FILTERS


class Writer:
    """Writes the trees of one command."""

    def __init__(self, prepared: Prepared, layouts: Layouts) -> None:
        self._prepared = prepared
        self._layouts = layouts
        self._last_binder: Span | None = None
        self._in_declaration = False

    def nodes(self, trees: Sequence[Info], infotree: str) -> list[InfoNode]:
        """The nodes that the request's `infotree` selects. The children of an omitted node take its place."""
        selected = _FILTERS[infotree]
        roots: list[InfoNode] = []
        # In the printed order, without recursion, because trees are as deep as terms.
        todo: list[tuple[Info, list[InfoNode], InfoNode | None]] = [(tree, roots, None) for tree in reversed(trees)]
        while todo:
            info, siblings, parent = todo.pop()
            children, owner = siblings, parent
            if selected(info):
                node = InfoNode(tree_kind(info), self._node(info, parent), [])
                siblings.append(node)
                children, owner = node.children, node
            if infotree != "no_children":
                todo += [(child, children, owner) for child in reversed(info.children)]
        return roots

    def _node(self, info: Info, parent: InfoNode | None) -> TacticNode | CommandNode | TermNode | None:
        place = _place(info)
        if place is None:
            return None
        kind = tree_kind(info)
        if kind == "TacticInfo" and info.tactic is not None:
            return self._tactic(info, info.tactic, place)
        if kind == "CommandInfo":
            return self._command(place)
        if kind == "TermInfo":
            return self._term(info, place, parent)
        return None

    def _tactic(self, info: Info, tactic: TacticInfo, place: _Place) -> TacticNode:
        text = printed_syntax(info)
        kinds = syntax.of_printed(text)
        node = syntax.is_node(text)
        return TacticNode(
            self._syntax(place, kinds, pp=None if node else traced.NOT_PRINTED),
            kinds[0] if node else None,
            list(tactic.before),
            list(tactic.after),
        )

    def _command(self, place: _Place) -> CommandNode:
        kinds = syntax.of_command(self._source(place), place.elaborator)
        self._in_declaration = kinds[0].endswith(".declaration")
        self._last_binder = None
        return CommandNode(self._syntax(place, kinds), place.elaborator or None)

    def _term(self, info: Info, place: _Place, parent: InfoNode | None) -> TermNode:
        head = _PLACE.sub("", _BROKEN.sub(" ", "\n".join([info.head, *info.body]).rstrip()))
        expression, type_ = _typed(head.removeprefix("[Term] "))
        binder = expression.endswith(_BINDER)
        expression = expression.removesuffix(_BINDER)
        source = self._source(place)
        # A declaration's name has two nodes: its identifier, and the identifier with its universes.
        named = binder and self._in_declaration and self._last_binder == place.span
        kinds = DECLARATION_NAME if named else syntax.of_term(source, place.elaborator)
        self._last_binder = place.span if binder else None
        node = TermNode(self._syntax(place, kinds), binder, expression, place.elaborator or None)
        if not binder:
            node.expected_type = self._expected(node, place, parent) or type_
        return node

    def _expected(self, node: TermNode, place: _Place, parent: InfoNode | None) -> str | None:
        """The expected type, if Lean printed it. A node without an elaborator repeats the term of its parent."""
        if place.elaborator or parent is None or not isinstance(parent.node, TermNode):
            return self._layouts.next_expected(self._source(place))
        above = parent.node
        same = above.stx.range == node.stx.range and above.expected_type is not msgspec.UNSET
        return str(above.expected_type) if same else None

    def _syntax(self, place: _Place, kinds: syntax.Kinds, pp: str | None = None) -> Syntax:
        start, end = self._prepared.offsets(place.span) or (0, 0)
        shown = self._layouts.of(self._prepared.code[start:end]) if pp is None else pp
        places = (self._prepared.place_of(start), self._prepared.place_of(end))
        return Syntax(shown, SyntaxRange(place.synthetic, *places), *kinds)

    def _source(self, place: _Place) -> str:
        offsets = self._prepared.offsets(place.span)
        return "" if offsets is None else self._prepared.code[slice(*offsets)]


def _place(info: Info) -> _Place | None:
    match = _PLACE.search(info.head) or _PLACE.search("\n".join([info.head, *info.body]).rstrip())
    if match is None:
        return None
    numbers = [int(match.group(group)) for group in (1, 2, 4, 5)]
    span = Span((numbers[0], numbers[1]), (numbers[2], numbers[3]))
    return _Place(span, bool(match.group(3)), (match.group(7) or "").strip())


def _typed(text: str) -> tuple[str, str]:
    """Split `TERM : TYPE` at the colon outside all brackets."""
    at = next((at for at in outside_brackets(text) if text.startswith(" : ", at)), None)
    return (text, "") if at is None else (text[:at], text[at + 3 :])
