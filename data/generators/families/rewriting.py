"""Families `equations` and `nat-algebra`, and a part of `list`: chains of rewriting with hypotheses and lemmas."""

from __future__ import annotations

import random

from data.generators.families.draft import Draft, NameSupply, chain, step
from data.generators.families.terms import (
    Equation,
    Rule,
    Term,
    add,
    instantiations,
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
    successors,
    value,
    var,
    variables,
)

A, B, C, D = var("a"), var("b"), var("c"), var("d")
ONE, TWO, ZERO = num(1), num(2), num(0)

NAT_RULES = [
    rule("Nat.add_comm", add(A, B), add(B, A), "a", "b"),
    rule("Nat.add_assoc", add(add(A, B), C), add(A, add(B, C)), "a", "b", "c"),
    rule("Nat.add_left_comm", add(A, add(B, C)), add(B, add(A, C)), "a", "b", "c"),
    rule("Nat.add_right_comm", add(add(A, B), C), add(add(A, C), B), "a", "b", "c"),
    rule("Nat.mul_comm", mul(A, B), mul(B, A), "a", "b"),
    rule("Nat.mul_assoc", mul(mul(A, B), C), mul(A, mul(B, C)), "a", "b", "c"),
    rule("Nat.mul_left_comm", mul(A, mul(B, C)), mul(B, mul(A, C)), "a", "b", "c"),
    rule("Nat.mul_add", mul(A, add(B, C)), add(mul(A, B), mul(A, C)), "a", "b", "c"),
    rule("Nat.add_mul", mul(add(A, B), C), add(mul(A, C), mul(B, C)), "a", "b", "c"),
    rule("Nat.two_mul", mul(TWO, A), add(A, A), "a"),
    rule("Nat.mul_one", mul(A, ONE), A, "a"),
    rule("Nat.one_mul", mul(ONE, A), A, "a"),
    rule("Nat.mul_zero", mul(A, ZERO), ZERO, "a"),
    rule("Nat.zero_mul", mul(ZERO, A), ZERO, "a"),
    rule("Nat.zero_add", add(ZERO, A), A, "a"),
    rule("Nat.pow_succ", ("^", A, add(B, ONE)), mul(("^", A, B), A), "a", "b"),
]
NAT = {used.name: used for used in NAT_RULES}

LIST_RULES = [
    rule("List.append_assoc", ("++", ("++", A, B), C), ("++", A, ("++", B, C)), "a", "b", "c"),
    rule("List.append_nil", ("++", A, ("nil",)), A, "a"),
    rule("List.length_append", ("List.length", ("++", A, B)), add(("List.length", A), ("List.length", B))),
    rule("List.reverse_append", ("List.reverse", ("++", A, B)), ("++", ("List.reverse", B), ("List.reverse", A))),
    rule("List.reverse_reverse", ("List.reverse", ("List.reverse", A)), A, "a"),
    rule("List.length_reverse", ("List.length", ("List.reverse", A)), ("List.length", A)),
    rule("List.length_map", ("List.length", ("List.map", B, A)), ("List.length", A)),
    rule("List.map_append", ("List.map", C, ("++", A, B)), ("++", ("List.map", C, A), ("List.map", C, B))),
    rule("List.map_reverse", ("List.map", C, ("List.reverse", A)), ("List.reverse", ("List.map", C, A))),
]


def _open(used: Rule) -> Rule:
    """A rule whose variables are open, and implicit: `rw` cannot give them as arguments."""
    names = [part[1] for part in parts(used.left) if part[0] == "var" and not part[1].startswith("?")]
    opened = {name: var("?" + name) for name in names}
    return Rule(used.name, substitute(used.left, opened), substitute(used.right, opened), used.arguments)


LIST_RULES = [_open(used) for used in LIST_RULES]


def random_nat_term(rng: random.Random, names: list[str], depth: int) -> Term:
    """A random term of sums and products of variables and small numbers."""
    if depth == 0 or rng.random() < 0.15:
        return var(rng.choice(names)) if rng.random() < 0.9 else num(rng.choice((1, 2, 2, 3, 5)))
    return (rng.choice(("+", "+", "*")), random_nat_term(rng, names, depth - 1), random_nat_term(rng, names, depth - 1))


def random_list_term(rng: random.Random, names: list[str], functions: list[str], depth: int) -> Term:
    """A random term of appends, reversals and maps of list variables."""
    if depth == 0:
        return var(rng.choice(names))
    head = rng.choice(("++", "++", "++", "List.reverse", "List.map"))
    inner = random_list_term(rng, names, functions, depth - 1)
    if head == "List.map":
        return (head, var(rng.choice(functions)), inner)
    return (
        (head, inner) if head == "List.reverse" else (head, inner, random_list_term(rng, names, functions, depth - 1))
    )


def walk(rng: random.Random, start: Term, rules: list[Rule], steps: int) -> Term:
    """The result of random rewriting steps, without repeated terms."""
    term, seen = start, {start}
    for _ in range(steps):
        marker = ("var", "⋯")
        options = [new for _, new in successors((term, marker), rules, True) if new[0] not in seen]
        if not options:
            return term
        term = rng.choice(options)[0]
        seen.add(term)
    return term


def _finish(
    rng: random.Random, family: str, generator: str, names: NameSupply, kinds: dict[str, str], equation: Equation,
    hypotheses: list[tuple[str, str]], tactics: list[str],
) -> Draft:  # fmt: skip
    order = {"α": -1}
    used = list(kinds.items())
    rng.shuffle(used)
    used.sort(key=lambda item: order.get(item[0], 0))
    return Draft(family, generator, used, hypotheses, show_equation(equation), chain(tactics))


def nat_algebra(rng: random.Random) -> Draft | None:
    """Equations `s = t` where t results from s by random rewriting with lemmas; sometimes a conjunction of two."""
    names = NameSupply(rng)
    letters = [names.variable("Nat") for _ in range(rng.randint(2, 4))]
    identities = [_identity(rng, letters) for _ in range(rng.choice((1, 1, 2)))]
    if None in identities:
        return None
    pairs = [pair for pair in identities if pair is not None]
    text = " ∧ ".join(show_equation(equation) for equation, _ in pairs)
    mentioned = {name for equation, _ in pairs for side in equation for name in variables(side)}
    if not mentioned or len(text) > 95 or len({equation for equation, _ in pairs}) < len(pairs):
        return None
    proofs = [chain(tactics) for _, tactics in pairs]
    proof = proofs[0] if len(proofs) == 1 else step("constructor", *proofs)
    kinds = [(name, "Nat") for name in letters if name in mentioned]
    return Draft("nat-algebra", "walk", kinds, [], text, proof)


def _identity(rng: random.Random, letters: list[str]) -> tuple[Equation, list[str]] | None:
    start = random_nat_term(rng, letters, rng.choice((2, 2, 3)))
    vocabulary = rng.sample(NAT_RULES, rng.randint(3, 7))
    steps = rng.randint(1, 5)
    end = walk(rng, start, vocabulary, steps)
    equation = (start, end) if rng.random() < 0.5 else (end, start)
    if start == end or len(show_equation(equation)) > 75:
        return None
    tactics = solve(equation, vocabulary, min(steps, 5), max_nodes=350)
    return None if tactics is None else (equation, tactics)


def cancellation(rng: random.Random) -> Draft | None:
    """Statements with hypothesis `s + c = t + c` (in some order) and conclusion `s = t`."""
    names = NameSupply(rng)
    letters = [names.variable("Nat") for _ in range(rng.randint(3, 4))]
    first, second = (random_nat_term(rng, letters, rng.choice((0, 1, 1))) for _ in range(2))
    common = random_nat_term(rng, letters, rng.choice((0, 0, 1)))
    side = rng.choice(("left", "right"))
    whole = (add(common, first), add(common, second)) if side == "left" else (add(first, common), add(second, common))
    disguised = (
        walk(rng, whole[0], NAT_RULES[:4], rng.choice((0, 0, 1, 2))),
        walk(rng, whole[1], NAT_RULES[:4], rng.choice((0, 1))),
    )
    if first == second or len(show_equation(disguised)) > 70:
        return None
    name = names.hypothesis()
    tactics = _restore(disguised, whole, f" at {name}", NAT_RULES[:4])
    if tactics is None:
        return None
    tactics.append(f"exact Nat.add_{side}_cancel {name}")
    kinds = {letter: "Nat" for letter in letters if letter in {v for side in disguised for v in variables(side)}}
    hypotheses = [(name, show_equation(disguised))]
    return _finish(rng, "nat-algebra", "cancel", names, kinds, (first, second), hypotheses, tactics)


def _restore(
    current: Equation, target: Equation, where: str, rules: list[Rule], max_steps: int = 3
) -> list[str] | None:
    """`rw [...]` steps from one equation to another; None if there are none. `where`: ` at h` or an empty string."""
    frontier: list[tuple[Equation, list[str]]] = [(current, [])]
    seen = {current}
    for _ in range(max_steps + 1):
        following = []
        for equation, path in frontier:
            if equation == target:
                return path
            for text, new in successors(equation, rules, True):
                if new not in seen and len(seen) < 800:
                    seen.add(new)
                    following.append((new, [*path, f"{text}{where}"]))
        frontier = following
    return None


def list_algebra(rng: random.Random) -> Draft | None:
    """Equations between list terms, or between their lengths."""
    names = NameSupply(rng)
    letters = [names.variable("List Nat") for _ in range(rng.randint(2, 3))]
    functions = [names.variable("Nat → Nat")]
    start = random_list_term(rng, letters, functions, rng.choice((2, 2, 3)))
    rules = list(LIST_RULES)
    if rng.random() < 0.4:
        start = ("List.length", start)
        rules += [NAT["Nat.add_comm"], NAT["Nat.add_assoc"], NAT["Nat.add_left_comm"]]
    steps = rng.randint(1, 5)
    end = walk(rng, start, rules, steps)
    equation = (start, end) if rng.random() < 0.6 else (end, start)
    if start == end or len(show_equation(equation)) > 95:
        return None
    closing = solve(equation, rules, min(steps, 5), max_nodes=350)
    if closing is None:
        return None
    mentioned = variables(start) + variables(end)
    kinds = {name: "List Nat" for name in letters if name in mentioned}
    kinds |= {name: "Nat → Nat" for name in functions if name in mentioned}
    return _finish(rng, "list", "walk", names, kinds, equation, [], closing)


def equations(rng: random.Random) -> Draft | None:
    """Equations proved by rewriting with hypotheses about constants and functions, such as `∀ x, f (g x) = x`."""
    # 1. Functions, constants, and a walk from a term by hypotheses that are made on the way.
    names = NameSupply(rng)
    kind = rng.choice(("α", "Nat", "Nat"))
    arrow = f"{kind} → {kind}"
    names.used |= {"α"}
    functions = [names.variable(arrow) for _ in range(rng.randint(1, 3))]
    constants = [names.variable(kind) for _ in range(rng.randint(2, 3))]
    maker = _EquationMaker(rng, names, kind, functions, constants)
    start = maker.term(rng.choice((1, 2, 2, 3)))
    term = start
    for _ in range(rng.randint(1, 5)):
        term = maker.forward(term)
    if term == start:
        return None
    rules = maker.rules + ([NAT["Nat.add_comm"]] if kind == "Nat" and rng.random() < 0.3 else [])
    equation: Equation = (start, term)
    if rng.random() < 0.3:
        equation = (term, start)
    # The walk itself is a proof, but a shorter one may exist, and Lean's `rw` may rewrite in other places.
    closing = solve(equation, rules, 7, max_nodes=400, explicit=False)
    # 2. Sometimes a second equation from the same hypotheses.
    second = _second_equation(rng, maker, rules) if rng.random() < 0.35 else None
    goals = [equation, *([second[0]] if second else [])]
    text = " ∧ ".join(show_equation(goal) for goal in goals)
    if closing is None or len(text + "".join(text for _, text in maker.hypotheses)) > 170:
        return None
    # 3. Only what is mentioned becomes a variable; sometimes the equation is used inside a predicate.
    kinds = ({"α": "Type"} if kind == "α" else {}) | maker.kinds
    mentioned = {name for goal in goals for side in goal for name in _names(side)} | maker.mentioned
    kinds = {name: what for name, what in kinds.items() if name in mentioned or name == "α"}
    if second is None and rng.random() < 0.25:
        return _predicate_goal(rng, names, kinds, kind, equation, maker.hypotheses, closing, maker.rules)
    used = list(kinds.items())
    rng.shuffle(used)
    used.sort(key=lambda item: item[0] != "α")
    proof = chain(closing) if second is None else step("constructor", chain(closing), chain(second[1]))
    return Draft("equations", "chain", used, maker.hypotheses, text, proof)


def _second_equation(rng: random.Random, maker: _EquationMaker, rules: list[Rule]) -> tuple[Equation, list[str]] | None:
    """Another equation that follows from the same hypotheses, and perhaps from new ones."""
    start = term = maker.term(rng.choice((1, 2)))
    for _ in range(rng.randint(1, 3)):
        term = maker.forward(term)
    tactics = solve((start, term), [*maker.rules, *rules], 5, max_nodes=300, explicit=False) if term != start else None
    return None if tactics is None else ((start, term), tactics)


def _predicate_goal(
    rng: random.Random, names: NameSupply, kinds: dict[str, str], kind: str, equation: Equation,
    hypotheses: list[tuple[str, str]], closing: list[str], rules: list[Rule],
) -> Draft | None:  # fmt: skip
    """A statement `P t → P s`: rewrite the goal or the hypothesis, then `exact`."""
    if len(closing) > 3:
        return None
    predicate, premise = names.pick(("P", "Q", "R", "S")), names.hypothesis()
    source, target = equation if rng.random() < 0.5 else equation[::-1]
    marker = var("⋯")
    if rng.random() < 0.5:
        tactics = _restore((source, marker), (target, marker), f" at {premise}", rules)
    else:
        tactics = _restore((target, marker), (source, marker), "", rules)
    if tactics is None:
        return None
    kinds = kinds | {predicate: f"{kind} → Prop"}
    hypothesis = (premise, f"{predicate} {show(source, 1024)}")
    proof = chain([*tactics, f"exact {premise}"])
    return Draft(
        "equations",
        "predicate",
        list(kinds.items()),
        [*hypotheses, hypothesis],
        f"{predicate} {show(target, 1024)}",
        proof,
    )


def _names(term: Term) -> set[str]:
    return {part[0] for part in parts(term) if part[0] not in ("var", "num")} | set(variables(term))


class _EquationMaker:
    """Generates hypotheses that rewrite a given term into another."""

    def __init__(
        self, rng: random.Random, names: NameSupply, kind: str, functions: list[str], constants: list[str]
    ) -> None:
        self.rng, self.names, self.kind = rng, names, kind
        self.functions, self.constants = functions, constants
        self.kinds = dict.fromkeys(functions, f"{kind} → {kind}") | dict.fromkeys(constants, kind)
        self.rules: list[Rule] = []
        self.hypotheses: list[tuple[str, str]] = []
        self.mentioned: set[str] = set()

    def term(self, depth: int) -> Term:
        """A random term of functions and constants; for Nat also sums and products."""
        if depth == 0:
            return var(self.rng.choice(self.constants))
        if self.kind == "Nat" and self.rng.random() < 0.35:
            return (self.rng.choice("+*"), self.term(depth - 1), self.term(self.rng.randint(0, depth - 1)))
        return (self.rng.choice(self.functions), self.term(depth - 1))

    def forward(self, term: Term) -> Term:
        """Rewrite a random part with an existing rule, or with a new one."""
        options = [new for _, new in successors((term, var("⋯")), self.rules, True)]
        if options and self.rng.random() < 0.3:
            return self.rng.choice(options)[0]
        part = self.rng.choice([part for part in parts(term) if part[0] != "num"])
        if part[0] in self.functions and self.rng.random() < 0.5:
            return self._law(term, part)
        new = self.term(self.rng.choice((0, 0, 1)))
        if new == part or new in parts(part):
            return term
        self._add(part, new, ())
        return replace(term, part, new)

    def _law(self, term: Term, part: Term) -> Term:
        """Rewrite with a new law `∀ x, f (g x) = ...`, which generalizes the innermost subterm of a part."""
        inner = part[1] if self.rng.random() < 0.6 or part[1][0] not in self.functions else part[1][1]
        name = self.rng.choice([name for name in ("x", "y", "z", "t", "n") if name not in self.names.used])
        left = replace(part, inner, var(name))
        right = self._law_side(name)
        if left[0] == "var" or left == right or name not in variables(left):
            return term
        self._add(left, right, (name,))
        return replace(term, part, substitute(right, {name: inner}))

    def _law_side(self, name: str) -> Term:
        inner = var(name)
        shape = self.rng.random()
        if shape < 0.25:
            return inner
        if self.kind == "Nat" and shape < 0.6:
            return add(
                inner, self.rng.choice((num(self.rng.randint(1, 3)), var(self.rng.choice(self.constants)), inner))
            )
        outer = (self.rng.choice(self.functions), inner)
        return outer if shape < 0.85 else (self.rng.choice(self.functions), outer)

    def _add(self, left: Term, right: Term, arguments: tuple[str, ...]) -> None:
        if self.rng.random() < 0.3 and (not arguments or right[0] != "var"):
            left, right = right, left
        name = self.names.hypothesis()
        bound = f"∀ {' '.join(arguments)}, " if arguments else ""
        self.hypotheses.append((name, f"{bound}{show_equation((left, right))}"))
        self.rules.append(rule(name, left, right, *arguments))
        self.mentioned |= (_names(left) | _names(right)) - set(arguments)


def false_nat(rng: random.Random) -> Draft | None:
    """False equations: identities with one changed part, refuted by small numbers."""
    names = NameSupply(rng)
    letters = [names.variable("Nat") for _ in range(rng.randint(2, 3))]
    start = random_nat_term(rng, letters, 2)
    end = walk(rng, start, NAT_RULES[:10], rng.randint(1, 3))
    spot = rng.choice(list(parts(end)))
    end = replace(end, spot, random_nat_term(rng, letters, rng.choice((0, 0, 1))))
    mentioned = [name for name in letters if name in variables(start) + variables(end)]
    for _ in range(20):
        values = {name: num(rng.randint(0, 3)) for name in mentioned}
        left, right = value(substitute(start, values)), value(substitute(end, values))
        if left is not None and right is not None and left != right and mentioned:
            arguments = " ".join(str(values[name][1]) for name in mentioned)
            kinds = [(name, "Nat") for name in mentioned]
            return Draft("nat-algebra", "walk", kinds, [], show_equation((start, end)), None, arguments)
    return None


__all__ = ["cancellation", "equations", "false_nat", "instantiations", "list_algebra", "nat_algebra", "rewrite", "step"]
