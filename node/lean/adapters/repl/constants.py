"""Finds the constants in a tactic's proof term, by making Lean print the term. Pure.

In a second document each tactic runs on the first half of `let TERM := ?x; ?y`. The goal `?y` then shows the tactic's
proof term as the value of TERM, printed with `pp.all`. Nested tactics are in different documents, one for each depth.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from node.lean.adapters.repl.holes import wrapped
from node.lean.adapters.repl.tactics import FoundTactic
from node.lean.text.goals import from_text, goal_tag, split_goals
from node.lean.worker.process import Diagnostic

_VALUE, _TERM, _WORK, _SHOW = (f"«proofmesh-{name}»" for name in ("value", "term", "work", "show"))

SHOW_ALL = (
    f"def {_VALUE} {{p : Sort _}} (_ a : p) : p := a",
    *(f"set_option pp.{name} true" for name in ("all", "proofs", "deepTerms")),
    "set_option pp.maxSteps 10000000",
)
"""Lines before the command in these documents."""

_NAME = r"(?:(?:[^\W\d]|«[^»]*»)(?:[\w'!?✝]|«[^»]*»)*)"
_TOKEN = re.compile(rf"(?<![\w'.?»✝])@?({_NAME}(?:\.{_NAME})*)(\.\{{)?")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_BINDERS = re.compile(rf"[(\[{{⦃]({_NAME}(?: {_NAME})*) : |\b(?:let|have|fun) ({_NAME}(?: {_NAME})*) (?::|=>)")
_LEVELS = re.compile(r"\.\{[^}]*\}")
_UNIVERSE = re.compile(r"\b(Sort|Type) (?:\([^)]*\)|[^\W\d][\w'.]*)")
_HOLE = re.compile(rf"\?{_NAME}(?:\.(?:{_NAME}|\d+))*")
_WORDS = {
    *("fun", "let", "have", "Type", "Sort", "Prop", "nat_lit", "match", "with", "if", "then", "else", "by", "in"),
    *("show", "from", "λ", "Π", "_"),
}
"""Words of Lean's notation, which are not constants."""


def documents(code: str, tactics: Sequence[FoundTactic]) -> Iterator[tuple[str, list[int]]]:
    """The documents that show the terms of a command's tactics, each with the numbers of its tactics.

    No document shows a tactic that runs for several goals.
    """
    shown = [number for number, tactic in enumerate(tactics) if tactic.state.hole is not None]
    depths = {number: sum(tactics[outer].holds(tactics[number]) for outer in shown) for number in shown}
    for depth in sorted({*depths.values()}):
        numbers = [number for number in shown if depths[number] == depth]
        yield _document(code, [(number, tactics[number]) for number in numbers]), numbers


def used(diagnostics: Sequence[Diagnostic], number: int) -> list[str]:
    """The sorted constants in the proof term of the tactic with this number. Empty if Lean did not print the term."""
    for item in diagnostics:
        for goal in split_goals(item.message):
            if goal_tag(goal) != _numbered(_SHOW, number):
                continue
            hypotheses = from_text(goal).hypotheses
            local = {hypothesis.user_name for hypothesis in hypotheses}
            shown = [item.value for item in hypotheses if item.user_name == _numbered(_TERM, number)]
            return sorted(names(shown[0] or "", local)) if shown else []
    return []


def names(term: str, local: set[str]) -> set[str]:
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
        text += ("\n" + " " * column).join([*_lines(code, number, tactic)]) + ")"
        copied = tactic.end
    return text + code[copied:]


def _lines(code: str, number: int, tactic: FoundTactic) -> Iterator[str]:
    term, work, show = (_numbered(name, number) for name in (_TERM, _WORK, _SHOW))
    yield f"refine let {term} := ?{work}; {_VALUE} {term} ?{show}"
    column = tactic.start - (code.rfind("\n", 0, tactic.start) + 1)
    first, *others = code[tactic.start : tactic.end].split("\n")
    yield from wrapped("\n".join([first, *(line[min(column, len(line) - len(line.lstrip())) :] for line in others)]))
    yield "trace_state"
    yield f"case {show} => exact {term}"


def _numbered(name: str, number: int) -> str:
    return f"{name[:-1]}-{number}»"
