"""Makers of the families `recursion` and `induction`. The module `recursion` finds their proofs."""

from __future__ import annotations

import random
from collections.abc import Callable

from common.lean import ProofTree
from scripts.bank.draft import Draft, chain, step
from scripts.bank.order import Statement
from scripts.bank.recursion import (
    ONE,
    SHIFT_RULES,
    SUCCESSOR_RULES,
    bound_name,
    computed,
    define_nat,
    nat_induction,
)
from scripts.bank.rewriting import NAT, walk
from scripts.bank.terms import (
    Equation,
    Term,
    add,
    mul,
    num,
    parts,
    replace,
    rewrite,
    rule,
    show,
    show_equation,
    solve,
    substitute,
    value,
    var,
)


def finish(
    statement: Statement, family: str, generator: str, claim: Equation, variable: str, kind: str, proof: ProofTree
) -> Draft | None:
    """The statement of a claim. Its variable becomes a binder, or is quantified in the goal (`∀ n, ...`, `intro n`)."""
    goal = show_equation(claim)
    if statement.rng.random() < 0.4 and not statement.premises:
        statement.variables = [(name, what) for name, what in statement.variables if name != variable]
        goal, proof = f"∀ {variable}, {goal}", step(f"intro {variable}", proof)
    elif variable not in {name for name, _ in statement.variables}:
        statement.variables.append((variable, kind))
    return statement.draft(family, generator, goal, proof)


def random_body(rng: random.Random, constants: list[Term], functions: list[str], index: Term) -> Term:
    """A random right side of a recursion equation, which contains the recursive call."""
    term: Term = ("call",)
    for _ in range(rng.choice((1, 1, 2, 2, 3))):
        other = rng.choice([*constants, num(rng.randint(1, 5)), index])
        shape = rng.choice(("+", "+", "*", "f" if functions else "+"))
        term = (rng.choice(functions), term) if shape == "f" else (shape, *rng.sample((term, other), 2))
    return term


def same_recursion(rng: random.Random) -> Draft | None:
    """Two functions with the same recursion equations, perhaps rearranged, are equal."""
    statement = Statement(rng)
    statement.curried = False
    constants = [var(statement.variable("Nat")) for _ in range(rng.randint(0, 2))]
    others = [statement.variable("Nat → Nat")] if rng.random() < 0.6 else []
    base = rng.choice([*constants, num(rng.randint(0, 5))])
    index: Term = rng.choice([var("n"), (others[0], var("n"))]) if others else var("n")
    body = random_body(rng, constants, others, index)
    vocabulary = rng.sample(
        [NAT[name] for name in ("Nat.add_comm", "Nat.mul_comm", "Nat.add_assoc", "Nat.mul_add", "Nat.add_mul")], 3
    )
    second = walk(rng, body, vocabulary, rng.choice((0, 0, 1, 1, 2)))
    f, g = define_nat(statement, base, body), define_nat(statement, base, second)
    variable = statement.names.variable("Nat")
    claim: Equation = ((f.name, var(variable)), (g.name, var(variable)))
    if rng.random() < 0.3:
        outer = rng.choice([*constants, num(2), ONE])
        shape = rng.choice("+*")
        claim = ((shape, claim[0], outer), (shape, claim[1], outer))
    rules = [*f.rules, *g.rules, *(vocabulary if second != body else [])]
    proof = nat_induction(statement, claim, variable, rules)
    return None if proof is None else finish(statement, "induction", "same-recursion", claim, variable, "Nat", proof)


def linear(rng: random.Random) -> Draft | None:
    """Closed forms of functions with `f (n + 1) = f n + d`, and equations about their values."""
    statement = Statement(rng)
    statement.curried = False
    slope: Term = rng.choice((num(rng.randint(1, 6)), var(statement.variable("Nat"))))
    start: Term = rng.choice((num(0), num(0), num(rng.randint(1, 5)), var(statement.variable("Nat"))))
    call: Term = ("call",)
    body = add(call, slope) if rng.random() < 0.6 else add(slope, call)
    f = define_nat(statement, start, body)
    n = statement.names.variable("Nat")
    product = mul(slope, var(n)) if rng.random() < 0.5 else mul(var(n), slope)
    closed = (
        product
        if start == num(0) and rng.random() < 0.8
        else add(start, product)
        if rng.random() < 0.5
        else add(product, start)
    )
    claim: Equation = ((f.name, var(n)), closed)
    # Two variations of the closed form: one step of the recursion, and a shifted argument.
    if rng.random() < 0.25:
        claim = (add((f.name, var(n)), slope), (f.name, add(var(n), ONE)))
    elif rng.random() < 0.3:
        k = statement.variable("Nat")
        right = add((f.name, var(k)), mul(var(n), slope) if rng.random() < 0.5 else mul(slope, var(n)))
        claim = ((f.name, add(var(k), var(n))), right)
    if rng.random() < 0.3:
        claim = claim[::-1]
    names = (
        "Nat.mul_zero",
        "Nat.zero_mul",
        "Nat.zero_add",
        "Nat.add_assoc",
        "Nat.add_comm",
        "Nat.add_right_comm",
        "Nat.add_left_comm",
    )
    rules = [
        *f.rules,
        *SUCCESSOR_RULES,
        *(NAT[name] for name in names),
        rule("Nat.add_assoc", *_assoc(), "a", "b", "c"),
    ]
    proof = nat_induction(statement, claim, n, rules[:-1])
    return None if proof is None else finish(statement, "induction", "linear", claim, n, "Nat", proof)


def _assoc() -> Equation:
    a, b, c = var("a"), var("b"), var("c")
    return add(add(a, b), c), add(a, add(b, c))


def sums(rng: random.Random) -> Draft | None:
    """Equations about sums that are defined by recursion: `F n + G n = H n`, `k * F n = H n`, ..."""
    statement = Statement(rng)
    statement.curried = False
    term = statement.variable("Nat → Nat")
    call: Term = ("call",)
    here: Term = (term, var("n")) if rng.random() < 0.7 else (term, add(var("n"), ONE))
    kind = rng.choice(("add", "scale", "scale", "twice", "shift"))
    n = statement.names.variable("Nat")
    extra: Term = num(rng.randint(2, 5)) if rng.random() < 0.5 else var(statement.variable("Nat"))
    # Each kind relates the first sum to a second function with its own recursion equations.
    first = define_nat(statement, num(0), add(call, here) if rng.random() < 0.7 else add(here, call))
    f = (first.name, var(n))
    if kind == "add":
        other = (statement.variable("Nat → Nat"), var("n"))
        second = define_nat(statement, num(0), add(call, other))
        third = define_nat(statement, num(0), add(call, add(here, other)))
        claim: Equation = (add(f, (second.name, var(n))), (third.name, var(n)))
        rules = [*first.rules, *second.rules, *third.rules, *SHIFT_RULES, NAT["Nat.add_comm"]]
    elif kind == "scale":
        left = rng.random() < 0.5
        second = define_nat(statement, num(0), add(call, mul(extra, here) if left else mul(here, extra)))
        claim = (mul(extra, f) if left else mul(f, extra), (second.name, var(n)))
        names = ("Nat.mul_add", "Nat.add_mul", "Nat.mul_zero", "Nat.zero_mul", "Nat.add_comm")
        rules = [*first.rules, *second.rules, *(NAT[name] for name in names)]
    elif kind == "twice":
        second = define_nat(statement, num(0), add(call, add(here, here)))
        claim = (add(f, f), (second.name, var(n)))
        rules = [*first.rules, *second.rules, *SHIFT_RULES, NAT["Nat.add_comm"]]
    else:
        second = define_nat(statement, extra, add(call, here))
        claim = ((second.name, var(n)), add(extra, f) if rng.random() < 0.5 else add(f, extra))
        names = ("Nat.zero_add", "Nat.add_assoc", "Nat.add_comm", "Nat.add_right_comm", "Nat.add_left_comm")
        rules = [*first.rules, *second.rules, *(NAT[name] for name in names)]
    if rng.random() < 0.3:
        claim = claim[::-1]
    proof = nat_induction(statement, claim, n, rules)
    return None if proof is None else finish(statement, "induction", "sums", claim, n, "Nat", proof)


def unrolled(rng: random.Random) -> Draft | None:
    """The value of a recursive function at a number, or after a few steps: `f 3 = 8`, `f (n + 2) = ...`."""
    statement = Statement(rng)
    constants = [var(statement.variable("Nat"))] if rng.random() < 0.6 else []
    others = [statement.variable("Nat → Nat")] if rng.random() < 0.5 else []
    base = rng.choice([*constants, num(rng.randint(0, 4))])
    count = rng.choice((1, 2, 2, 3, 3, 4))
    body = random_body(rng, constants, others, var("n") if rng.random() < 0.3 else num(rng.randint(1, 4)))
    f = define_nat(statement, base, body)
    at_number = rng.random() < 0.6
    n = statement.variable("Nat")
    start: Term = num(0) if at_number else var(n)
    result: Term = base if at_number else (f.name, var(n))
    for index in range(count):
        here = num(index) if at_number else (add(var(n), num(index)) if index else var(n))
        result = substitute(replace(body, ("call",), result), {"n": here})
    argument = num(count) if at_number else add(start, num(count))
    number = value(result)
    right = num(number) if number is not None else result
    vocabulary = [
        NAT[name]
        for name in rng.sample(("Nat.add_comm", "Nat.mul_comm", "Nat.add_assoc", "Nat.mul_assoc", "Nat.mul_add"), 3)
    ]
    shuffled = walk(rng, right, vocabulary, rng.choice((0, 0, 0, 1, 1, 2)))
    used = vocabulary if shuffled != right else []
    claim: Equation = ((f.name, argument), shuffled)
    if rng.random() < 0.25:
        claim = claim[::-1]
    if len(show_equation(claim)) > 70 or (number or 0) > 200:
        return None
    tactics = solve(claim, [*f.rules, *used], 8, max_nodes=350, closed=computed, explicit=False)
    return statement.draft("recursion", "unrolled", show_equation(claim), chain(tactics)) if tactics else None


def mutual(rng: random.Random) -> Draft | None:
    """Values of two mutually recursive functions."""
    statement = Statement(rng)
    f, g = statement.variable("Nat → Nat"), statement.variable("Nat → Nat")
    constant = var(statement.variable("Nat"))
    bound = bound_name(statement, ("n", "m", "k"))
    inner = [statement.variable("Nat → Nat")] if rng.random() < 0.4 else []
    rules = []
    bodies = []
    for name, other in ((f, g), (g, f)):
        call: Term = (other, var(bound))
        body = rng.choice(
            [
                call,
                add(call, num(rng.randint(1, 3))),
                add(call, constant),
                mul(num(2), call),
                *[(h, call) for h in inner],
            ]
        )
        bodies.append(body)
        text = f"∀ {bound}, {show_equation(((name, add(var(bound), ONE)), body))}"
        rules.append(rule(statement.hypothesis(text), (name, add(var(bound), ONE)), body, bound))
    starts = {}
    for name in (f, g):
        starts[name] = rng.choice([constant, num(rng.randint(0, 3))])
        rules.append(
            rule(statement.hypothesis(show_equation(((name, num(0)), starts[name]))), (name, num(0)), starts[name])
        )
    count = rng.randint(2, 5)
    symbolic = rng.random() < 0.4
    n = statement.variable("Nat")
    # Unfold the start term by the equations to get the right side of the claim.
    term: Term = (f, add(var(n), num(count)) if symbolic else num(count))
    start = term
    for _ in range(count + (0 if symbolic else 1)):
        for used in rules:
            new = rewrite((term, var("⋯")), used)
            if new is not None:
                term = new[0]
                break
    number = value(term)
    claim: Equation = (start, num(number) if number is not None else term)
    if (
        any(part[0] == "+" and part[2][0] == "num" and part[1][0] == "+" for part in parts(term))
        or len(show(term)) > 45
    ):
        return None
    tactics = solve(claim, rules, 8, max_nodes=350, closed=computed, explicit=False)
    return statement.draft("recursion", "mutual", show_equation(claim), chain(tactics)) if tactics else None


def applied(outer: str, inner: str = "") -> Callable[[str], str]:
    """A function that writes `OUTER (INNER t)` for a term `t`, or `OUTER t` without an inner function."""
    return lambda term: f"{outer} ({inner} {term})" if inner else f"{outer} {term}"


def predicates(rng: random.Random) -> Draft | None:
    """Induction with predicates and order: `P 0` and `P n → P (n + 1)`; monotone functions."""
    statement = Statement(rng)
    n = statement.names.variable("Nat")
    bound = bound_name(statement, ("k", "m", "i"))
    induct = f"induction {n} with | zero => ?_ | succ {n} ih => ?_"
    kind = rng.choice(("plain", "pair", "rule", "function", "bound", "grow", "constant"))
    # The first four kinds are about a predicate, the others about the order of a function's values.
    if kind in ("plain", "pair", "rule", "function"):
        p = statement.names.pick(("P", "Q", "R", "S"))
        statement.variables.append((p, "Nat → Prop"))
        f = statement.variable("Nat → Nat") if kind == "function" else ""
        here = applied(p, f)
        zero = statement.hypothesis(here("0"))
        if kind == "pair":
            q = statement.names.pick(("P", "Q", "R", "S"))
            statement.variables.append((q, "Nat → Prop"))
            link = statement.hypothesis(f"∀ {bound}, {p} {bound} → {q} {bound}")
            succ = statement.hypothesis(f"∀ {bound}, {q} {bound} → {p} ({bound} + 1)")
            proof = step(induct, step(f"exact {zero}"), chain([f"apply {succ}", f"apply {link}", "exact ih"]))
            goal = f"{p} {n}"
            if rng.random() < 0.5:
                goal, proof = f"{q} {n}", step(f"apply {link}", proof)
        elif kind == "rule":
            f = statement.variable("Nat → Nat")
            side = statement.hypothesis(f"∀ {bound}, {f} {bound} = {bound} + 1")
            succ = statement.hypothesis(f"∀ {bound}, {p} {bound} → {p} ({f} {bound})")
            proof = step(
                induct, step(f"exact {zero}"), chain([f"have h1 := {succ} {n} ih", f"rw [{side}] at h1", "exact h1"])
            )
            goal = f"{p} {n}"
        else:
            succ = statement.hypothesis(f"∀ {bound}, {here(bound)} → {here(f'({bound} + 1)')}")
            proof = step(induct, step(f"exact {zero}"), chain([f"apply {succ}", "exact ih"]))
            goal = here(n)
        statement.variables.append((n, "Nat"))
        return statement.draft("induction", kind, goal, proof)
    statement.curried = False
    f = statement.variable("Nat → Nat")
    statement.variables.append((n, "Nat"))
    if kind == "bound":
        name = statement.hypothesis(f"∀ {bound}, {f} {bound} ≤ {f} ({bound} + 1)")
        low = rng.choice(("0", statement.variable("Nat")))
        start, base = f"{f} 0", step("apply Nat.le_refl")
        if low != "0":
            start, base = low, step(f"exact {statement.hypothesis(f'{low} ≤ {f} 0')}")
        return statement.draft(
            "induction", kind, f"{start} ≤ {f} {n}", step(induct, base, step(f"exact Nat.le_trans ih ({name} {n})"))
        )
    if kind == "grow":
        name = statement.hypothesis(f"∀ {bound}, {f} {bound} < {f} ({bound} + 1)")
        successor = chain(["apply Nat.lt_of_le_of_lt ih", f"exact {name} {n}"])
        return statement.draft("induction", kind, f"{n} ≤ {f} {n}", step(induct, step("apply Nat.zero_le"), successor))
    g = statement.variable("Nat → Nat") if rng.random() < 0.5 else ""
    name = statement.hypothesis(f"∀ {bound}, {f} ({bound} + 1) = {f} {bound}")
    wrap = applied(g, f) if g else applied(f)
    return statement.draft(
        "induction", kind, f"{wrap(n)} = {wrap('0')}", step(induct, step("rfl"), chain([f"rw [{name}]", "exact ih"]))
    )
