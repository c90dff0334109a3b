"""What an answer tells about a command beside its info trees: tactics, messages, constants, proof trees. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from node.lean.adapters.repl.infotrees import PARSER, is_original, is_substantive, kinds_of_printed, printed_syntax
from node.lean.adapters.repl.prepared import Filled, Hole, Prepared, ProofState, leaves_out, wrapped
from node.lean.adapters.repl.protocol import (
    NOWHERE,
    CommandPosition,
    GoalInfo,
    ProofStatus,
    ReplMessage,
    goal_info,
    severity_name,
)
from node.lean.gaps.gap import characters, position
from node.lean.text.goals import from_text, goal_tag, split_goals
from node.lean.text.lexing import lex
from node.lean.trace.infotree import Info, Position, TacticInfo, nearest
from node.lean.trace.records import TracedBlock, TracedStep, TracedTheorem
from node.lean.worker.process import Diagnostic
from node.lean.worker.reading import PARSER_MESSAGE

# --- the tactics of a command, and the root goals of its proofs -------------------------------------------------------

_SEQUENCES = tuple(f"{PARSER}Tactic.tacticSeq{name}" for name in ("1Indented", "Bracketed"))
_BY = f"{PARSER}Term.byTactic"


@dataclass(frozen=True)
class FoundTactic:
    """A tactic of a command: its start and end (characters of the command), the goals and the state before it."""

    start: int
    end: int
    goals: tuple[str, ...]
    state: ProofState

    def holds(self, inner: FoundTactic) -> bool:
        """True when another tactic is inside this one."""
        return self.start <= inner.start and inner.end <= self.end and self != inner


@dataclass(frozen=True)
class FoundRoot:
    """The start of a tactic block, with its goals."""

    start: int
    goals: tuple[str, ...]
    state: ProofState


def tactics(trees: Sequence[Info], prepared: Prepared, before: str) -> list[FoundTactic]:
    """The tactics in a command's source, in the order of their elaboration, without syntax that only groups tactics.
    `before`: the environment's text.

    The state before a tactic has all goals that are open there. The state's text leaves out the tactic and the rest of
    its block, because the client will write these again.
    """
    found_tactics: list[FoundTactic] = []
    walked = [item for tree in trees for item in _with_ancestors(tree)]
    chosen = [item for item in walked if is_original(item[0]) and is_substantive(item[0])]
    places = Counter(tactic.span for info, _ in chosen if (tactic := info.tactic) is not None)
    for info, ancestors in chosen:
        tactic = info.tactic
        offsets = None if tactic is None else prepared.offsets(tactic.span)
        if tactic is None or offsets is None:
            continue
        start, end = offsets
        hole = None
        if places[tactic.span] == 1:
            hole = Hole(before + prepared.code[:start], prepared.code[_end(ancestors, end, prepared) :], True, True)
        sorry = leaves_out(prepared.code[_begin(ancestors, start, prepared) : start])
        state = ProofState(hole, goals=tactic.before, sorry=sorry, closed=_closed(tactic, ancestors))
        found_tactics.append(FoundTactic(start, end, tactic.before, state))
    return found_tactics


def roots(trees: Sequence[Info], prepared: Prepared, before: str) -> list[FoundRoot]:
    """The outermost tactic blocks of a command."""
    found_roots = []
    for tree in trees:
        for tactic in nearest(tree):
            offsets = prepared.offsets(tactic.span)
            if offsets is None:
                continue
            hole = None
            if is_original(tactic.node):
                block = kinds_of_printed(printed_syntax(tactic.node))[0] == _BY
                hole = Hole(before + prepared.code[: offsets[0]], prepared.code[offsets[1] :], not block, not block)
            closed = "" if len(tactic.before) == 1 else ProofStatus.MANY_ROOTS
            state = ProofState(hole, goals=tactic.before, closed=closed)
            found_roots.append(FoundRoot(offsets[0], tactic.before, state))
    return found_roots


def _with_ancestors(tree: Info) -> Iterator[tuple[Info, tuple[TacticInfo, ...]]]:
    """The tactic nodes, each with the tactic nodes that enclose it, the nearest first."""
    todo: list[tuple[Info, tuple[TacticInfo, ...]]] = [(tree, ())]
    while todo:
        info, ancestors = todo.pop()
        if info.tactic is not None:
            yield info, ancestors
            ancestors = (info.tactic, *ancestors)
        todo += [(child, ancestors) for child in reversed(info.children)]


def _end(ancestors: Sequence[TacticInfo], end: int, prepared: Prepared) -> int:
    """The end of the tactic's sequence; the end of the tactic if it is a part of another tactic."""
    if ancestors and kinds_of_printed(printed_syntax(ancestors[0].node))[0] in _SEQUENCES:
        offsets = prepared.offsets(ancestors[0].span)
        return end if offsets is None else max(end, offsets[1])
    return end


def _begin(ancestors: Sequence[TacticInfo], start: int, prepared: Prepared) -> int:
    """The start of the tactic's block."""
    offsets = prepared.offsets(ancestors[-1].span) if ancestors else None
    return start if offsets is None else min(start, offsets[0])


def _closed(tactic: TacticInfo, ancestors: Sequence[TacticInfo]) -> str:
    """The status after the goals are proved. As in the REPL, it is the status of the whole block."""
    if not ancestors:
        return ""
    if len(ancestors[-1].before) != 1:
        return ProofStatus.MANY_ROOTS
    around = [item for item in ancestors if is_substantive(item.node) or len(item.before) > len(tactic.before)]
    if any(len(item.before) > len(tactic.before) or item.after for item in around):
        return ProofStatus.HAS_METAVARIABLES
    return ""


# --- Lean's messages as the REPL's: those of a command have positions, those of a tactic do not -----------------------

_METAVARIABLES = re.compile(
    r"\(kernel\) declaration has metavariables|don't know how to synthesize|contains metavariable"
)
_KERNEL = re.compile(r"\(kernel\) |fail to show termination|failed to infer structural recursion")

_TRACE_MESSAGE = re.compile(r"^\[[\w.]+\] ?", re.MULTILINE)
"""Start of a trace message of Lean: its class. The following lines of the trace are indented."""

_TRACERS = {"trace", "trace_state", "dbg_trace"}
"""Tactics whose messages are traces without a class. The position of such a message is the tactic's first word."""


_INFORMATION = 3
"""The severity of a message that is neither an error nor a warning."""


@dataclass
class TacticMessages:
    """The messages and traces of a tactic."""

    messages: list[ReplMessage] = field(default_factory=list)
    traces: list[str] = field(default_factory=list)


def messages_of_command(diagnostics: Sequence[Diagnostic], prepared: Prepared) -> list[ReplMessage]:
    """The messages of a command, with their positions in it."""
    command_messages = []
    for item in diagnostics:
        whole = item.full_range or item.range
        start = prepared.place(whole.start)
        if start is not None:
            end = prepared.place(whole.end) or prepared.place_of(len(prepared.code))
            command_messages.append(ReplMessage(severity_name(item), item.message, start, end))
    return command_messages


def messages_in_tactic(diagnostics: Sequence[Diagnostic], filled: Filled) -> TacticMessages:
    """The messages and traces of a tactic, without positions, as in the REPL."""
    inside = TacticMessages()
    lines = filled.text.split("\n")
    for item in diagnostics:
        if not is_inside(item, filled):
            continue
        if item.severity >= _INFORMATION and (traces := _traces(item, lines)):
            inside.traces += traces
        else:
            inside.messages.append(ReplMessage(severity_name(item), item.message, end_pos=NOWHERE))
    return inside


def is_inside(item: Diagnostic, filled: Filled) -> bool:
    """True for a message about the tactic. False for one about the text around it, which may be in the same line."""
    start, begin = (item.full_range or item.range).start, position(filled.text, filled.start)
    return (begin.line, begin.character) <= (start.line, start.character) < (filled.sentinel.line, 0)


def proof_status(diagnostics: Sequence[Diagnostic], filled: Filled, sorry: bool) -> str:
    """The status of a proof without goals, from Lean's messages about the whole proof."""
    if sorry:
        return ProofStatus.HAS_SORRY
    for item in diagnostics:
        if item.is_error and _METAVARIABLES.search(item.message):
            return ProofStatus.HAS_METAVARIABLES
        if item.is_error and _KERNEL.search(item.message):
            return f"Error: kernel type check failed: {item.message}"
    return ProofStatus.COMPLETED


def tactic_failure(diagnostics: Sequence[Diagnostic], filled: Filled) -> str:
    """The error because of which Lean did not reach the end of a tactic."""
    inside = [item for item in diagnostics if item.is_error and is_inside(item, filled)]
    for item in inside:
        if PARSER_MESSAGE.match(item.message):
            line = item.range.start.line - filled.first + 1
            return f"<input>:{line}:{_column(item, filled)}: {item.message}"
    errors = inside or [item for item in diagnostics if item.is_error]
    return errors[0].message if errors else "Lean did not reach the end of the tactic"


def _column(item: Diagnostic, filled: Filled) -> int:
    """The column of a message in the tactic's text."""
    line = filled.text.split("\n")[item.range.start.line]
    return max(0, characters(line, item.range.start.character) - filled.indent)


def _traces(item: Diagnostic, lines: Sequence[str]) -> list[str]:
    """The traces in a message; empty if it is not a trace message."""
    text = item.message.strip()
    starts = [match.start() for match in _TRACE_MESSAGE.finditer(text)]
    if starts and starts[0] == 0:
        return [text[start:end].strip() for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    start, line = item.range.start, lines[item.range.start.line]
    word = re.match(r"\w*", line[characters(line, start.character) :])
    return [text] if word is not None and word.group() in _TRACERS else []


# --- constants in a tactic's proof term: Lean prints the term ---------------------------------------------------------
# In a second document each tactic runs on the first half of `let TERM := ?x; ?y`. The goal `?y` then shows the tactic's
# proof term as the value of TERM, printed with `pp.all`. Nested tactics are in different documents, one for each depth.

_VALUE, _TERM, _WORK, _SHOW = (f"«proofmesh-{name}»" for name in ("value", "term", "work", "show"))

SHOW_ALL = (
    f"def {_VALUE} {{p : Sort _}} (_ a : p) : p := a",
    *(f"set_option pp.{name} true" for name in ("all", "proofs", "deepTerms")),
    "set_option pp.maxSteps 10000000",
)
"""Lines before the command in these documents."""

_CONSTANT = r"(?:(?:[^\W\d]|«[^»]*»)(?:[\w'!?✝]|«[^»]*»)*)"
_TOKEN = re.compile(rf"(?<![\w'.?»✝])@?({_CONSTANT}(?:\.{_CONSTANT})*)(\.\{{)?")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_BINDERS = re.compile(
    rf"[(\[{{⦃]({_CONSTANT}(?: {_CONSTANT})*) : |\b(?:let|have|fun) ({_CONSTANT}(?: {_CONSTANT})*) (?::|=>)"
)
_LEVELS = re.compile(r"\.\{[^}]*\}")
_UNIVERSE = re.compile(r"\b(Sort|Type) (?:\([^)]*\)|[^\W\d][\w'.]*)")
_HOLE = re.compile(rf"\?{_CONSTANT}(?:\.(?:{_CONSTANT}|\d+))*")
_WORDS = {
    *("fun", "let", "have", "Type", "Sort", "Prop", "nat_lit", "match", "with", "if", "then", "else", "by", "in"),
    *("show", "from", "λ", "Π", "_"),
}
"""Words of Lean's notation, which are not constants."""


def constant_documents(code: str, tactics: Sequence[FoundTactic]) -> Iterator[tuple[str, list[int]]]:
    """The documents that show the terms of a command's tactics, each with the numbers of its tactics.

    No document shows a tactic that runs for several goals.
    """
    shown = [number for number, tactic in enumerate(tactics) if tactic.state.hole is not None]
    depths = {number: sum(tactics[outer].holds(tactics[number]) for outer in shown) for number in shown}
    for depth in sorted({*depths.values()}):
        numbers = [number for number in shown if depths[number] == depth]
        yield _document(code, [(number, tactics[number]) for number in numbers]), numbers


def used_constants(diagnostics: Sequence[Diagnostic], number: int) -> list[str]:
    """The sorted constants in the proof term of the tactic with this number. Empty if Lean did not print the term."""
    for item in diagnostics:
        for goal in split_goals(item.message):
            if goal_tag(goal) != _numbered(_SHOW, number):
                continue
            hypotheses = from_text(goal).hypotheses
            local = {hypothesis.user_name for hypothesis in hypotheses}
            shown = [item.value for item in hypotheses if item.user_name == _numbered(_TERM, number)]
            return sorted(named_constants(shown[0] or "", local)) if shown else []
    return []


def named_constants(term: str, local: set[str]) -> set[str]:
    """The constants in a term that Lean printed with `pp.all`. `local`: the names of its hypotheses."""
    text = _UNIVERSE.sub("", _HOLE.sub(" ", _STRING.sub('""', term)))
    bound = {name for groups in _BINDERS.findall(text) for group in groups for name in group.split()}
    constants = set()
    for match in _TOKEN.finditer(_LEVELS.sub(".{", text)):
        name = match.group(1)
        # A name with universe levels is a constant, even if a variable has the same name.
        if match.group(2) or not (name in local or name in bound or name in _WORDS or "✝" in name):
            constants.add(name)
    return constants


def _document(code: str, tactics: Sequence[tuple[int, FoundTactic]]) -> str:
    text = ""
    copied = 0
    for number, tactic in sorted(tactics, key=lambda item: item[1].start):
        if tactic.start < copied:  # it overlaps the last one, because a macro has moved it
            continue
        text += code[copied : tactic.start] + "("
        column = len(text) - (text.rfind("\n") + 1)
        text += ("\n" + " " * column).join([*_constant_lines(code, number, tactic)]) + ")"
        copied = tactic.end
    return text + code[copied:]


def _constant_lines(code: str, number: int, tactic: FoundTactic) -> Iterator[str]:
    term, work, show = (_numbered(name, number) for name in (_TERM, _WORK, _SHOW))
    yield f"refine let {term} := ?{work}; {_VALUE} {term} ?{show}"
    column = tactic.start - (code.rfind("\n", 0, tactic.start) + 1)
    first, *others = code[tactic.start : tactic.end].split("\n")
    yield from wrapped("\n".join([first, *(line[min(column, len(line) - len(line.lstrip())) :] for line in others)]))
    yield "trace_state"
    yield f"case {show} => exact {term}"


def _numbered(name: str, number: int) -> str:
    return f"{name[:-1]}-{number}»"


# --- proof trees of LeanTree's REPL: an edge for each step of a tactic on a goal --------------------------------------
# LeanTree builds its trees from these edges and replays them. If it cannot replay an edge, it records an error. The
# steps are those of a trace, which are atomic if Lean accepts the split proof. LeanTree would split them again by their
# positions. So one step of a block has the position of the whole block, and the others have none, which makes LeanTree
# use their texts unchanged.

_WITH = re.compile(r"(?:cases|induction)\b.*\bwith\b", re.DOTALL)


class ProofTreeEdge(msgspec.Struct, rename="camel"):
    """A tactic on a goal, and the goals that it leaves."""

    tactic_string: str
    goal_before: GoalInfo
    goals_after: list[GoalInfo]
    start: CommandPosition | None
    finish: CommandPosition | None
    spawned_goals: list[GoalInfo] = []
    mctx_before: Any = None
    mctx_after: Any = None
    tactic_depends_on: list[str] = []
    info_tree: Any = None


def proof_tree_edges(theorem: TracedTheorem, code: str, line: int) -> list[ProofTreeEdge]:
    """The edges of a theorem's blocks, block by block; empty if one of the blocks has no tree.

    `code`: the command with the theorem. `line`: number of lines of the traced text before the command.
    """
    if theorem.error or any(block.problem or not block.steps for block in theorem.blocks):
        return []
    tree_edges: list[ProofTreeEdge] = []
    for number, block in enumerate(theorem.blocks):
        start = offset(code, block.start, line) + len("by")
        inside = lex(code[start:]).code  # comments are blank there
        start += len(inside) - len(inside.lstrip())
        finish = CommandPosition(block.end[0] - line, block.end[1])
        tree_edges += _edge_block(block, f"_proofmesh.{theorem.start[0]}.{number}", _edge_place(code, start), finish)
    return tree_edges


def offset(code: str, place: Position, line: int) -> int:
    """The character of the command at a position of a text; -1 if the position is before the command.

    `line`: number of lines of the text before the command.
    """
    row = place[0] - line - 1
    return -1 if row < 0 else sum(len(text) + 1 for text in code.split("\n")[:row]) + place[1]


def _edge_place(code: str, at: int) -> CommandPosition:
    return CommandPosition(code.count("\n", 0, at) + 1, at - (code.rfind("\n", 0, at) + 1))


def _edge_block(
    block: TracedBlock, name: str, start: CommandPosition, finish: CommandPosition
) -> Iterator[ProofTreeEdge]:
    counter = 0

    def fresh(goal: str) -> GoalInfo:
        nonlocal counter
        counter += 1
        return goal_info(goal, f"{name}.{counter}")

    goals_after: list[list[GoalInfo]] = []
    """The goals after each step."""
    placed = next((step for step in block.steps if _may_have_a_place(step)), block.steps[-1])
    for step in block.steps:
        before = _goals_before(step, block.steps, goals_after) or [fresh(goal) for goal in step.goals]
        unchanged = _unchanged(step)
        new_goals = [fresh(goal) for goal in step.after[: len(step.after) - unchanged]]
        goals_after.append([*new_goals, *before[len(before) - unchanged :]])
        place = (start, finish) if step is placed else (None, None)
        yield ProofTreeEdge(step.tactic, before[0], new_goals, *place)


def _goals_before(
    step: TracedStep, steps: Sequence[TracedStep], goals_after: Sequence[Sequence[GoalInfo]]
) -> list[GoalInfo]:
    """The goals before a step, which its parent step has left; empty for the first step."""
    if step.parent < 0:
        return []
    return [goals_after[step.parent][index] for index in steps[step.parent].layout[step.branch]]


def _may_have_a_place(step: TracedStep) -> bool:
    """True when LeanTree does not change a step with a position: it splits `with`, and orders goals by positions."""
    return len(step.goals) == 1 and not _WITH.match(step.tactic)


def _unchanged(step: TracedStep) -> int:
    """The number of goals, after the first, that a step does not change. They come after the goals that it makes."""
    count = 0
    side_goals = step.goals[1:]
    while count < min(len(side_goals), len(step.after)) and side_goals[-1 - count] == step.after[-1 - count]:
        count += 1
    return count
