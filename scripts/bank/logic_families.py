"""Families `propositional`, `classical` and `quantifiers`: random sequents that the bank's small prover can prove."""

from __future__ import annotations

import random

from scripts.bank.draft import PREDICATE_NAMES, Draft, NameSupply
from scripts.bank.explain import Explainer
from scripts.bank.logic import FALSE, Formula, atom, atoms, countermodels, free_terms, show
from scripts.bank.prover import BankProver, GaveUp, Sequent

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
