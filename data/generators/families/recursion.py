"""Families `recursion`, `induction` and `list`: functions with recursion equations, and inductions about them.

A statement consists of functions, whose defining equations are hypotheses, and a claim. Each case of the induction
needs a chain of rewriting steps. Statements without a short chain are dropped.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from common.lean import ProofTree
from data.generators.families.draft import Draft, chain, step
from data.generators.families.order import Statement
from data.generators.families.rewriting import NAT, walk
from data.generators.families.terms import (
    Equation,
    Rule,
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

# ----------------------------------------------------------------------------------------------------------------------
# Functions with recursion equations, and proofs by induction about them.


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


# ----------------------------------------------------------------------------------------------------------------------
# Makers of the families `recursion` and `induction`. The module `recursion` finds their proofs.


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
    # 1. The function: `f 0 = start`, `f (n + 1) = f n + slope`.
    slope: Term = rng.choice((num(rng.randint(1, 6)), var(statement.variable("Nat"))))
    start: Term = rng.choice((num(0), num(0), num(rng.randint(1, 5)), var(statement.variable("Nat"))))
    call: Term = ("call",)
    body = add(call, slope) if rng.random() < 0.6 else add(slope, call)
    f = define_nat(statement, start, body)
    # 2. The claim: its closed form.
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
    # 3. The induction.
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
    # 1. What is summed up.
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
    # 2. Either side may stand on the left.
    if rng.random() < 0.3:
        claim = claim[::-1]
    proof = nat_induction(statement, claim, n, rules)
    return None if proof is None else finish(statement, "induction", "sums", claim, n, "Nat", proof)


def unrolled(rng: random.Random) -> Draft | None:
    """The value of a recursive function at a number, or after a few steps: `f 3 = 8`, `f (n + 2) = ...`."""
    statement = Statement(rng)
    # 1. A function with a random body.
    constants = [var(statement.variable("Nat"))] if rng.random() < 0.6 else []
    others = [statement.variable("Nat → Nat")] if rng.random() < 0.5 else []
    base = rng.choice([*constants, num(rng.randint(0, 4))])
    count = rng.choice((1, 2, 2, 3, 3, 4))
    body = random_body(rng, constants, others, var("n") if rng.random() < 0.3 else num(rng.randint(1, 4)))
    f = define_nat(statement, base, body)
    # 2. Its value after some steps.
    at_number = rng.random() < 0.6
    n = statement.variable("Nat")
    start: Term = num(0) if at_number else var(n)
    result: Term = base if at_number else (f.name, var(n))
    for index in range(count):
        here = num(index) if at_number else (add(var(n), num(index)) if index else var(n))
        result = substitute(replace(body, ("call",), result), {"n": here})
    argument = num(count) if at_number else add(start, num(count))
    # 3. The right side: a number, or the term with some laws applied to it.
    number = value(result)
    right = num(number) if number is not None else result
    vocabulary = [
        NAT[name]
        for name in rng.sample(("Nat.add_comm", "Nat.mul_comm", "Nat.add_assoc", "Nat.mul_assoc", "Nat.mul_add"), 3)
    ]
    shuffled = walk(rng, right, vocabulary, rng.choice((0, 0, 0, 1, 1, 2)))
    used = vocabulary if shuffled != right else []
    # 4. The claim, which must stay short.
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
    # 1. Two functions, each defined by the other.
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
    # 2. A value some steps away from the start.
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
    # 3. The claim; results that are long or nested sums are dropped.
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
    # 1. The induction, and what it is about.
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
    # 2. The order of a function's values.
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


# ----------------------------------------------------------------------------------------------------------------------
# Makes statements of the family `list` about recursive functions. The module `recursion` finds their proofs.


def list_functions(rng: random.Random) -> Draft | None:
    """Recursive functions on lists: homomorphisms, equal recursions, lengths, maps."""
    statement = Statement(rng)
    statement.curried = False
    # 1. What the functions may use.
    call: Term = ("call",)
    xs, ys = statement.names.variable("List Nat"), statement.names.variable("List Nat")
    kind = rng.choice(("append", "append", "equal", "equal", "map", "length", "copy", "copy-append"))
    outer = statement.variable("Nat → Nat") if rng.random() < 0.6 or kind in ("map", "copy", "copy-append") else ""
    item: Term = (outer, X) if outer else rng.choice((X, num(rng.randint(1, 5)), var(statement.variable("Nat"))))
    algebra = [
        NAT[name]
        for name in ("Nat.zero_add", "Nat.add_assoc", "Nat.add_comm", "Nat.add_left_comm", "Nat.add_right_comm")
    ]
    # 2. The functions and the claim about them, by kind.
    rules: list[Rule] = [*LIST_STEPS[:2]]
    if kind == "append":
        f = define_list(statement, num(0), rng.choice((add(item, call), add(call, item))))
        statement.variables.append((ys, "List Nat"))
        claim: Equation = ((f.name, ("++", var(xs), var(ys))), add((f.name, var(xs)), (f.name, var(ys))))
        rules += [*f.rules, *algebra]
    elif kind == "equal":
        constants = [var(statement.variable("Nat"))] if rng.random() < 0.5 else []
        base = rng.choice([*constants, num(rng.randint(0, 4))])
        body = random_body(rng, constants, [outer] if outer else [], rng.choice((X, item)))
        vocabulary = [NAT[name] for name in ("Nat.add_comm", "Nat.mul_comm", "Nat.add_assoc")]
        second = walk(rng, body, vocabulary, rng.choice((0, 1, 1, 2)))
        f, g = define_list(statement, base, body), define_list(statement, base, second)
        claim = ((f.name, var(xs)), (g.name, var(xs)))
        rules = [*f.rules, *g.rules, *(vocabulary if second != body else [])]
    elif kind == "map":
        f = define_list(statement, num(0), add(X, call))
        g = define_list(statement, num(0), add((outer, X), call) if rng.random() < 0.6 else add(call, (outer, X)))
        claim = ((f.name, ("List.map", var(outer), var(xs))), (g.name, var(xs)))
        rules = [*f.rules, *g.rules, *_applied(outer), NAT["Nat.add_comm"]]
    elif kind == "length":
        slope: Term = num(rng.randint(1, 5)) if rng.random() < 0.6 else var(statement.variable("Nat"))
        start: Term = num(0) if rng.random() < 0.6 else num(rng.randint(1, 4))
        f = define_list(statement, start, rng.choice((add(call, slope), add(slope, call))))
        length: Term = ("List.length", var(xs))
        product = length if slope == ONE else rng.choice((mul(length, slope), mul(slope, length)))
        claim = (
            (f.name, var(xs)),
            product if start == num(0) else rng.choice((add(product, start), add(start, product))),
        )
        rules = [*f.rules, *LIST_STEPS[2:4], *SUCCESSOR_RULES, NAT["Nat.mul_zero"], NAT["Nat.zero_mul"], *algebra]
    else:
        f = define_list(statement, NIL, ("::", (outer, X), call), "List Nat")
        if kind == "copy":
            claim = rng.choice((
                ((f.name, var(xs)), ("List.map", var(outer), var(xs))),
                (("List.length", (f.name, var(xs))), ("List.length", var(xs))),
            ))  # fmt: skip
            rules = [*f.rules, *_applied(outer), *LIST_STEPS[2:4]]
        else:
            statement.variables.append((ys, "List Nat"))
            claim = ((f.name, ("++", var(xs), var(ys))), ("++", (f.name, var(xs)), (f.name, var(ys))))
            rules += list(f.rules)
    # 3. The induction over the list.
    if rng.random() < 0.3:
        claim = claim[::-1]
    proof = list_induction(statement, claim, xs, rules)
    return None if proof is None else finish(statement, "list", kind, claim, xs, "List Nat", proof)


def _applied(function: str) -> list[Rule]:
    """The equations of `List.map` for one given function."""
    f, cons = var(function), ("::", var("?a"), var("?as"))
    return [
        Rule("List.map_nil", ("List.map", f, NIL), NIL),
        Rule("List.map_cons", ("List.map", f, cons), ("::", (function, var("?a")), ("List.map", f, var("?as")))),
    ]
