"""Makes statements of the family `list` about recursive functions. The module `recursion` finds their proofs."""

from __future__ import annotations

import random

from scripts.bank.draft import Draft
from scripts.bank.order import Statement
from scripts.bank.recursion import LIST_STEPS, NIL, ONE, SUCCESSOR_RULES, X, define_list, list_induction
from scripts.bank.recursion_families import finish, random_body
from scripts.bank.rewriting import NAT, walk
from scripts.bank.terms import Equation, Rule, Term, add, mul, num, var


def list_functions(rng: random.Random) -> Draft | None:
    """Recursive functions on lists: homomorphisms, equal recursions, lengths, maps."""
    statement = Statement(rng)
    statement.curried = False
    call: Term = ("call",)
    xs, ys = statement.names.variable("List Nat"), statement.names.variable("List Nat")
    kind = rng.choice(("append", "append", "equal", "equal", "map", "length", "copy", "copy-append"))
    outer = statement.variable("Nat → Nat") if rng.random() < 0.6 or kind in ("map", "copy", "copy-append") else ""
    item: Term = (outer, X) if outer else rng.choice((X, num(rng.randint(1, 5)), var(statement.variable("Nat"))))
    algebra = [
        NAT[name]
        for name in ("Nat.zero_add", "Nat.add_assoc", "Nat.add_comm", "Nat.add_left_comm", "Nat.add_right_comm")
    ]
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
