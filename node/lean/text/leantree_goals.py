"""Converts goals between LeanTree's JSON and Lean's printed text. Pure.

LeanTree has one entry for each hypothesis (`user_name`, `type`, and `value` for a `let`). Lean prints consecutive
hypotheses of the same type on one line (`p q : Prop`). Converting to JSON and back gives Lean's text again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from node.lean.text.goals import goal_tag, split_goals, without_tag
from node.lean.text.lexing import outside_brackets

TURNSTILE = "⊢ "
"""The start of the conclusion, in the first column."""

_HYPOTHESIS = re.compile(r"((?:«[^»]*»|[^\s:«»]+)(?: (?:«[^»]*»|[^\s:«»]+))*) : (.*)", re.DOTALL)
_CONTINUED = re.compile(r"\n[ \t]+")
_BINDS = re.compile(r"\b(?:let|have|let_fun|haveI|letI)\b")


class LeanTreeHypothesis(msgspec.Struct, frozen=True, omit_defaults=True):
    """One hypothesis of the local context."""

    type: str
    user_name: str
    value: str | None = None
    """Its value, if it is a `let`."""


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
    """Parse one printed goal. A line that is not a hypothesis becomes one without a name, so that no text is lost."""
    context, _, conclusion = _CONTINUED.sub(" ", f"\n{without_tag(text)}").rpartition(f"\n{TURNSTILE}")
    hypotheses = [item for line in context.split("\n") if line.strip() for item in _hypotheses(line)]
    return LeanTreeGoal(conclusion.strip(), tuple(hypotheses), goal_tag(text))


def to_text(goal: LeanTreeGoal) -> str:
    """The goal as Lean prints it, with its tag. Consecutive hypotheses of the same type share a line."""
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
    """Split `TYPE := VALUE` at the `:=` outside all brackets. The value is None if there is none or a `let` owns it."""
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
