"""Families `existence` (witnesses for multiples, equations, bounds, numbers) and `existence+recursion` (test only)."""

from __future__ import annotations

import random

from common.lean import ProofTree
from data.generators.families.draft import Draft, chain, step
from data.generators.families.logic_families import quantifiers
from data.generators.families.order import Statement
from data.generators.families.recursion import define_nat, random_body
from data.generators.families.rewriting import NAT, NAT_RULES, random_nat_term, walk
from data.generators.families.terms import (
    Equation,
    Rule,
    Term,
    add,
    mul,
    num,
    parts,
    replace,
    show,
    show_equation,
    solve,
    value,
    var,
    variables,
)


def witness(
    statement: Statement, equation: Equation, rules: list[Rule], family: str, generator: str, part: Term
) -> Draft | None:
    """A statement `∃ x, ...` from a provable equation: `x` replaces a part of it, which is the witness."""
    bound = next((name for name in ("x", "y", "z", "w", "i", "j") if name not in statement.names.used), None)
    tactics = solve(equation, rules, 4, max_nodes=300)
    if bound is None or tactics is None:
        return None
    side = statement.rng.choice([index for index in (0, 1) if part in parts(equation[index])])
    hidden = [*equation]
    hidden[side] = replace(equation[side], part, var(bound))
    goal = f"∃ {bound}, {show_equation((hidden[0], hidden[1]))}"
    return statement.draft(family, generator, goal, step(f"refine ⟨{show(part)}, ?_⟩", chain(tactics)))


def algebraic(rng: random.Random) -> Draft | None:
    """Statements such as `∃ x, a + x = ...`, whose witness is a part of an identity."""
    statement = Statement(rng)
    letters = [statement.variable("Nat") for _ in range(rng.randint(2, 4))]
    start = random_nat_term(rng, letters, rng.choice((1, 2, 2)))
    vocabulary = rng.sample(NAT_RULES[:11], rng.randint(2, 5))
    end = walk(rng, start, vocabulary, rng.randint(1, 4))
    candidates = [part for part in parts(end) if part[0] in ("+", "*", "var")]
    if start == end or not candidates or len(show_equation((start, end))) > 60:
        return None
    part = rng.choice(candidates)
    return None if part == end else witness(statement, (start, end), vocabulary, "existence", "identity", part)


def multiples(rng: random.Random) -> Draft | None:
    """Statements that sums and products of multiples of c are multiples of c."""
    statement = Statement(rng)
    factor: Term = num(rng.choice((2, 3, 4, 5, 7))) if rng.random() < 0.6 else var(statement.variable("Nat"))
    quotients: list[tuple[str, Term, Term, str]] = []
    front: list[str] = []
    rules: list[Rule] = []
    left = rng.random() < 0.7
    bound = rng.choice(("k", "i", "m", "t"))
    if bound in statement.names.used:
        return None
    statement.names.used.add(bound)
    # 1. Hypotheses: some numbers are multiples of the factor. The proof begins by taking their quotients.
    for _ in range(rng.choice((1, 2, 2))):
        number = statement.variable("Nat")
        product = mul(factor, var(bound)) if left else mul(var(bound), factor)
        name = statement.hypothesis(f"∃ {bound}, {number} = {show(product)}")
        value_name = statement.names.introduced(("x", "y", "z", "u", "v"))
        equation_name = statement.names.introduced()
        front.append(f"rcases {name} with ⟨{value_name}, {equation_name}⟩")
        product = mul(factor, var(value_name)) if left else mul(var(value_name), factor)
        rules.append(Rule(equation_name, var(number), product))
        quotients.append((name, var(number), var(value_name), equation_name))
    # 2. The goal: an expression in these numbers is a multiple, too. Its quotient is the witness.
    other = var(statement.variable("Nat"))
    expression, inner = _combine(rng, quotients, other, factor)
    goal = f"∃ {bound}, {show(expression)} = {show(mul(factor, var(bound)) if left else mul(var(bound), factor))}"
    equation = (expression, mul(factor, inner) if left else mul(inner, factor))
    # 3. What is left is an equation; rewriting has to close it.
    lemmas = ("Nat.mul_add", "Nat.add_mul", "Nat.mul_assoc", "Nat.mul_left_comm", "Nat.mul_comm", "Nat.add_comm")
    tactics = solve(equation, [*rules, *(NAT[name] for name in lemmas)], 5, max_nodes=600, explicit=False)
    if tactics is None:
        return None
    proof: ProofTree = chain([*front, f"refine ⟨{show(inner)}, ?_⟩", *tactics])
    return statement.draft("existence", "multiples", goal, proof)


def _combine(
    rng: random.Random, quotients: list[tuple[str, Term, Term, str]], other: Term, factor: Term
) -> tuple[Term, Term]:
    """An expression in the given multiples of c, and its quotient by c."""
    expression, inner = quotients[0][1], quotients[0][2]
    for _, number, quotient, _ in quotients[1:]:
        expression, inner = add(expression, number), add(inner, quotient)
    shape = rng.choice(("plain", "plain", "times", "times", "plus factor", "double"))
    if shape == "times" or (shape == "plain" and len(quotients) == 1):
        return (
            (mul(expression, other), mul(inner, other))
            if rng.random() < 0.5
            else (mul(other, expression), mul(other, inner))
        )
    if shape == "plus factor":
        return add(expression, mul(factor, other)), add(inner, other)
    if shape == "double":
        return add(expression, expression), add(inner, inner)
    return expression, inner


def bounds(rng: random.Random) -> Draft | None:
    """Statements that there is a number above or between given ones."""
    statement = Statement(rng)
    a, b = (statement.variable("Nat") for _ in range(2))
    x = statement.names.introduced(("x", "y", "z", "n"))
    # Each shape has a fixed proof: the witness, then lemmas about the order.
    shape = rng.choice(("above", "above-two", "between", "strict", "sum", "function"))
    if shape == "above":
        return statement.draft("existence", shape, f"∃ {x}, {a} < {x} ∧ {b} ≤ {x}", _above(rng, a, b))
    if shape == "above-two":
        proof = step(
            f"refine ⟨{a} + {b}, ?_⟩",
            step("constructor", step("apply Nat.le_add_right"), step("apply Nat.le_add_left")),
        )
        return statement.draft("existence", shape, f"∃ {x}, {a} ≤ {x} ∧ {b} ≤ {x}", proof)
    if shape == "between":
        c = statement.variable("Nat")
        first, second = statement.hypothesis(f"{a} < {b}"), statement.hypothesis(f"{b} ≤ {c}")
        proof = step(f"refine ⟨{b}, ?_⟩", step(f"exact ⟨{first}, {second}⟩"))
        return statement.draft("existence", shape, f"∃ {x}, {a} < {x} ∧ {x} ≤ {c}", proof)
    if shape == "strict":
        c = statement.variable("Nat")
        first, second = statement.hypothesis(f"{a} ≤ {b}"), statement.hypothesis(f"{b} < {c}")
        proof = step(
            f"refine ⟨{b} + 1, ?_⟩",
            step("constructor", step("apply Nat.lt_succ_of_le", step(f"exact {first}")), step(f"exact {second}")),
        )
        return statement.draft("existence", shape, f"∃ {x}, {a} < {x} ∧ {x} ≤ {c}", proof)
    if shape == "sum":
        c = statement.variable("Nat")
        name = statement.hypothesis(f"{a} ≤ {c}")
        proof = step(f"refine ⟨{c} + {b}, ?_⟩", step("apply Nat.add_le_add_right", step(f"exact {name}")))
        return statement.draft("existence", shape, f"∃ {x}, {a} + {b} ≤ {x}", proof)
    f = statement.variable("Nat → Nat")
    c = statement.variable("Nat")
    law = statement.hypothesis(f"∀ {x}, {x} ≤ {f} {x}")
    name = statement.hypothesis(f"{a} ≤ {b}")
    outer = rng.random() < 0.5
    proof = step(f"exact Nat.le_trans {name} ({law} {b})")
    if outer:
        proof = step(f"refine Nat.le_trans ?_ ({law} ({f} {b}))", proof)
    return statement.draft(
        "existence",
        shape,
        f"∃ {x}, {a} ≤ {f} {x}" if not outer else f"∃ {x}, {a} ≤ {f} ({f} {x})",
        step(f"refine ⟨{b}, ?_⟩", proof),
    )


def _above(rng: random.Random, a: str, b: str) -> ProofTree:
    first = step("apply Nat.lt_succ_of_le", step("apply Nat.le_add_right"))
    second = step("apply Nat.le_add_right_of_le", step("apply Nat.le_add_left"))
    return step(f"refine ⟨{a} + {b} + 1, ?_⟩", step("constructor", first, second))


def numbers(rng: random.Random) -> Draft | None:
    """Statements that there is a number with a property that `decide` checks."""
    statement = Statement(rng)
    x = rng.choice(("x", "y", "n", "k"))
    chosen = rng.randint(1, 12)
    term = var(x)
    for _ in range(rng.randint(1, 2)):
        other = rng.choice((num(rng.randint(1, 9)), num(rng.randint(1, 9)), var(x)))
        term = (rng.choice("+*"), *rng.sample((term, other), 2))
    result = value(replace(term, var(x), num(chosen)))
    goal = f"{show(term)} = {result}"
    if rng.random() < 0.5:
        goal += f" ∧ {x} < {chosen + rng.randint(1, 4)}"
    elif rng.random() < 0.4:
        goal = f"{rng.randint(0, chosen - 1)} < {x} ∧ {goal}"
    draft = statement.draft("existence", "numbers", f"∃ {x}, {goal}", chain([f"refine ⟨{chosen}, ?_⟩", "decide"]))
    return (
        draft
        if draft is not None
        else Draft("existence", "numbers", [], [], f"∃ {x}, {goal}", chain([f"refine ⟨{chosen}, ?_⟩", "decide"]))
    )


def predicates(rng: random.Random) -> Draft | None:
    """First-order statements with an existential goal."""
    return quantifiers(rng, "existence")


def recursive(rng: random.Random) -> Draft | None:
    """Statements `∃ x, f x = ...` for a function that recursion equations define."""
    statement = Statement(rng)
    statement.curried = False
    constant = statement.variable("Nat")
    others = [statement.variable("Nat → Nat")] if rng.random() < 0.4 else []
    base: Term = rng.choice((var(constant), num(rng.randint(0, 4))))
    body = random_body(rng, [var(constant)], others, num(rng.randint(1, 4)))
    f = define_nat(statement, base, body)
    count = rng.choice((1, 1, 2, 2, 3))
    symbolic = rng.random() < 0.4
    n = statement.variable("Nat")
    result: Term = (f.name, var(n)) if symbolic else base
    for _ in range(count):
        result = replace(body, ("call",), result)
    argument = add(var(n), num(count)) if symbolic else num(count)
    vocabulary = [NAT["Nat.add_comm"], NAT["Nat.mul_comm"], NAT["Nat.add_assoc"]] if rng.random() < 0.5 else []
    result = walk(rng, result, vocabulary, 1) if vocabulary else result
    if value(result) is not None or not variables(result) or len(show(result)) > 50:
        return None
    part = argument
    return witness(
        statement, ((f.name, argument), result), [*f.rules, *vocabulary], "existence+recursion", "recursive", part
    )


__all__ = ["algebraic", "bounds", "multiples", "numbers", "predicates", "recursive"]
