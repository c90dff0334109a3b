"""Reads Lean's trace of an elaboration, and converts its info trees to the REPL's JSON. Pure.

Lean prints its trees as text, which leaves out some fields. They are approximated: the kinds of a term's syntax come
from its source, and its expected type comes from Lean's steps, or else from the term's type.
"""

from __future__ import annotations

import re
import textwrap
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from node.lean.adapters.repl.prepared import Prepared
from node.lean.adapters.repl.protocol import CommandPosition
from node.lean.text.lexing import lex, outside_brackets
from node.lean.trace.infotree import Info, Span, TacticInfo, parse
from node.lean.worker.process import Diagnostic

# --- Lean's trace: info trees, and elaboration steps in Lean's layout -------------------------------------------------
# Info trees show the type of a term and the syntax of a tactic. Steps show the expected type of a term, and Lean's
# layout of a piece of syntax. The two are matched by their text only. A piece of syntax without a step keeps its
# source's layout.

TREES = ("set_option Elab.async false", "set_option trace.Elab.info true")
"""Lines before a command that make Lean print its info trees. Without threads, the tree of a theorem includes its body.
"""

STEPS = ("set_option trace.Elab.step true", "set_option trace.Elab.command true")
"""More lines before a command, which make Lean print its steps."""

NOT_PRINTED = "<failed to pretty print>"
"""The REPL's text for a piece of syntax that is not a tactic, such as `by` alone."""

_TRACE = re.compile(r"^\[Elab\.(info|step|command)\]", re.MULTILINE)
_NODE = re.compile(r"( *)\[Elab\.(?:step|command)(\.result)?\] ?(?:[✅❌💥]\ufe0f? ?)?(.*)")
_FAILED = "failed to pretty print"
_EXPECTED = "expected type: "
_NO_TYPE = "<not-available>"
_TERM = ", term\n"
_BROKEN = re.compile(r"\n[ \t]+")
_BLANK = re.compile(r"\s+")

_CONTENT_COLUMNS = 4
"""Columns by which the lines below a step's first line are further indented than its bracket."""


@dataclass
class Layouts:
    """Lean's layouts of syntax, and the expected types of terms. The key is the text without blanks."""

    printed: dict[str, str] = field(default_factory=dict)
    expected: dict[str, deque[str | None]] = field(default_factory=lambda: defaultdict(deque))
    """Types in the order of the elaboration; None for a term without an expected type."""

    def of(self, source: str) -> str:
        """Lean's layout of a piece of source. If Lean printed none: the source without its indentation."""
        return self.printed.get(_key(source)) or dedented(source)

    def next_expected(self, source: str) -> str | None:
        """The expected type of the next term with this text."""
        types = self.expected.get(_key(source))
        if not types:
            return None
        return types.popleft() if len(types) > 1 else types[0]


@dataclass
class Traced:
    """The info trees and layouts of an elaborated text."""

    trees: list[Info] = field(default_factory=list)
    layouts: Layouts = field(default_factory=Layouts)


def read_trace(diagnostics: Sequence[Diagnostic]) -> Traced:
    """The trees and steps in Lean's messages, in the order of the text. Other messages are ignored."""
    traced = Traced()
    for item in sorted(diagnostics, key=lambda item: (item.range.start.line, item.range.start.character)):
        marks = [*_TRACE.finditer(item.message)]
        ends = [*(mark.start() for mark in marks[1:]), len(item.message)][: len(marks)]
        for mark, end in zip(marks, ends, strict=True):
            if mark.group(1) == "info":
                traced.trees += parse(item.message[mark.end() : end])
            else:
                _steps(item.message[mark.start() : end], traced.layouts)
    return traced


def dedented(source: str) -> str:
    """A piece of source without the common indentation of its lines after the first."""
    first, *others = source.split("\n")
    common = min((len(line) - len(line.lstrip()) for line in others if line.strip()), default=0)
    return "\n".join([first, *(line[max(0, common - 2) :] for line in others)])


def _steps(text: str, layouts: Layouts) -> None:
    lines: list[str] = []
    column = 0
    result = True
    for line in [*text.split("\n"), "[Elab.step]"]:
        match = _NODE.match(line)
        if match is None:
            lines.append(line)
            continue
        if not result:
            _step(lines, column, layouts)
        column, result, lines = len(match.group(1)), bool(match.group(2)), [match.group(3)]


def _step(lines: Sequence[str], column: int, layouts: Layouts) -> None:
    begin = column + _CONTENT_COLUMNS
    first, *others = lines
    text = "\n".join([first, *(line[min(begin, len(line) - len(line.lstrip())) :] for line in others)]).rstrip()
    if text.startswith(_EXPECTED):
        type_, separator, text = text.removeprefix(_EXPECTED).partition(_TERM)
        if separator:
            type_ = _BROKEN.sub(" ", type_)
            layouts.expected[_key(text)].append(None if type_ == _NO_TYPE else type_)
    if text.strip() and not text.strip().startswith(_FAILED):
        layouts.printed.setdefault(_key(text), textwrap.dedent(text.strip("\n")))


def _key(text: str) -> str:
    return _BLANK.sub("", lex(text).bare or text)


# --- kinds of syntax nodes, from Lean's printed syntax, or from the source if Lean prints none ------------------------

_SYNTAX_TOKEN = re.compile(
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


def kinds_of_printed(text: str) -> Kinds:
    """The kinds of a printed piece of syntax: `(kind part ...)`, `[part ...]`, an atom or an identifier."""
    tokens = _SYNTAX_TOKEN.findall(text)
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


def kind_of_term(source: str, elaborator: str) -> Kinds:
    """The kinds of a term, from its source or its elaborator's name, because Lean does not print its syntax."""
    if source in ("Prop", "Type", "Sort"):
        return f"{PARSER}Term.{source.lower()}", [source]
    if _IDENTIFIER.fullmatch(source) and elaborator in ("", "Lean.Elab.Term.elabIdent"):
        return "ident", []
    if source.isdecimal():
        return "num", [source]
    if source.startswith("by") and source[2:3].isspace():
        return f"{PARSER}Term.byTactic", ["by", f"{PARSER}Tactic.tacticSeq"]
    return kind_by_elaborator(elaborator), []


def kind_of_command(source: str, elaborator: str) -> Kinds:
    """The kinds of a command, from its source and its elaborator's name, because Lean does not print its syntax."""
    if elaborator.endswith(".elabEoi"):
        return f"{PARSER}Command.eoi", ["«»"]
    if elaborator.endswith(".elabDeclaration") and (match := _KEYWORD.search(source)):
        modifiers, name = f"{PARSER}Command.declModifiers", f"{PARSER}Command.{_DECLARATIONS[match.group(1)]}"
        return f"{PARSER}Command.declaration", [modifiers, name]
    return kind_by_elaborator(elaborator), []


def kind_by_elaborator(elaborator: str) -> str:
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


# --- info trees as JSON -----------------------------------------------------------------------------------------------

_PLACE = re.compile(r" @ ⟨(\d+), (\d+)⟩(†?!?)-⟨(\d+), (\d+)⟩(†?!?)(?: @ (.*))?$", re.DOTALL)
_KIND = re.compile(r"\[?(\w+)")
_BINDER = " (isBinder := true)"
_BROKEN_TREE = re.compile(r"\n[ \t]*")

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
    *(f"{PARSER}Tactic.{name}" for name in ("tacticSeq", "tacticSeq1Indented", "«tactic_<;>_»", "paren")),
    f"{PARSER}Term.byTactic",
}
"""Kinds of syntax that only group or combine tactics."""

DECLARATION_NAME: Kinds = (f"{PARSER}Command.declId", ["ident", "null"])


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
    return is_node(text) and kinds_of_printed(text)[0] not in _STRUCTURE


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
        kinds = kinds_of_printed(text)
        node = is_node(text)
        return TacticNode(
            self._syntax(place, kinds, pp=None if node else NOT_PRINTED),
            kinds[0] if node else None,
            list(tactic.before),
            list(tactic.after),
        )

    def _command(self, place: _Place) -> CommandNode:
        kinds = kind_of_command(self._source(place), place.elaborator)
        self._in_declaration = kinds[0].endswith(".declaration")
        self._last_binder = None
        return CommandNode(self._syntax(place, kinds), place.elaborator or None)

    def _term(self, info: Info, place: _Place, parent: InfoNode | None) -> TermNode:
        head = _PLACE.sub("", _BROKEN_TREE.sub(" ", "\n".join([info.head, *info.body]).rstrip()))
        expression, type_ = _typed(head.removeprefix("[Term] "))
        binder = expression.endswith(_BINDER)
        expression = expression.removesuffix(_BINDER)
        source = self._source(place)
        # A declaration's name has two nodes: its identifier, and the identifier with its universes.
        named = binder and self._in_declaration and self._last_binder == place.span
        kinds = DECLARATION_NAME if named else kind_of_term(source, place.elaborator)
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

    def _syntax(self, place: _Place, kinds: Kinds, pp: str | None = None) -> Syntax:
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
