"""Which constants a tactic's proof term uses: Lean is made to show the term. Pure.

In a second document each tactic works on one half of `let TERM := ?x; ?y`: afterwards the goal `?y` shows, as the
value of TERM, what the tactic has put for its goal, with `pp.all`. Tactics inside one another have documents of their
own, one for each depth.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from node.lean.adapters.repl.holes import wrapped
from node.lean.adapters.repl.tactics import FoundTactic
from node.lean.text.goals import goal_tag, split_goals
from node.lean.text.leantree_goals import from_text
from node.lean.worker.framing import Diagnostic

_VALUE, _TERM, _WORK, _SHOW = (f"«proofmesh-{name}»" for name in ("value", "term", "work", "show"))

SHOW_ALL = (
    f"def {_VALUE} {{p : Sort _}} (_ a : p) : p := a",
    *(f"set_option pp.{name} true" for name in ("all", "proofs", "deepTerms")),
    "set_option pp.maxSteps 10000000",
)
"""Stand before the command in these documents."""

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
"""Of Lean's notation: no constants."""


def documents(code: str, tactics: Sequence[FoundTactic]) -> Iterator[tuple[str, list[int]]]:
    """The command's text with what shows its tactics' terms, and the numbers of the tactics shown in it.

    A tactic that runs for several goals is in none of them.
    """
    shown = [number for number, tactic in enumerate(tactics) if tactic.state.hole is not None]
    depths = {number: sum(tactics[other].holds(tactics[number]) for other in shown) for number in shown}
    for depth in sorted({*depths.values()}):
        numbers = [number for number in shown if depths[number] == depth]
        yield _document(code, [(number, tactics[number]) for number in numbers]), numbers


def used(diagnostics: Sequence[Diagnostic], number: int) -> list[str]:
    """The constants in the term that a tactic, given by its number, has put for its goal; sorted. Empty where Lean has
    not come to show it."""
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
    """The constants in a term that Lean printed with `pp.all`; `local`: names of its context."""
    text = _UNIVERSE.sub("", _HOLE.sub(" ", _STRING.sub('""', term)))
    bound = {name for groups in _BINDERS.findall(text) for group in groups for name in group.split()}
    found = set()
    for match in _TOKEN.finditer(_LEVELS.sub(".{", text)):
        name = match.group(1)
        # A name with universe levels is a constant, whatever else has that name.
        if match.group(2) or not (name in local or name in bound or name in _WORDS or "✝" in name):
            found.add(name)
    return found


def _document(code: str, tactics: Sequence[tuple[int, FoundTactic]]) -> str:
    text = ""
    done = 0
    for number, tactic in sorted(tactics, key=lambda item: item[1].start):
        if tactic.start < done:  # not beside the last one after all: a macro may have moved it
            continue
        text += code[done : tactic.start] + "("
        column = len(text) - (text.rfind("\n") + 1)
        text += ("\n" + " " * column).join([*_lines(code, number, tactic)]) + ")"
        done = tactic.end
    return text + code[done:]


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
