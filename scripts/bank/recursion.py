"""Functions with recursion equations, and proofs by induction about them.

A statement consists of functions, whose defining equations are hypotheses, and a claim. Each case of the induction
needs a chain of rewriting steps. Statements without a short chain are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass

from common.lean import ProofTree
from scripts.bank.draft import chain, step
from scripts.bank.order import Statement
from scripts.bank.terms import (
    Equation,
    Rule,
    Term,
    add,
    mul,
    num,
    replace,
    rule,
    show_equation,
    solve,
    substitute,
    value,
    var,
)

N, M, X = var("?n"), var("?m"), var("x")
NIL: Term = ("nil",)
ONE = num(1)

SUCCESSOR_RULES = [
    rule("Nat.mul_succ", mul(var("a"), add(var("b"), ONE)), add(mul(var("a"), var("b")), var("a")), "a", "b"),
    rule("Nat.succ_mul", mul(add(var("a"), ONE), var("b")), add(mul(var("a"), var("b")), var("b")), "a", "b"),
]
SHIFT_RULES = [
    rule("Nat.add_add_add_comm", add(add(var("a"), var("b")), add(var("c"), var("d"))),
         add(add(var("a"), var("c")), add(var("b"), var("d"))), "a", "b", "c", "d"),
]  # fmt: skip
LIST_STEPS = [
    Rule("List.nil_append", ("++", NIL, var("?as")), var("?as")),
    Rule("List.cons_append", ("++", ("::", var("?a"), var("?as")), var("?bs")),
         ("::", var("?a"), ("++", var("?as"), var("?bs")))),
    Rule("List.length_nil", ("List.length", NIL), num(0)),
    Rule("List.length_cons", ("List.length", ("::", var("?a"), var("?as"))), add(("List.length", var("?as")), ONE)),
    Rule("List.map_nil", ("List.map", var("?f"), NIL), NIL),
    Rule("List.map_cons", ("List.map", var("?f"), ("::", var("?a"), var("?as"))),
         ("::", (var("?f"), var("?a")), ("List.map", var("?f"), var("?as")))),
    Rule("List.reverse_nil", ("List.reverse", NIL), NIL),
    Rule("List.reverse_cons", ("List.reverse", ("::", var("?a"), var("?as"))),
         ("++", ("List.reverse", var("?as")), ("::", var("?a"), NIL))),
]  # fmt: skip


@dataclass
class Function:
    """A function with its two defining equations: at 0 or [], and at n + 1 or x :: xs."""

    name: str
    base: Term
    body: Term
    rules: tuple[Rule, Rule]


def define_nat(statement: Statement, base: Term, body: Term, extra: tuple[Rule, ...] = ()) -> Function:
    """Define `f 0 = base`, `∀ n, f (n + 1) = body`. In the body, `("call",)` is `f n` and `var("n")` is n."""
    name = statement.variable("Nat → Nat")
    bound = bound_name(statement, ("n", "m", "k", "i"))
    body = substitute(replace(body, ("call",), (name, var("n"))), {"n": var(bound)})
    zero, successor = (name, num(0)), (name, add(var(bound), ONE))
    return _function(statement, name, (zero, base), (successor, body), (bound,))


def define_list(statement: Statement, base: Term, body: Term, target: str = "Nat") -> Function:
    """Define `f [] = base`, `∀ x xs, f (x :: xs) = body`. In the body, `("call",)` is `f xs`."""
    name = statement.names.pick(("f", "g", "s", "t", "F", "G", "φ", "w"))
    statement.variables.append((name, f"List Nat → {target}"))
    head, tail = bound_name(statement, ("x", "y", "a")), bound_name(statement, ("xs", "l", "as"))
    body = substitute(replace(body, ("call",), (name, var("xs"))), {"x": var(head), "xs": var(tail)})
    return _function(statement, name, ((name, NIL), base), ((name, ("::", var(head), var(tail))), body), (head, tail))


def bound_name(statement: Statement, pool: tuple[str, ...]) -> str:
    free = [name for name in pool if name not in statement.names.used]
    return statement.rng.choice(free) if free else statement.names.introduced(("i1", "i2", "i3", "i4", "i5"))


def _function(statement: Statement, name: str, zero: Equation, successor: Equation, bound: tuple[str, ...]) -> Function:
    base_name = statement.hypothesis(show_equation(zero))
    step_name = statement.hypothesis(f"∀ {' '.join(bound)}, {show_equation(successor)}")
    rules = rule(base_name, *zero), rule(step_name, *successor, *bound)
    return Function(name, zero[1], successor[1], rules)


def computed(equation: Equation) -> bool:
    """Whether both sides are equal numbers."""
    return value(equation[0]) is not None and value(equation[0]) == value(equation[1])


def nat_induction(statement: Statement, claim: Equation, variable: str, rules: list[Rule]) -> ProofTree | None:
    """A proof by `induction n` with a chain of rewriting in both cases; None if there is none."""
    zero = _at(claim, variable, num(0))
    successor = _at(claim, variable, add(var(variable), ONE))
    hypothesis = Rule("ih", *claim)
    base = close(zero, rules)
    inductive_step = close(successor, [hypothesis, *rules])
    if base is None or inductive_step is None:
        return None
    return step(f"induction {variable} with | zero => ?_ | succ {variable} ih => ?_", base, inductive_step)


def list_induction(statement: Statement, claim: Equation, variable: str, rules: list[Rule]) -> ProofTree | None:
    """A proof by `induction xs` with a chain of rewriting in both cases; None if there is none."""
    head = next(name for name in ("x", "y", "z", "e1") if name not in statement.names.used)
    base = close(_at(claim, variable, NIL), rules)
    inductive_step = close(_at(claim, variable, ("::", var(head), var(variable))), [Rule("ih", *claim), *rules])
    if base is None or inductive_step is None:
        return None
    return step(f"induction {variable} with | nil => ?_ | cons {head} {variable} ih => ?_", base, inductive_step)


def close(equation: Equation, rules: list[Rule], max_steps: int = 6) -> ProofTree | None:
    """A chain of rewriting, or `rfl` if both sides are already equal; None if there is no chain."""
    if equation[0] == equation[1] or computed(equation):
        return step("rfl")
    tactics = solve(equation, rules, max_steps, max_nodes=350, closed=computed, explicit=False)
    return chain(grouped(tactics)) if tactics else None


def grouped(tactics: list[str]) -> list[str]:
    """Join up to three rewriting steps in one `rw [a, b, c]`, so that the cases of an induction are short."""
    groups: list[list[str]] = []
    for tactic in tactics:
        text = tactic.removeprefix("rw [").removesuffix("]")
        if groups and len(groups[-1]) < 3 and sum(map(len, groups[-1])) + len(text) < 45:
            groups[-1].append(text)
        else:
            groups.append([text])
    return [f"rw [{', '.join(group)}]" for group in groups]


def _at(claim: Equation, variable: str, term: Term) -> Equation:
    return substitute(claim[0], {variable: term}), substitute(claim[1], {variable: term})
