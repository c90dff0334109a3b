"""Families `propositional`, `classical` and `quantifiers`: random sequents that the prover of `logic` can prove."""

from __future__ import annotations

import random

from data.generators.families.draft import PREDICATE_NAMES, Draft, NameSupply
from data.generators.families.logic import (
    FALSE,
    BankProver,
    Formula,
    GaveUp,
    Sequent,
    atom,
    atoms,
    countermodels,
    free_terms,
    show,
    substitute,
)

# ----------------------------------------------------------------------------------------------------------------------
# Random sequents that are true by construction: choose a goal, then add hypotheses that imply it, backwards.

BOUND_NAMES = ("x", "y", "z", "u", "v", "w")


class Explainer:
    """Generates hypotheses for a goal. Without predicates, the formulas are propositional."""

    def __init__(
        self, rng: random.Random, letters: list[str], predicates: dict[str, int], constants: list[str]
    ) -> None:
        self.rng = rng
        self.letters = letters
        self.predicates = predicates
        """Name to number of arguments (1 or 2)."""
        self.constants = constants
        self.hypotheses: list[Formula] = []
        self.locals: list[str] = []
        """Variables of the goal's own quantifiers. Hypotheses that mention one are universally quantified over it."""
        self.assumed: list[Formula] = []
        """Premises of the goal itself, which a proof may use."""

    def random_atom(self, terms: list[str] | None = None) -> Formula:
        """A propositional letter, or a predicate of terms (default: the constants and local variables)."""
        terms = [*self.constants, *self.locals] if terms is None else terms
        if self.predicates and terms and (not self.letters or self.rng.random() < 0.8):
            name = self.rng.choice(sorted(self.predicates))
            return atom(name, *(self.rng.choice(terms) for _ in range(self.predicates[name])))
        return atom(self.rng.choice(self.letters)) if self.letters else FALSE

    def random_formula(self, depth: int) -> Formula:
        """A random formula of at most this depth, with few negations and equivalences."""
        if depth == 0 or self.rng.random() < 0.25:
            return self.random_atom()
        head = self.rng.choices(("and", "or", "imp", "not", "iff"), (4, 4, 4, 2, 1))[0]
        if head == "not":
            return ("not", self.random_formula(depth - 1))
        left, right = self.random_formula(depth - 1), self.random_formula(depth - 1)
        return left if left == right else (head, left, right)

    def bound_name(self, *formulas: Formula) -> str:
        used = {*self.constants, *self.locals} | {name for formula in formulas for name in _all_terms(formula)}
        return self.rng.choice([name for name in (*BOUND_NAMES, "x1", "y1", "z1") if name not in used])

    def add(self, formula: Formula) -> None:
        """Add a hypothesis, universally quantified over local variables. Repeated and trivial ones (`A → A`, `A ∧ A`)
        are not added."""
        if formula in self.assumed or _trivial(formula):
            return
        for name in sorted(free_terms(formula) & set(self.locals)):
            bound = self.bound_name(formula)
            formula = ("all", bound, substitute(formula, name, bound))
        if formula not in self.hypotheses:
            self.hypotheses.append(formula)

    def explain(self, goal: Formula, budget: int) -> None:
        """Add hypotheses from which the goal follows in about `budget` steps."""
        if goal in self.assumed and self.rng.random() < 0.8:
            return
        if self._explain_connective(goal, budget):
            return
        if budget <= 0:
            self.add(goal)
            return
        moves = [self._implication] * 4 + [
            self._two_premises,
            self._conjunction,
            self._cases,
            self._cases,
            self._equivalence,
        ]
        moves += [self._refuted_case]
        if self.predicates:
            moves += [self._universal] * 6 + [self._existence] * 3
        self.rng.choice(moves)(goal, budget)

    def _explain_connective(self, goal: Formula, budget: int) -> bool:
        """Split a compound goal and explain its parts. Returns False if it is not split."""
        head = goal[0]
        if head == "and":
            self.explain(goal[1], (budget - 1) // 2)
            self.explain(goal[2], budget - 1 - (budget - 1) // 2)
        elif head == "or" and self.rng.random() < 0.6:
            self.explain(self.rng.choice(goal[1:]), budget - 1)
        elif head in ("imp", "not"):
            self.assumed.append(goal[1])
            self.explain(goal[2] if head == "imp" else FALSE, budget - 1)
            self.assumed.pop()
        elif head == "iff":
            self.explain(("imp", goal[1], goal[2]), budget // 2)
            self.explain(("imp", goal[2], goal[1]), budget // 2)
        elif head == "all":
            self.locals.append(goal[1])
            self.explain(goal[2], budget - 1)
            self.locals.pop()
        elif head == "ex" and self.constants + self.locals:
            self.explain(substitute(goal[2], goal[1], self.rng.choice(self.constants + self.locals)), budget - 1)
        else:
            return False
        return True

    def _premise(self) -> Formula:
        """A formula to derive the goal from, preferably one of the assumed ones."""
        if self.assumed and self.rng.random() < 0.6:
            return self.rng.choice(self.assumed)
        return self.random_formula(self.rng.choice((0, 0, 0, 1)))

    def _implication(self, goal: Formula, budget: int) -> None:
        premise = self._premise()
        self.add(("imp", premise, goal) if goal != FALSE else ("not", premise))
        self.explain(premise, budget - 1)

    def _two_premises(self, goal: Formula, budget: int) -> None:
        first, second = self._premise(), self.random_atom()
        self.add(("imp", first, ("imp", second, goal)))
        self.explain(first, (budget - 1) // 2)
        self.explain(second, (budget - 1) // 2)

    def _conjunction(self, goal: Formula, budget: int) -> None:
        other = self.random_atom()
        self.explain(("and", *self.rng.sample((goal, other), 2)), 0) if budget < 2 else None
        pair = ("and", *self.rng.sample((goal, other), 2))
        premise = self._premise()
        self.add(("imp", premise, pair))
        self.explain(premise, budget - 2)

    def _cases(self, goal: Formula, budget: int) -> None:
        first, second = self.random_formula(0), self.random_formula(self.rng.choice((0, 1)))
        self.add(("or", first, second))
        if first != goal:
            self.add(("imp", first, goal) if goal != FALSE else ("not", first))
        self.assumed.append(second)
        self.explain(goal, budget - 2)
        self.assumed.pop()

    def _refuted_case(self, goal: Formula, budget: int) -> None:
        other = self.random_atom()
        self.add(("or", *self.rng.sample((goal, other), 2)))
        self.explain(("not", other), budget - 2)

    def _equivalence(self, goal: Formula, budget: int) -> None:
        premise = self._premise()
        self.add(("iff", *self.rng.sample((premise, goal), 2)))
        self.explain(premise, budget - 1)

    def _universal(self, goal: Formula, budget: int) -> None:
        """`∀ x, A x → G x` for a term x of the goal, sometimes with a relation between two variables."""
        terms = sorted(free_terms(goal))
        if not terms:
            self._implication(goal, budget)
            return
        term = self.rng.choice(terms)
        premise = self.random_atom([term, term, self.rng.choice(self.constants + self.locals)])
        rule: Formula = ("imp", premise, goal) if goal != FALSE else ("not", premise)
        for name in [*self.rng.sample(terms, self.rng.randint(1, len(terms))), term]:
            if name in free_terms(rule):
                bound = self.bound_name(rule)
                rule = ("all", bound, substitute(rule, name, bound))
        self.add(rule)
        self.explain(premise, budget - 1)

    def _existence(self, goal: Formula, budget: int) -> None:
        """`∃ x, A x` and `∀ x, A x → G`."""
        bound = self.bound_name(goal)
        other = self.bound_name(goal, atom("", bound))
        name = self.rng.choice(sorted(self.predicates))
        arguments = [self.rng.choice((bound, *self.constants)) for _ in range(self.predicates[name])]
        arguments[0] = bound
        body = atom(name, *arguments)
        extra = self.random_atom([bound])
        self.add(("ex", bound, ("and", body, extra) if self.rng.random() < 0.6 else body))
        self.add(("all", other, ("imp", substitute(body, bound, other), goal)))
        if self.rng.random() < 0.3:
            self.explain(self.random_atom(), budget - 2)


def _all_terms(formula: Formula) -> set[str]:
    head = formula[0]
    if head == "atom":
        return set(formula[2:])
    if head in ("all", "ex"):
        return {formula[1]} | _all_terms(formula[2])
    return {name for part in formula[1:] for name in _all_terms(part)}


def _trivial(formula: Formula) -> bool:
    """Whether a formula is trivial, such as `A ∧ A`, `A → A` or `A → B → A`."""
    if formula[0] in ("all", "ex"):
        return _trivial(formula[2])
    if formula[0] in ("atom", "false", "not"):
        return False
    tail = formula[2]
    while tail[0] == "imp":
        if tail[1] == formula[1] or tail[2] == formula[1]:
            return True
        tail = tail[2]
    return bool(formula[1] == formula[2])


# ----------------------------------------------------------------------------------------------------------------------
# Families `propositional`, `classical` and `quantifiers`: random sequents that the bank's small prover can prove.

MAX_HYPOTHESES = 7
MAX_TEXT = 180
"""Most characters of hypotheses and conclusion, so that states are short."""


def propositional(rng: random.Random) -> Draft | None:
    """Intuitionistic propositional logic: goals with hypotheses that imply them, or random valid sequents."""
    names = NameSupply(rng)
    letters = [names.variable("Prop") for _ in range(rng.randint(2, 5))]
    if rng.random() < 0.7:
        explainer = Explainer(rng, letters, {}, [])
        goal = explainer.random_formula(rng.choice((0, 1, 1, 2)))
        explainer.explain(goal, rng.randint(1, 9))
        hypotheses = explainer.hypotheses
    else:
        hypotheses, goal = random_sequent(rng, letters)
        if next(countermodels(hypotheses, goal), None) is not None:
            return None
    return sequent_draft(rng, "propositional", names, [(letter, "Prop") for letter in letters], hypotheses, goal)


def classical(rng: random.Random) -> Draft | None:
    """Classically valid sequents for which the prover finds no intuitionistic proof."""
    names = NameSupply(rng)
    letters = [names.variable("Prop") for _ in range(rng.randint(1, 4))]
    for _ in range(20):
        hypotheses, goal = random_sequent(rng, letters)
        if next(countermodels(hypotheses, goal), None) is None and not _intuitionistic(hypotheses, goal):
            break
    else:
        return None
    variables = [(letter, "Prop") for letter in letters]
    return sequent_draft(rng, "classical", names, variables, hypotheses, goal, classical=True)


def false_propositional(rng: random.Random) -> Draft | None:
    """False sequents, with a countermodel."""
    names = NameSupply(rng)
    letters = [names.variable("Prop") for _ in range(rng.randint(2, 4))]
    hypotheses, goal = random_sequent(rng, letters)
    model = next(countermodels(hypotheses, goal), None)
    if model is None or len(hypotheses) == 0:
        return None
    values = ["True" if model.get(atom(letter), False) else "False" for letter in letters]
    named = [(names.hypothesis(), show(formula)) for formula in hypotheses]
    return Draft(
        rng.choice(("propositional", "classical")),
        "sequent",
        [(letter, "Prop") for letter in letters],
        named,
        show(goal),
        None,
        " ".join(values),
    )


def random_sequent(rng: random.Random, letters: list[str]) -> tuple[list[Formula], Formula]:
    """Random hypotheses and a random goal."""
    maker = Explainer(rng, letters, {}, [])
    hypotheses = [maker.random_formula(2) for _ in range(rng.choice((0, 1, 1, 2, 2, 3)))]
    return hypotheses, maker.random_formula(rng.choice((1, 2, 2)))


def _intuitionistic(hypotheses: list[Formula], goal: Formula) -> bool:
    named = tuple((f"k{index}", formula) for index, formula in enumerate(hypotheses))
    try:
        BankProver().prove(Sequent(named, goal, (), frozenset(name for name, _ in named)), 6)
    except GaveUp:
        return False
    return True


def quantifiers(rng: random.Random, family: str = "quantifiers") -> Draft | None:
    """First-order logic: predicates on a type, constants, relations."""
    names = NameSupply(rng)
    kind = rng.choice(("α", "α", "Nat"))
    variables = [("α", "Type")] if kind == "α" else []
    names.used |= {"α"}
    predicates = {names.pick(PREDICATE_NAMES): rng.choice((1, 1, 1, 2)) for _ in range(rng.randint(2, 3))}
    letters = [names.variable("Prop")] if rng.random() < 0.25 else []
    constants = [names.variable(kind) for _ in range(rng.choice((0, 1, 1, 2)))]
    explainer = Explainer(rng, letters, predicates, constants)
    goal = _quantified_goal(rng, explainer, family)
    explainer.explain(goal, rng.randint(1, 7))
    variables += [(letter, "Prop") for letter in letters]
    variables += [(name, f"{kind} → Prop" if n == 1 else f"{kind} → {kind} → Prop") for name, n in predicates.items()]
    variables += [(constant, kind) for constant in constants]
    return sequent_draft(rng, family, names, variables, explainer.hypotheses, goal)


def _quantified_goal(rng: random.Random, explainer: Explainer, family: str) -> Formula:
    """A goal: `∀ x, A x → B x`, `∃ x, A x ∧ B x`, or a formula about constants without quantifiers."""
    shape = "ex" if family == "existence" else rng.choice(("all", "all", "ex", "plain"))
    if shape == "plain" and explainer.constants:
        return explainer.random_formula(1)
    bound = explainer.bound_name()
    explainer.locals.append(bound)
    first = explainer.random_atom([bound])
    second = explainer.random_atom()
    explainer.locals.pop()
    if shape == "ex":
        return ("ex", bound, ("and", first, second) if rng.random() < 0.7 else first)
    head = rng.choice(("imp", "imp", "imp", "or", "and", "not"))
    return ("all", bound, ("not", first) if head == "not" else (head, first, second))


def vacuous(formula: Formula) -> bool:
    """Whether a quantifier binds a variable that does not occur, or a connective joins equal formulas."""
    if formula[0] in ("atom", "false"):
        return False
    if formula[0] in ("all", "ex"):
        return formula[1] not in free_terms(formula[2]) or vacuous(formula[2])
    return (formula[1] == formula[-1] != formula[0] and len(formula) == 3) or any(map(vacuous, formula[1:]))


def sequent_draft(
    rng: random.Random,
    family: str,
    names: NameSupply,
    variables: list[tuple[str, str]],
    hypotheses: list[Formula],
    goal: Formula,
    classical: bool = False,
) -> Draft | None:
    """Prove a sequent and make it a statement. Hypotheses become binders or premises of the conclusion; unused
    variables are dropped. None: it is unsuitable or not proved."""
    # 1. Unsuitable sequents.
    if (
        len(hypotheses) > MAX_HYPOTHESES
        or goal in hypotheses
        or FALSE in hypotheses
        or any(map(vacuous, [*hypotheses, goal]))
    ):
        return None
    # The last `moved` hypotheses become premises of the conclusion, so that proofs begin with `intro`.
    moved = rng.choice((0, 0, 0, 1, 2, len(hypotheses)))
    in_binders = hypotheses[: max(len(hypotheses) - moved, 0)]
    for formula in reversed(hypotheses[len(in_binders) :]):
        goal = ("imp", formula, goal)
    # 2. Names and types of what is mentioned.
    named = [(names.hypothesis(), formula) for formula in in_binders]
    mentioned = {part for formula in [*in_binders, goal] for letter in atoms(formula) for part in letter[1:]}
    mentioned |= {name for formula in [*in_binders, goal] for name in free_terms(formula)}
    variables = [(name, kind) for name, kind in variables if name in mentioned or name == "α"]
    types = {"Prop", "Type"}
    terms = tuple(name for name, kind in variables if kind not in types and "→" not in kind)
    text = show(goal) + "".join(show(formula) for _, formula in named)
    if len(text) > MAX_TEXT:
        return None
    try:
        proof = BankProver(classical).prove(Sequent(tuple(named), goal, terms, frozenset(names.used | set(mentioned))))
    except GaveUp:
        return None
    return Draft(family, "sequent", variables, [(name, show(formula)) for name, formula in named], show(goal), proof)
