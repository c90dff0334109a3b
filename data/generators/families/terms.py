"""First-order terms with their Lean text, and a simulation of Lean's `rw` on equations between them.

`rw [h]` finds the first subterm that matches the left side of `h` (outermost first, left to right, left side of the
goal first), and replaces every occurrence of that instance. Then it tries `rfl`. Lean checks all results of the
simulation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Term = tuple[Any, ...]
"""("var", name) | ("num", n) | (operator or function name, argument, ...)."""

Equation = tuple[Term, Term]

INFIX = {
    "+": (65, 65, 66),
    "-": (65, 65, 66),
    "*": (70, 70, 71),
    "^": (75, 76, 75),
    "++": (65, 65, 66),
    "::": (67, 68, 67),
}
"""Operators with their binding powers and those of their left and right arguments, as in Lean."""

METHODS = {"List.length": "length", "List.reverse": "reverse"}
"""Functions that Lean prints after their argument, with a dot."""


def var(name: str) -> Term:
    return ("var", name)


def num(value: int) -> Term:
    return ("num", value)


def add(left: Term, right: Term) -> Term:
    return ("+", left, right)


def mul(left: Term, right: Term) -> Term:
    return ("*", left, right)


def show(term: Term, power: int = 0) -> str:
    """Lean text of a term."""
    head = term[0]
    if head in ("var", "num"):
        return str(term[1])
    if head == "nil":
        return "[]"
    if head in INFIX:
        own, left, right = INFIX[head]
        text = f"{show(term[1], left)} {head} {show(term[2], right)}"
        return f"({text})" if power > own else text
    if head in METHODS:
        return f"{show(term[1], 1024)}.{METHODS[head]}"
    text = " ".join([head, *(show(part, 1024) for part in term[1:])])
    return f"({text})" if power >= 1024 else text


def show_equation(equation: Equation) -> str:
    return f"{show(equation[0])} = {show(equation[1])}"


def parts(term: Term) -> Iterator[Term]:
    """The term and its subterms, in the order in which Lean searches for a pattern."""
    yield term
    if term[0] not in ("var", "num"):
        for part in term[1:]:
            yield from parts(part)


def variables(term: Term) -> list[str]:
    """Variable names, in the order of their first occurrence."""
    return list(dict.fromkeys(part[1] for part in parts(term) if part[0] == "var"))


def substitute(term: Term, values: dict[str, Term]) -> Term:
    """Replace variables by terms."""
    if term[0] == "var":
        return values.get(term[1], term)
    if term[0] == "num":
        return term
    return (term[0], *(substitute(part, values) for part in term[1:]))


def replace(term: Term, old: Term, new: Term) -> Term:
    """Replace every occurrence of `old` by `new`."""
    if term == old:
        return new
    if term[0] in ("var", "num"):
        return term
    return (term[0], *(replace(part, old, new) for part in term[1:]))


def match(pattern: Term, term: Term, values: dict[str, Term]) -> bool:
    """Match a pattern with open variables `?x` against a term, and add their values to `values`."""
    if pattern[0] == "var" and pattern[1].startswith("?"):
        return values.setdefault(pattern[1], term) == term
    if pattern[0] == "+" and pattern[2][0] == term[0] == "num" and term[1] >= pattern[2][1]:  # in Lean, 3 matches 2 + 1
        return match(pattern[1], ("num", term[1] - pattern[2][1]), values)
    if pattern[0] in ("var", "num") or term[0] in ("var", "num"):
        return pattern == term
    if pattern[0] != term[0] or len(pattern) != len(term):
        return False
    return all(match(left, right, values) for left, right in zip(pattern[1:], term[1:], strict=True))


@dataclass(frozen=True)
class Rule:
    """An equation to rewrite with: a lemma or a hypothesis. Its open variables `?x` are in the order of its
    arguments."""

    name: str
    left: Term
    right: Term
    arguments: tuple[str, ...] = ()

    def side(self, backwards: bool) -> tuple[Term, Term]:
        return (self.right, self.left) if backwards else (self.left, self.right)


def rule(name: str, left: Term, right: Term, *arguments: str) -> Rule:
    """A rule whose open variables are the `arguments`."""
    opened = {name: var("?" + name) for name in arguments}
    return Rule(name, substitute(left, opened), substitute(right, opened), tuple("?" + name for name in arguments))


def rewrite(
    equation: Equation, used: Rule, backwards: bool = False, values: dict[str, Term] | None = None
) -> Equation | None:
    """The equation after `rw [used]`. `values`: explicit arguments. None if `rw` would fail or change nothing."""
    pattern, result = used.side(backwards)
    if values:
        pattern, result = substitute(pattern, values), substitute(result, values)
    if pattern[0] == "var" and pattern[1].startswith("?"):
        return None
    for side in equation:
        for part in parts(side):
            bindings: dict[str, Term] = {}
            if match(pattern, part, bindings):
                new = substitute(result, bindings)
                if any(name.startswith("?") for name in variables(new)) or new == part:
                    return None
                return replace(equation[0], part, new), replace(equation[1], part, new)
    return None


def rewrite_text(used: Rule, backwards: bool = False, values: dict[str, Term] | None = None) -> str:
    """The text of a tactic such as `rw [← h a b]`."""
    text = used.name if not values else " ".join([used.name, *(show(values[name], 1024) for name in used.arguments)])
    return f"rw [{'← ' if backwards else ''}{text}]"


def instantiations(equation: Equation, used: Rule, backwards: bool) -> Iterator[dict[str, Term]]:
    """All explicit arguments with which a rule applies to a part of the equation."""
    pattern = used.side(backwards)[0]
    if pattern[0] == "var" and pattern[1].startswith("?"):
        return
    seen = []
    for side in equation:
        for part in parts(side):
            values: dict[str, Term] = {}
            if match(pattern, part, values) and set(used.arguments) <= set(values) and values not in seen:
                seen.append(values)
                yield values


def solve(
    equation: Equation,
    rules: list[Rule],
    max_steps: int,
    max_nodes: int = 1500,
    closed: Callable[[Equation], bool] = lambda equation: False,
    explicit: bool = True,
) -> list[str] | None:
    """A shortest chain of `rw` steps that closes an equation; None if there is none within the limits. `closed`:
    whether `rw`'s final `rfl` closes an equation by computation."""
    if equation[0] == equation[1]:
        return None
    frontier: list[tuple[Equation, list[str]]] = [(equation, [])]
    seen = {equation}
    for _ in range(max_steps):
        following = []
        for current, path in frontier:
            for text, new in successors(current, rules, explicit):
                if new in seen or _length(new) > 2 * _length(equation) + 12:
                    continue
                if new[0] == new[1]:
                    return [*path, text]
                if closed(new):
                    return [*path, text]
                seen.add(new)
                following.append((new, [*path, text]))
                if len(seen) > max_nodes:
                    return None
        frontier = following
    return None


def successors(equation: Equation, rules: list[Rule], explicit: bool) -> Iterator[tuple[str, Equation]]:
    """All `rw` steps: first without arguments, then with explicit arguments if the result differs."""
    bare = set()
    for used in rules:
        for backwards in (False, True):
            new = rewrite(equation, used, backwards)
            if new is not None:
                bare.add(new)
                yield rewrite_text(used, backwards), new
    if not explicit:
        return
    for used in rules:
        if not used.arguments:
            continue
        for backwards in (False, True):
            for values in instantiations(equation, used, backwards):
                new = rewrite(equation, used, backwards, values)
                if new is not None and new not in bare:
                    yield rewrite_text(used, backwards, values), new


def _length(equation: Equation) -> int:
    return sum(1 for side in equation for _ in parts(side))


def value(term: Term) -> int | None:
    """The value of a closed arithmetic term; None for other terms."""
    if term[0] == "num":
        return int(term[1])
    if term[0] not in ("+", "*", "^", "-"):
        return None
    left, right = value(term[1]), value(term[2])
    if left is None or right is None:
        return None
    return {"+": left + right, "*": left * right, "^": left**right if right < 20 else 0, "-": max(left - right, 0)}[
        term[0]
    ]
