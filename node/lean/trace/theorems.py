"""Finds the declarations of a file in its info trees, and records their tactic blocks. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from common.lean import digest_of
from node.lean.text.lexing import lex
from node.lean.trace.infotree import Info, LeanSource, Position, Span, TacticInfo
from node.lean.trace.records import Declared, TracedBlock, TracedTactic, TracedTheorem, premises
from node.lean.trace.splitting import Splitter, Style
from node.lean.trace.tree import Unsupported, steps

# --- declarations -----------------------------------------------------------------------------------------------------

_KEYWORD = re.compile(
    r"(?<![\w.])(theorem|lemma|example|def|instance|abbrev|structure|class|inductive|opaque)(?![\w'])"
)

_SEQUENCES = frozenset({"Tactic.tacticSeq1Indented", "Tactic.tacticSeqBracketed"})


class FileMessage(msgspec.Struct, frozen=True):
    """A message of `lean --json`."""

    severity: str
    data: str
    line: int


@dataclass(frozen=True)
class Declaration:
    """A declaration and its outermost tactic blocks as info trees."""

    theorem: TracedTheorem
    """Its record, still without blocks."""
    blocks: tuple[TacticInfo, ...]
    command: Span
    """The whole command, including documentation comment and attributes."""

    def messages(self, messages: Sequence[FileMessage]) -> list[FileMessage]:
        """Lean's messages about it."""
        return [message for message in messages if self.theorem.start[0] <= message.line <= self.theorem.end[0]]


def declarations(source: LeanSource, trees: Sequence[Info]) -> list[Declaration]:
    """The declarations with tactic blocks, in the order of the file."""
    result = []
    for tree, span, keyword in _commands(source, trees):
        blocks = _blocks(tree)
        if blocks:
            result.append(Declaration(_theorem(source, tree, span, keyword, blocks), blocks, span))
    return result


def declared(source: LeanSource, trees: Sequence[Info]) -> list[Declared]:
    """All named declarations of a file."""
    result = []
    for tree, span, keyword in _commands(source, trees):
        name, place = _name(source, tree, keyword.end())
        if place is not None:
            start = source.position(keyword.start())
            code = source.slice(Span(start, span.end))
            result.append(Declared(name, keyword.group(1), code, start, span.end, place.start, place.end))
    return result


def _commands(source: LeanSource, trees: Sequence[Info]) -> Iterator[tuple[Info, Span, re.Match[str]]]:
    """The trees of declarations, with their spans and keywords."""
    code = lex(source.text).code
    code += source.text[len(code) :]
    for tree in trees:
        if tree.command is not None:
            keyword = _KEYWORD.search(code, source.offset(tree.command.start), source.offset(tree.command.end))
            if keyword is not None:
                yield tree, tree.command, keyword


def _blocks(tree: Info) -> tuple[TacticInfo, ...]:
    """The outermost `by` blocks, each once. If Lean elaborated one several times, the last elaboration counts."""
    blocks: dict[Span, TacticInfo] = {}
    stack = [tree]
    while stack:
        node = stack.pop()
        info = node.tactic
        if info is None:
            stack.extend(reversed(node.children))
        elif info.kind == "Term.byTactic" and not info.synthetic and info.before:
            blocks[info.span] = info
    return tuple(blocks[span] for span in sorted(blocks, key=lambda span: span.start))


def _theorem(
    source: LeanSource, tree: Info, span: Span, keyword: re.Match[str], blocks: Sequence[TacticInfo]
) -> TracedTheorem:
    name, place = _name(source, tree, keyword.end())
    statement = source.text[keyword.start() : source.offset(blocks[0].span.start)].strip()
    return TracedTheorem(
        name=name,
        kind=keyword.group(1),
        statement=statement.removesuffix(":=").rstrip(),
        start=source.position(keyword.start()),
        end=span.end,
        name_start=None if place is None else place.start,
        name_end=None if place is None else place.end,
        context=tuple(source.context(span.start)),
        context_digest=digest_of(source.text[: source.offset(span.start)]),
        context_end=source.offset(span.start),
    )


def _name(source: LeanSource, tree: Info, keyword_end: int) -> tuple[str, Span | None]:
    """The full name of a command's declaration, and its span; empty and None if it has no name."""
    begin = keyword_end + len(source.text[keyword_end:]) - len(source.text[keyword_end:].lstrip())
    place: Position = source.position(begin)
    longest: tuple[str, Span | None] = ("", None)
    for node in tree.walk():
        name = node.name
        # Two binders have this position: the constant, and a local variable for it whose name lacks the namespace.
        if name is not None and name.binder and name.span.start == place and len(name.name) > len(longest[0]):
            longest = (name.name, name.span)
    return longest


def wrong(theorem: TracedTheorem, messages: Sequence[FileMessage]) -> str:
    """Why a declaration is skipped; empty if it is not."""
    errors = [message.data for message in messages if message.severity == "error"]
    if errors:
        return errors[0]
    if any(message.severity == "warning" and "declaration uses" in message.data for message in messages):
        return "it uses `sorry`"
    return ""


def traced_block(source: LeanSource, info: TacticInfo, names: Mapping[Span, str], style: Style) -> TracedBlock:
    """A block with its tactics as written, and its tree in a style, or the reason why it has no tree."""
    tactics = tuple(_tactics(source, info, names))
    try:
        block_steps = tuple(steps(Splitter(source, names, style).block(info)))
    except Unsupported as error:
        return TracedBlock(info.span.start, info.span.end, tactics, problem=str(error))
    return TracedBlock(info.span.start, info.span.end, tactics, block_steps)


def _tactics(source: LeanSource, block: TacticInfo, names: Mapping[Span, str]) -> list[TracedTactic]:
    """Every tactic in a sequence that changes the state, both composed tactics and their parts.

    LeanDojo selects the same ones: nodes whose parent is a tactic sequence.
    """
    tactics: dict[tuple[Span, tuple[str, ...]], TracedTactic] = {}
    stack = [(part, block) for part in reversed(block.parts)]
    while stack:
        info, parent = stack.pop()
        stack.extend((part, info) for part in reversed(info.parts))
        is_tactic = not info.synthetic and info.kind and not info.kind.startswith('"')
        if parent.kind in _SEQUENCES and is_tactic and info.before and info.before != info.after:
            tactics[info.span, info.before] = TracedTactic(
                source.tactic(info.span),
                info.span.start,
                info.span.end,
                info.before,
                info.after,
                premises(info, names),
            )
    return sorted(tactics.values(), key=lambda tactic: (tactic.start, (-tactic.end[0], -tactic.end[1])))
