"""Goals as LeanTree writes them in JSON, to and from goals as Lean prints them. Pure.

LeanTree gives each hypothesis an entry of its own (`user_name`, `type`, and `value` for a `let`); Lean prints
neighbours of one type on one line (`p q : Prop`). Both ways together give Lean's text again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from node.lean.text.goals import goal_tag, split_goals, without_tag
from node.lean.text.lexing import outside_brackets

TURNSTILE = "⊢ "
"""Begins the conclusion, in the first column."""

_HYPOTHESIS = re.compile(r"((?:«[^»]*»|[^\s:«»]+)(?: (?:«[^»]*»|[^\s:«»]+))*) : (.*)", re.DOTALL)
_CONTINUED = re.compile(r"\n[ \t]+")
_BINDS = re.compile(r"\b(?:let|have|let_fun|haveI|letI)\b")


class LeanTreeHypothesis(msgspec.Struct, frozen=True, omit_defaults=True):
    """One name of the local context."""

    type: str
    user_name: str
    value: str | None = None
    """What it stands for, when it is a `let`."""


class LeanTreeGoal(msgspec.Struct, frozen=True, omit_defaults=True):
    """One goal."""

    type: str
    """The conclusion."""
    hypotheses: tuple[LeanTreeHypothesis, ...]
    tag: str | None = None
    """The name behind `case`, if the goal has one."""


def from_state(state: str) -> list[LeanTreeGoal]:
    """The goals of a printed state."""
    return [from_text(goal) for goal in split_goals(state)]


def from_text(text: str) -> LeanTreeGoal:
    """One printed goal. A line that is no hypothesis becomes one without a name, so that nothing is lost."""
    context, _, conclusion = _CONTINUED.sub(" ", f"\n{without_tag(text)}").rpartition(f"\n{TURNSTILE}")
    hypotheses = [item for line in context.split("\n") if line.strip() for item in _hypotheses(line)]
    return LeanTreeGoal(conclusion.strip(), tuple(hypotheses), goal_tag(text))


def to_text(goal: LeanTreeGoal) -> str:
    """The goal as Lean prints it, with its tag; neighbours of one type stand on one line."""
    lines = [f"case {goal.tag}"] if goal.tag else []
    return "\n".join([*lines, *_lines(goal.hypotheses), TURNSTILE + goal.type])


def _hypotheses(line: str) -> Iterator[LeanTreeHypothesis]:
    match = _HYPOTHESIS.fullmatch(line)
    if match is None:
        yield LeanTreeHypothesis(line.strip(), "")
        return
    type_, value = _at_assignment(match.group(2))
    for name in re.findall(r"«[^»]*»(?:\.[^\s]+)?|[^\s«»]+", match.group(1)):
        yield LeanTreeHypothesis(type_, name, value)


def _at_assignment(text: str) -> tuple[str, str | None]:
    """`TYPE := VALUE` at the `:=` outside all brackets; no value when there is none, or when a `let` owns it."""
    position = next((at for at in outside_brackets(text) if text.startswith(" := ", at)), None)
    if position is None or _BINDS.search(text[:position]):
        return text, None
    return text[:position], text[position + 4 :]


def _lines(hypotheses: Sequence[LeanTreeHypothesis]) -> list[str]:
    lines: list[str] = []
    names: list[str] = []
    for number, item in enumerate(hypotheses):
        names.append(item.user_name)
        after = hypotheses[number + 1] if number + 1 < len(hypotheses) else None
        if after is not None and (after.type, after.value, item.value) == (item.type, None, None) and item.user_name:
            continue
        value = "" if item.value is None else f" := {item.value}"
        lines.append(f"{' '.join(names)} : {item.type}{value}" if item.user_name else item.type)
        names = []
    return lines
