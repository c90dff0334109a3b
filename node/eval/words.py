"""Budgets and library of a plan in words."""

from __future__ import annotations

from common.output.words import number_of
from node.eval.plan import Budgets, Plan


def budgets_in_words(budgets: Budgets) -> str:
    """The budgets in words, such as `512 simulations, 100 s`."""
    parts = [
        (budgets.simulations, number_of(budgets.simulations, "simulation")),
        (budgets.lean_attempts, number_of(budgets.lean_attempts, "Lean attempt")),
        (budgets.seconds, f"{budgets.seconds:g} s"),
    ]
    return ", ".join(text for limit, text in parts if limit) or "no limit"


def library_in_words(plan: Plan) -> str:
    """The short commits of the project and its packages; without commits the project's name."""
    packages = ", ".join(f"{name} {commit[:12]}" for name, commit in sorted(plan.lean.library.items()))
    return packages or plan.lean.name or "none"
