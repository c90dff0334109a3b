"""Finds the tactics of a command and the root goals of its proofs, in its info trees. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from node.lean.adapters.repl import syntax
from node.lean.adapters.repl.holes import Hole, leaves_out
from node.lean.adapters.repl.infotrees import is_original, is_substantive, printed_syntax
from node.lean.adapters.repl.prepared import Prepared
from node.lean.adapters.repl.protocol import ProofStatus
from node.lean.adapters.repl.states import ProofState
from node.lean.trace.infotree import Info, TacticInfo, nearest

_SEQUENCES = tuple(f"{syntax.PARSER}Tactic.tacticSeq{name}" for name in ("1Indented", "Bracketed"))
_BY = f"{syntax.PARSER}Term.byTactic"


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
                block = syntax.of_printed(printed_syntax(tactic.node))[0] == _BY
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
    if ancestors and syntax.of_printed(printed_syntax(ancestors[0].node))[0] in _SEQUENCES:
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
