"""Finds the constants that the text of a tactic names. Pure.

Lean prints names as they can be written in the open namespaces. With `pp.fullNames` it prints full names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from node.lean.trace.infotree import Info, Span, TacticInfo
from node.lean.trace.records import Premise

_IDENTIFIER = re.compile(r"(?:[^\W\d]|«)[\w.'!?«»₀-₉]*")
_HYPOTHESES = re.compile(r"^([^:⊢|]+?) :", re.MULTILINE)


def names(trees: Iterable[Info]) -> dict[Span, str]:
    """The name at each span of the source, without binders."""
    by_place: dict[Span, str] = {}
    for tree in trees:
        for node in tree.walk():
            name = node.name
            if name is not None and not name.binder and _IDENTIFIER.fullmatch(name.name):
                by_place[name.span] = name.name
    return by_place


def premises(info: TacticInfo, full: Mapping[Span, str], within: Span | None = None) -> tuple[Premise, ...]:
    """The constants that a tactic names, in the order of the text. `within`: only those in this part of it."""
    local = set(_local_names(info.before))
    spans = []
    for node in info.node.walk():
        if node.tactic is not None:
            local |= set(_local_names(node.tactic.before))
        elif node.name is not None and node.name.binder:
            local.add(node.name.name)
        elif node.name is not None and node.name.span in full and (within or info.span).holds(node.name.span):
            spans.append((node.name.span, node.name.name))
    names_by_span = {
        span: full[span] for span, name in spans if name.split(".")[0] not in local and full[span] not in local
    }
    return tuple(Premise(names_by_span[span], span.start, span.end) for span in sorted(names_by_span, key=_place))


def _place(span: Span) -> tuple[tuple[int, int], tuple[int, int]]:
    return span.start, span.end


def _local_names(goals: Sequence[str]) -> Iterable[str]:
    """Names of the hypotheses of goals."""
    for goal in goals:
        for group in _HYPOTHESES.findall(goal):
            yield from group.split()
