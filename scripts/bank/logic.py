"""Formulas of propositional and first-order logic as immutable tuples, and their text in Lean's notation."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

Formula = tuple[Any, ...]
"""("atom", name, *terms), ("false",), ("not", A), ("and" | "or" | "imp" | "iff", A, B), ("all" | "ex", variable, A)."""

FALSE: Formula = ("false",)
SYMBOLS = {"and": ("∧", 35), "or": ("∨", 30), "imp": ("→", 25), "iff": ("↔", 20)}
"""Symbols and binding powers, as in Lean. ∧, ∨ and → are right-associative, ↔ is not associative."""


def atom(predicate: str, *terms: str) -> Formula:
    return ("atom", predicate, *terms)


def show(formula: Formula, power: int = 0) -> str:
    """Lean text with as few brackets as Lean prints. Bound variables have no types; Lean infers them."""
    head = formula[0]
    if head == "atom":
        return " ".join(formula[1:])
    if head == "false":
        return "False"
    if head == "not":
        return f"¬{show(formula[1], 41)}"
    if head in ("all", "ex"):
        names, body = [formula[1]], formula[2]
        while body[0] == head:
            names.append(body[1])
            body = body[2]
        return _bracket(f"{'∀' if head == 'all' else '∃'} {' '.join(names)}, {show(body)}", power > 0)
    symbol, own = SYMBOLS[head]
    left, right = show(formula[1], own + 1), show(formula[2], own + 1 if head == "iff" else own)
    return _bracket(f"{left} {symbol} {right}", power > own)


def _bracket(text: str, needed: bool) -> str:
    return f"({text})" if needed else text


def substitute(formula: Formula, name: str, term: str) -> Formula:
    """Replace a free variable by a term. All bound names are different, so there is no variable capture."""
    head = formula[0]
    if head == "atom":
        return ("atom", formula[1], *(term if part == name else part for part in formula[2:]))
    if head == "false":
        return formula
    if head in ("all", "ex"):
        return formula if formula[1] == name else (head, formula[1], substitute(formula[2], name, term))
    return (head, *(substitute(part, name, term) for part in formula[1:]))


def canonical(formula: Formula, bound: tuple[str, ...] = ()) -> Formula:
    """The formula with numbered bound variables. Formulas that differ only in bound names give equal results."""
    head = formula[0]
    if head == "atom":
        return ("atom", formula[1], *(f"#{bound.index(part)}" if part in bound else part for part in formula[2:]))
    if head == "false":
        return formula
    if head in ("all", "ex"):
        return (head, "", canonical(formula[2], (formula[1], *bound)))
    return (head, *(canonical(part, bound) for part in formula[1:]))


def free_terms(formula: Formula, bound: frozenset[str] = frozenset()) -> set[str]:
    """The free term variables of a formula."""
    head = formula[0]
    if head == "atom":
        return {part for part in formula[2:] if part not in bound}
    if head in ("all", "ex"):
        return free_terms(formula[2], bound | {formula[1]})
    return {name for part in formula[1:] for name in free_terms(part, bound)}


def atoms(formula: Formula) -> set[Formula]:
    """The atomic subformulas of a formula."""
    if formula[0] == "atom":
        return {formula}
    return {atomic for part in formula[1:] if isinstance(part, tuple) for atomic in atoms(part)}


def evaluate(formula: Formula, model: dict[Formula, bool]) -> bool:
    """The truth value of a propositional formula in a model."""
    head = formula[0]
    if head == "atom":
        return model[formula]
    if head == "false":
        return False
    values = [evaluate(part, model) for part in formula[1:]]
    if head == "not":
        return not values[0]
    return {
        "and": values[0] and values[-1],
        "or": values[0] or values[-1],
        "imp": not values[0] or values[-1],
        "iff": values[0] == values[-1],
    }[head]


def countermodels(hypotheses: list[Formula], goal: Formula) -> Iterator[dict[Formula, bool]]:
    """Models of the hypotheses in which the goal is false; none if the sequent is classically valid."""
    letters = sorted({letter for formula in [*hypotheses, goal] for letter in atoms(formula)})
    for values in product((False, True), repeat=len(letters)):
        model = dict(zip(letters, values, strict=True))
        if all(evaluate(formula, model) for formula in hypotheses) and not evaluate(goal, model):
            yield model
