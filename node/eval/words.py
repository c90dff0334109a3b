"""Parts of a plan, and numbers of things, in words."""

from __future__ import annotations

from node.eval.plan import Budgets, Plan


def budgets_in_words(budgets: Budgets) -> str:
    """`512 simulations, 100 s`."""
    parts = [
        (budgets.simulations, number_of(budgets.simulations, "simulation")),
        (budgets.lean_attempts, number_of(budgets.lean_attempts, "Lean attempt")),
        (budgets.seconds, f"{budgets.seconds:g} s"),
    ]
    return ", ".join(text for given, text in parts if given) or "no limit"


def library_in_words(plan: Plan) -> str:
    """The commits of the project and its packages, shortened; without any its name."""
    packages = ", ".join(f"{name} {commit[:12]}" for name, commit in sorted(plan.lean.library.items()))
    return packages or plan.lean.name or "none"


def number_of(count: int, thing: str) -> str:
    """`1 attempt`, `2,000 attempts`."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def printable(text: str) -> str:
    """Text of others, without what a terminal would obey."""
    return "".join(char if char.isprintable() else " " for char in text)
