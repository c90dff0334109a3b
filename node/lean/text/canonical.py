"""Canonical keys of proof states: equal for states that differ only in names and order of their hypotheses. Pure.

    p q : Prop                          p q : Prop
    h : p ∧ q            and            k : q ∧ p
    ⊢ q ∧ p                             ⊢ p ∧ q

say the same: the renaming p ↦ q, q ↦ p, h ↦ k turns one into the other. The key of a state is its whole text with
canonical names in a canonical order. So states with equal keys are equal after a renaming. Some equal states have
different keys: for hypotheses that look alike, their order decides.

A text that cannot be parsed with certainty has no key. These texts are: strings, names in guillemets, ranges (`a..b`,
where a name follows a dot), `n!` (a name or a factorial), a name directly after another (`a✝b`), names of fields that
are also names of hypotheses, lines that are neither hypothesis nor conclusion, and terms that Lean has elided (`⋯`).

- Inaccessible names (`h✝`) correspond only to inaccessible names, and their order counts, because `rename_i` depends on
  it. The names that shadow them have to correspond, too.
- `this` corresponds only to itself: `have` without a name introduces it, so it cannot be renamed.
- Bound names are ignored, line by line, where it is clear what they bind.
- In a state with several goals that share a metavariable, the order of all hypotheses counts.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from common.lean import Theorem
from node.lean.text.goals import ELIDED
from node.lean.text.lexing import LOCAL, NAME, SHADOWED

_UNCLEAR = re.compile(rf'{ELIDED}|"|«|\.\.|\w!|{SHADOWED}[⁰¹²³⁴-⁹]*{NAME}')
_HYPOTHESIS = re.compile(rf"^((?:{NAME}(?:{SHADOWED}[⁰¹²³⁴-⁹]*)? )+)(: .*)$", re.MULTILINE)
_BINDERS = re.compile(rf"(?:[∀∃λ] ?|\bfun )[({{]?((?:{NAME} )*{NAME})(?: :|,| =>| ↦)")
_FIELD = re.compile(rf"({NAME}) :=")

_UNTOUCHED = frozenset(("this",))

_CONTEXT = 0xE000
"""First of the characters that replace names of the context. They are in Unicode's private use area, which no Lean text
uses."""
_BOUND = 0xF000
"""First of the characters that replace bound names."""
_UNNUMBERED = "•"


@dataclass(slots=True)
class _Line:
    """A hypothesis or the conclusion. `parts`: its text, split at the names of the context, which have odd indices."""

    name: str
    """Name of the hypothesis; empty for a conclusion."""
    parts: list[str]
    mentioned: frozenset[str]


@functools.lru_cache(maxsize=1024)
def canonical(state: str) -> str | None:
    """The key that equal states share; None if the text cannot be parsed with certainty."""
    if "⊢" not in state or _UNCLEAR.search(state):
        return None
    goals = [_read(goal) for goal in state.split("\n\n")]
    lines = [line for goal in goals if goal is not None for line in goal]
    context = {line.name for line in lines if line.name}
    if None in goals or (":=" in state and not context.isdisjoint(_fields(lines))):
        return None
    if len(goals) == 1:
        return _by_use(lines) or _by_place(lines)
    return _by_place(lines)


def _fields(lines: Iterable[_Line]) -> Iterable[str]:
    """Names before a `:=`, which may be names of fields or arguments."""
    return (name for line in lines for name in _FIELD.findall("".join(line.parts)))


def _read(goal: str) -> list[_Line] | None:
    """The lines of a goal, one for each hypothesis, the conclusion last. None if there is any other line."""
    if goal.startswith("⊢ "):
        return None if "\n" in goal else [_line("", goal, frozenset())]
    head, sign, conclusion = goal.partition("\n⊢")
    if not sign or "\n" in conclusion:
        return None
    declared = _HYPOTHESIS.findall(head)
    if len(declared) != head.count("\n") + 1:
        return None
    groups = [(names.split(), text) for names, text in declared]
    context = frozenset(name for names, _ in groups for name in names) - _UNTOUCHED
    lines = []
    for names, text in groups:
        first = _line(names[0], text, context)
        lines.append(first)
        lines += [_Line(name, first.parts, first.mentioned) for name in names[1:]]
    lines.append(_line("", "⊢" + conclusion, context))
    return lines


def _line(name: str, text: str, context: frozenset[str]) -> _Line:
    """Split a text at the names of the context, and replace bound names by canonical ones. A bound name that is also a
    name of the context counts as the latter."""
    parts, binders = _cut(text)
    bound: dict[str, str] = {}
    for binder in binders:
        if binder not in context:
            bound[binder] = chr(_BOUND + len(bound))
    whole = [parts[0]]
    for word, after in zip(parts[1::2], parts[2::2], strict=True):
        if word in context:
            whole += (word, after)
        else:
            whole[-1] += bound.get(word, word) + after
    return _Line(name, whole, frozenset(whole[1::2]))


@functools.lru_cache(maxsize=4096)
def _cut(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A text split at possible names, which have odd indices, and the names that it binds. Cached, because the states
    of a search share most of their lines."""
    binders = dict.fromkeys(name for group in _BINDERS.findall(text) for name in group.split())
    return tuple(LOCAL.split(text)), tuple(binders)


class _Numbers:
    """Assigns canonical names in order of appearance."""

    def __init__(self) -> None:
        self.assigned: dict[str, str] = {name: name for name in _UNTOUCHED}

    def name(self, name: str) -> str:
        canonical_name = self.assigned.get(name)
        if canonical_name is None:
            sign = SHADOWED if SHADOWED in name else ""
            canonical_name = self.assigned[name] = chr(_CONTEXT + len(self.assigned)) + sign
        return canonical_name

    def write(self, line: _Line) -> str:
        """The line with canonical names."""
        parts = line.parts.copy()
        parts[1::2] = map(self.name, parts[1::2])
        text = "".join(parts)
        return self.name(line.name) + text if line.name else text

    def masked(self, line: _Line) -> str:
        """The line without its own name. All names without a canonical name look the same."""
        parts = line.parts.copy()
        parts[1::2] = [self.assigned.get(name, _UNNUMBERED) for name in parts[1::2]]
        return "".join(parts)


def _by_place(lines: list[_Line]) -> str:
    """The key with names numbered in the order of the text."""
    numbers = _Numbers()
    written = list(map(numbers.write, lines))
    return "\n".join((*written, _shadows(lines, numbers)))


def _shadows(lines: list[_Line], numbers: _Numbers) -> str:
    """The inaccessible names in order, each with the name that shadows it. When the shadowing name disappears, as `b`
    does after `cases b`, `b✝` is called `b` again."""
    hidden = [line.name for line in lines if SHADOWED in line.name]
    return "".join(numbers.assigned[name] + numbers.assigned.get(name.partition(SHADOWED)[0], "") for name in hidden)


def _by_use(lines: list[_Line]) -> str | None:
    """The key with names numbered in the order of use, from the conclusion upwards, so the order of hypotheses does not
    count. None if two hypotheses have the same name, or if hypotheses seem to mention each other in a circle, because a
    bound name equals the name of one of them."""
    if len({line.name for line in lines}) < len(lines):
        return None
    numbers = _Numbers()
    *waiting, conclusion = lines
    written = [numbers.write(conclusion)]
    while waiting:
        chosen = _next(waiting, numbers)
        if not chosen:
            return None
        written += map(numbers.write, chosen)
        chosen_names = {line.name for line in chosen}
        waiting = [line for line in waiting if line.name not in chosen_names]
    return "\n".join((*sorted(written), _shadows(lines, numbers)))


def _next(waiting: list[_Line], numbers: _Numbers) -> list[_Line]:
    """The next hypotheses to number, among those that no other waiting one mentions: all that mention no unnumbered
    name, or else the one that mentions the fewest. Sorted by text; ties keep the order of the state."""
    known = numbers.assigned.keys()
    needed = frozenset[str]().union(*(line.mentioned for line in waiting))
    tops = [line for line in waiting if line.name not in needed]
    ready = [line for line in tops if line.mentioned <= known]
    if len(ready) == 1:
        return ready
    if ready:
        return sorted(ready, key=lambda line: (line.name not in known, numbers.masked(line)))
    return [min(tops, key=lambda line: (len(line.mentioned - known), numbers.masked(line)))] if tops else []


# ----------------------------------------------------------------------------------------------------------------------
# Sketches: a cheap test before keys are computed.

_BITS = 48
"""Bits of a shape's hash. Sums of many such numbers fit into a machine word, where addition is fast."""


class Sketches(dict[str, int]):
    """Sketches of states: hashes that ignore the names and the order of hypotheses. A cache of numbers by line; the
    states of one search share most lines, so a sketch is cheap.

    The hash depends on how many hypotheses have which shape. The shape of a text is the text without its names,
    together with which names are equal: `p ∧ q → p` and `Odd ∧ r → Odd` have one shape. Therefore a sketch ignores
    - names: if two states have the same canonical key, the names in their lines correspond one
      to one, whether they are context names, bound names or constants;
    - order: the sketch is a sum with one number for each line;
    - how Lean groups hypotheses into lines: `a b : Nat` counts as `a : Nat` and `b : Nat`.
    States with equal sketches may still differ; their canonical keys decide.
    """

    def of(self, state: str) -> int | None:
        """The state's sketch; None if the text is not a goal. Only valid in this process: Python's string hashes
        differ between processes."""
        return sum(map(self.__getitem__, state.split("\n"))) if "⊢" in state else None

    def __missing__(self, line: str) -> int:
        number = self[line] = _weight(line)
        return number


def _weight(line: str) -> int:
    """The number that a line adds: its shape's hash times the hypotheses that it declares, or once for a conclusion."""
    head, sign, text = line.partition(": ")
    if not sign or head.startswith("⊢"):
        head, text = " ", line
    pieces = LOCAL.split(text)
    numbers: dict[str, int] = {}
    names = [numbers.setdefault(name, len(numbers)) for name in pieces[1::2]]
    return head.count(" ") * (hash((*pieces[::2], *names)) & ((1 << _BITS) - 1))


# ----------------------------------------------------------------------------------------------------------------------
# Which statements and states say the same: for the data that is kept apart from evaluations.
#
# A statement is read as its first goal: binders are hypotheses. Types of bound names are left out, because Lean prints
# them and people do not write them. So a few statements that differ have one key; that only leaves out more.

_TYPE = r"[^,(){}⦃⦄=≤<≠∣∈∧∨¬↔↦∀∃λ]*"
"""A type, and no proposition that a bound name proves."""
_TYPED = re.compile(rf"(?:([∀∃λ]) ?|\b(fun) )((?:[({{⦃](?:{NAME} )+: {_TYPE}[)}}⦄] ?)+)(?=,|=>|↦)")
_TYPED_ONCE = re.compile(rf"(?:([∀∃λ]) ?|\b(fun) )((?:{NAME} )+): {_TYPE}(?=,|=>|↦)")
_GROUP = re.compile(r"[({⦃]([^:]*):[^(){}⦃⦄]*[)}⦄]")
_SHADOWING = re.compile(rf"{SHADOWED}[⁰¹²³⁴-⁹]*")
_CLOSING = {"(": ")", "{": "}", "[": "]", "⦃": "⦄"}


class Alike:
    """A set of statements and goals, which has all that are equal to one of them up to the names and the order of
    hypotheses and the names of bound variables."""

    def __init__(self) -> None:
        self._sketches = Sketches()
        self._stated: set[tuple[object, ...]] = set()
        self._known: set[int | None] = set()
        self._keys: set[str] = set()

    def add(self, state: str) -> None:
        """Remember a goal, as Lean prints it or as `goal_of` writes it."""
        for text in _forms(state):
            self._known.add(self._sketches.of(text))
            self._keys.add(_key(text))

    def add_statement(self, theorem: Theorem) -> None:
        """Remember a statement, and its first goal."""
        self._stated.add(theorem.stated)
        if (goal := goal_of(theorem)) is not None:
            self.add(goal)

    def has_statement(self, theorem: Theorem) -> bool:
        """Whether a statement is like one of those that were added. A gap in a file is like itself alone."""
        goal = goal_of(theorem)
        return theorem.stated in self._stated or (goal is not None and goal in self)

    def __contains__(self, state: str) -> bool:
        """Whether a goal is like one of those that were added. Most are unlike all, which their sketches tell in some
        twenty microseconds."""
        return any(self._sketches.of(text) in self._known and _key(text) in self._keys for text in _forms(state))


def goal_of(theorem: Theorem) -> str | None:
    """The first goal of a theorem, in the form in which Lean prints goals. None for a gap in a file, whose goal cannot
    be read off its text, and for binders outside brackets."""
    if theorem.place is not None:
        return None
    hypotheses, rest = _binders(theorem.binders)
    return None if rest else "\n".join([*hypotheses, f"⊢ {theorem.conclusion}"])


def _binders(text: str) -> tuple[list[str], str]:
    """Binders as lines of a goal, `n : Nat` for `(n : Nat)`, and what follows them."""
    lines, depth, start = list[str](), 0, 0
    for place, character in enumerate(text):
        if character in _CLOSING:
            depth += 1
            start = place if depth == 1 else start
        elif character in _CLOSING.values():
            depth -= 1
            if depth == 0:
                inside = " ".join(text[start + 1 : place].split())
                unnamed = text[start] == "[" and " : " not in inside
                lines.append(f"inst_{len(lines)} : {inside}" if unnamed else inside)
        elif depth == 0 and not character.isspace():
            return lines, text[place:]
    return lines, ""


def _forms(state: str) -> Iterator[str]:
    """A goal as it is, and with the bound names before its conclusion introduced: `⊢ ∀ (n : Nat), P n` is also
    `n : Nat ⊢ P n`."""
    yield _plain(state)
    before, _, conclusion = state.rpartition("⊢")
    if conclusion.lstrip().startswith("∀"):
        lines, rest = _binders(conclusion.lstrip()[1:])
        if lines and rest.startswith(","):
            yield _plain("\n".join([before.strip(), *lines, f"⊢ {rest[1:]}"]))


def _plain(state: str) -> str:
    """A state with single spaces, without types of bound names, and with plain names for inaccessible ones."""
    goals = []
    for goal in state.split("\n\n"):
        lines = [" ".join(line.split()) for line in goal.split("\n")]
        goals.append("\n".join(line for line in lines if line))
    text = _SHADOWING.sub(lambda match: "'" * len(match.group()), "\n\n".join(goals))
    text = _TYPED.sub(lambda match: f"{match[1] or match[2]} {''.join(_GROUP.findall(match[3])).strip()}", text)
    return _TYPED_ONCE.sub(lambda match: f"{match[1] or match[2]} {match[3].strip()}", text)


def _key(text: str) -> str:
    """The canonical key, or the text itself where it cannot be parsed with certainty."""
    key = canonical(text)
    return key if key is not None else text
