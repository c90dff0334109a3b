"""Parses goals as Lean prints them, and factorises them into independent branches.

Lean prints a goal as an optional line `case TAG`, its hypotheses, and `⊢ CONCLUSION`. Blank lines separate goals. A
metavariable prints as `?name` (or `?m.123`). A goal's tag is the name of the goal's own metavariable: after
`constructor` on `∃ n, P n`, the goals `case h ⊢ P ?w` and `case w ⊢ Nat` share `?w`. So factorising uses the tags.
Afterwards they are dropped: tags depend on how a state was reached, and equal states must have equal texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from common.lean import Branch
from node.lean.text.lexing import outside_brackets

_TAG_LINE = re.compile(r"case ([^\s:]+)\n")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')

_METAVARIABLE = re.compile(
    r"(?<![\w'!?.✝\])⟩»])\?"
    r"((?:m|u|_uniq)\.\d+|(?:[^\W\d]|«[^»]*»)(?:[\w'.!✝⁻⁰¹²³⁴-⁹]|«[^»]*»)*)"
)
"""A question mark that is not the end of an identifier (`get?`) or of an index (`xs[i]?`), with the name behind it."""

_SHADOW = re.compile(r"✝[⁻⁰¹²³⁴-⁹]*")
"""Lean's mark on inaccessible names. The metavariable `?w✝` is the goal with the tag `w`."""

_WRAPPED = re.compile(r"\n[ \t]+")
"""A line break that Lean inserted into a long line. Hypotheses and the conclusion begin in the first column."""

ELIDED = "⋯"
"""Lean prints this in place of a proof or of a term that is too deep. It may hide a metavariable."""


def split_goals(text: str) -> list[str]:
    """Split Lean's printed goals, tags included. `no goals` and the empty text have none."""
    text = text.removeprefix("unsolved goals").strip()
    if text in ("", "no goals"):
        return []
    return [goal.strip("\n") for goal in re.split(r"\n[ \t]*\n", text) if goal.strip()]


def goal_tag(goal: str) -> str | None:
    """The case tag of a printed goal; None if it has none."""
    match = _TAG_LINE.match(goal)
    return match.group(1) if match else None


def without_tag(goal: str) -> str:
    """A printed goal without its `case TAG` line."""
    return _TAG_LINE.sub("", goal, count=1) if _TAG_LINE.match(goal) else goal


def metavariables(goal: str) -> frozenset[str]:
    """Names (`?w`) of the metavariables in a printed goal, without its tag line and strings."""
    return frozenset(f"?{_name(match)}" for match in _METAVARIABLE.finditer(_STRING.sub('""', without_tag(goal))))


def normalise(state: str) -> str:
    """The text of a state without line breaks, its metavariables renamed `?m.1`, `?m.2`, ... in order of appearance.

    Lean's own names depend on case tags and on a counter, so they differ between two ways to reach the same state. The
    lengths of names also change where Lean breaks long lines.
    """
    state = _WRAPPED.sub(" ", state)
    names: dict[str, str] = {}

    def rename(match: re.Match[str]) -> str:
        name = _name(match)
        full_stop = match.group(1)[len(name) :]
        return names.setdefault(name, f"?m.{len(names) + 1}") + full_stop

    return _METAVARIABLE.sub(rename, state)


def factorise(goals: Sequence[str]) -> tuple[Branch, ...]:
    """Independent branches of goals (from `split_goals`, with their tags, which name natural metavariables).

    All goals that share a metavariable with another goal form one branch, which comes last. Each remaining goal is a
    separate branch, in Lean's order. At most one branch of a layout may have several goals (`node.lean.text.script`).
    """
    shared = _joined(goals)
    branches = [_branch(goals, (index,)) for index in range(len(goals)) if index not in shared]
    if shared:
        branches.append(_branch(goals, tuple(sorted(shared))))
    return tuple(branches)


def state_text(goals: Sequence[str]) -> str:
    """The text of a state with these goals, as the policy reads it. Equal states have equal texts."""
    return normalise("\n\n".join(without_tag(goal) for goal in goals))


def may_share(state: str) -> bool:
    """True if goals printed like this may contain metavariables. Such a goal cannot be copied."""
    return bool(_METAVARIABLE.search(_STRING.sub('""', state))) or ELIDED in state


def _branch(goals: Sequence[str], indices: tuple[int, ...]) -> Branch:
    return Branch(state_text([goals[index] for index in indices]), indices)


def _joined(goals: Sequence[str]) -> set[int]:
    """Indices of the goals that share a metavariable with another goal.

    Goals with equal tags do not: `apply h` tags both premises of `h : p → q → r` with `a`, and no goal mentions `?a`.
    """
    own = [frozenset() if (tag := goal_tag(goal)) is None else frozenset({_SHADOW.sub("", tag)}) for goal in goals]
    tags = frozenset[str]().union(*own)
    mentions = [_mentions(goal, tags) for goal in goals]
    # An elided term may hide a metavariable, so goals with elided terms count as joined if there is any metavariable.
    if any(metavariables(goal) for goal in goals):
        mentions = [names | {ELIDED} if ELIDED in goal else names for goal, names in zip(goals, mentions, strict=True)]

    def share(first: int, second: int) -> bool:
        return bool(mentions[first] & (mentions[second] | own[second]) or own[first] & mentions[second])

    places = range(len(goals))
    return {first for first in places if any(share(first, second) for second in places if second != first)}


def _mentions(goal: str, tags: Iterable[str]) -> frozenset[str]:
    """Metavariables that a goal mentions, replaced by the tags of goals that they may refer to.

    `?p.fst` may be a metavariable of that name or a projection of `?p`, so it counts for every tag that it may mean.
    """
    names: set[str] = set()
    for mention in metavariables(goal):
        name = _SHADOW.sub("", mention[1:])
        owners = {tag for tag in tags if name == tag or name.startswith(tag + ".")}
        names |= owners or {name}
    return frozenset(names)


def _name(match: re.Match[str]) -> str:
    """The metavariable's name in a match, without a full stop behind it."""
    return match.group(1).rstrip(".")


# --- Converts goals between LeanTree's JSON and Lean's printed text. Pure --------------------------------------------
#
# LeanTree has one entry for each hypothesis (`user_name`, `type`, and `value` for a `let`). Lean prints consecutive
# hypotheses of the same type on one line (`p q : Prop`). Converting to JSON and back gives Lean's text again.


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
