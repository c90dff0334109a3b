"""Formulas of propositional and first-order logic with their Lean text, and a small prover for sequents of them.

The prover finds a shortest proof of one-line tactics by iterative deepening, and Lean checks every proof. Invertible
steps (`intro`, `rcases` of a conjunction or an existential) are always taken first, so proofs have a uniform style that
a small policy can learn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from common.lean import ProofTree
from data.generators.families.draft import step

# ----------------------------------------------------------------------------------------------------------------------
# Formulas of propositional and first-order logic as immutable tuples, and their text in Lean's notation.

Formula = tuple[Any, ...]
"""("atom", name, *terms), ("false",), ("not", A), ("and" | "or" | "imp" | "iff", A, B), ("all" | "ex", variable, A)."""

FALSE: Formula = ("false",)
SYMBOLS = {"and": ("∧", 35), "or": ("∨", 30), "imp": ("→", 25), "iff": ("↔", 20)}
"""Symbols and binding powers, as in Lean. ∧, ∨ and → are right-associative, ↔ is not associative."""


def atom(predicate: str, *terms: str) -> Formula:
    return ("atom", predicate, *terms)


def show(formula: Formula, power: int = 0) -> str:
    """Lean text with as few brackets as Lean prints. Bound variables have no types; Lean infers them."""
    head = formula[0]
    if head == "atom":
        return " ".join(formula[1:])
    if head == "false":
        return "False"
    if head == "not":
        return f"¬{show(formula[1], 41)}"
    if head in ("all", "ex"):
        names, body = [formula[1]], formula[2]
        while body[0] == head:
            names.append(body[1])
            body = body[2]
        return _bracket(f"{'∀' if head == 'all' else '∃'} {' '.join(names)}, {show(body)}", power > 0)
    symbol, own = SYMBOLS[head]
    left, right = show(formula[1], own + 1), show(formula[2], own + 1 if head == "iff" else own)
    return _bracket(f"{left} {symbol} {right}", power > own)


def _bracket(text: str, needed: bool) -> str:
    return f"({text})" if needed else text


def substitute(formula: Formula, name: str, term: str) -> Formula:
    """Replace a free variable by a term. All bound names are different, so there is no variable capture."""
    head = formula[0]
    if head == "atom":
        return ("atom", formula[1], *(term if part == name else part for part in formula[2:]))
    if head == "false":
        return formula
    if head in ("all", "ex"):
        return formula if formula[1] == name else (head, formula[1], substitute(formula[2], name, term))
    return (head, *(substitute(part, name, term) for part in formula[1:]))


def canonical(formula: Formula, bound: tuple[str, ...] = ()) -> Formula:
    """The formula with numbered bound variables. Formulas that differ only in bound names give equal results."""
    head = formula[0]
    if head == "atom":
        return ("atom", formula[1], *(f"#{bound.index(part)}" if part in bound else part for part in formula[2:]))
    if head == "false":
        return formula
    if head in ("all", "ex"):
        return (head, "", canonical(formula[2], (formula[1], *bound)))
    return (head, *(canonical(part, bound) for part in formula[1:]))


def free_terms(formula: Formula, bound: frozenset[str] = frozenset()) -> set[str]:
    """The free term variables of a formula."""
    head = formula[0]
    if head == "atom":
        return {part for part in formula[2:] if part not in bound}
    if head in ("all", "ex"):
        return free_terms(formula[2], bound | {formula[1]})
    return {name for part in formula[1:] for name in free_terms(part, bound)}


def atoms(formula: Formula) -> set[Formula]:
    """The atomic subformulas of a formula."""
    if formula[0] == "atom":
        return {formula}
    return {atomic for part in formula[1:] if isinstance(part, tuple) for atomic in atoms(part)}


def evaluate(formula: Formula, model: dict[Formula, bool]) -> bool:
    """The truth value of a propositional formula in a model."""
    head = formula[0]
    if head == "atom":
        return model[formula]
    if head == "false":
        return False
    values = [evaluate(part, model) for part in formula[1:]]
    if head == "not":
        return not values[0]
    return {
        "and": values[0] and values[-1],
        "or": values[0] or values[-1],
        "imp": not values[0] or values[-1],
        "iff": values[0] == values[-1],
    }[head]


def countermodels(hypotheses: list[Formula], goal: Formula) -> Iterator[dict[Formula, bool]]:
    """Models of the hypotheses in which the goal is false; none if the sequent is classically valid."""
    letters = sorted({letter for formula in [*hypotheses, goal] for letter in atoms(formula)})
    for values in product((False, True), repeat=len(letters)):
        model = dict(zip(letters, values, strict=True))
        if all(evaluate(formula, model) for formula in hypotheses) and not evaluate(goal, model):
            yield model


# ----------------------------------------------------------------------------------------------------------------------
# A small prover for sequents of logic. It finds a shortest proof of one-line tactics by iterative deepening.

MAX_NODES = 1200
"""Most sequents of a search, which takes some tens of milliseconds."""

Context = tuple[tuple[str, Formula], ...]

SequentKey = tuple[frozenset[Formula], Formula, tuple[str, ...]]


class GaveUp(Exception):
    """The prover found no proof within its limits."""


@dataclass(frozen=True)
class Sequent:
    context: Context
    goal: Formula
    terms: tuple[str, ...]
    used: frozenset[str]
    """Names in use."""

    def key(self) -> SequentKey:
        """A key that is equal for sequents that differ only in names and order of hypotheses."""
        return frozenset(canonical(formula) for _, formula in self.context), canonical(self.goal), self.terms

    def fresh(self, pool: tuple[str, ...] = ()) -> str:
        return next(name for name in [*pool, *(f"h{i}" for i in range(1, 99))] if name not in self.used)

    def add(self, name: str, formula: Formula) -> Sequent:
        return Sequent((*self.context, (name, formula)), self.goal, self.terms, self.used | {name})

    def without(self, name: str) -> Sequent:
        return Sequent(tuple(item for item in self.context if item[0] != name), self.goal, self.terms, self.used)

    def aim(self, goal: Formula) -> Sequent:
        return Sequent(self.context, goal, self.terms, self.used)


class BankProver:
    """Proves sequents. `classical` allows `by_cases` on atoms and proofs by contradiction."""

    def __init__(self, classical: bool = False) -> None:
        self.classical = classical
        self.failed: dict[SequentKey, int] = {}
        self.nodes = 0

    def prove(self, sequent: Sequent, max_depth: int = 8) -> ProofTree:
        """A proof whose longest branch is as short as possible in this prover's style. Raises GaveUp."""
        self.failed, self.nodes = {}, 0
        for depth in range(1, max_depth + 1):
            proof = self._search(sequent, depth)
            if proof is not None:
                return proof
        raise GaveUp

    def _search(self, sequent: Sequent, depth: int) -> ProofTree | None:
        if depth <= 0:
            return None
        key = sequent.key()
        if self.failed.get(key, 0) >= depth:
            return None
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise GaveUp
        closing = close(sequent)
        if closing is not None:
            return step(closing)
        for tactic, children in self._moves(sequent):
            proofs = []
            for child in children:
                proof = self._search(child, depth - 1)
                if proof is None:
                    break
                proofs.append(proof)
            else:
                return step(tactic, *proofs)
        self.failed[key] = depth
        return None

    def _moves(self, sequent: Sequent) -> Iterator[tuple[str, list[Sequent]]]:
        eager = introduce(sequent) or take_apart(sequent)
        if eager is not None:
            yield eager
            return
        goal = sequent.goal
        if goal[0] in ("and", "iff"):
            yield "constructor", _both(sequent)
        yield from backward(sequent)
        yield from case_splits(sequent)
        if goal[0] == "or":
            yield "left", [sequent.aim(goal[1])]
            yield "right", [sequent.aim(goal[2])]
        if goal[0] == "ex":
            for term in sequent.terms:
                yield f"refine ⟨{term}, ?_⟩", [sequent.aim(substitute(goal[2], goal[1], term))]
        yield from forward(sequent)
        if goal != FALSE and any(formula[0] == "not" for _, formula in sequent.context):
            yield "exfalso", [sequent.aim(FALSE)]
        if self.classical:
            yield from classical_moves(sequent)


def _both(sequent: Sequent) -> list[Sequent]:
    kind, left, right = sequent.goal
    if kind == "and":
        return [sequent.aim(left), sequent.aim(right)]
    return [sequent.aim(("imp", left, right)), sequent.aim(("imp", right, left))]


def close(sequent: Sequent) -> str | None:
    """A tactic that closes the goal from the context; None if there is none."""
    # 1. The context, by formulas up to names of bound variables.
    known: dict[Formula, str] = {}
    for name, formula in sequent.context:
        known.setdefault(canonical(formula), name)
    goal = canonical(sequent.goal)
    # 2. Closed by one hypothesis, or by a contradiction.
    if goal in known:
        return f"exact {known[goal]}"
    if FALSE in known or any(("not", formula) in known for formula in known):
        return "contradiction"
    # 3. A compound goal whose parts are known.
    if goal[0] == "and" and goal[1] in known and goal[2] in known:
        return f"exact ⟨{known[goal[1]]}, {known[goal[2]]}⟩"
    if goal[0] == "or":
        for side, word in ((1, "inl"), (2, "inr")):
            if goal[side] in known:
                return f"exact Or.{word} {known[goal[side]]}"
    if sequent.goal[0] == "ex":
        for term in sequent.terms:
            witness = canonical(substitute(sequent.goal[2], sequent.goal[1], term))
            if witness in known:
                return f"exact ⟨{term}, {known[witness]}⟩"
    # 4. An implication or an equivalence whose premises are known.
    for name, formula in sequent.context:
        for arguments, premises, head in instances(sequent, formula):
            if canonical(head) == goal and (arguments or premises):
                proofs = [known.get(canonical(premise)) for premise in premises]
                if None not in proofs:
                    return f"exact {' '.join([name, *arguments, *(text for text in proofs if text)])}"
        if formula[0] == "iff":
            for target, source, word in ((formula[2], formula[1], "mp"), (formula[1], formula[2], "mpr")):
                if canonical(target) == goal and canonical(source) in known:
                    return f"exact {name}.{word} {known[canonical(source)]}"
    return None


def instances(sequent: Sequent, formula: Formula, depth: int = 3) -> Iterator[tuple[list[str], list[Formula], Formula]]:
    """Instances of a formula `∀ x, A → B → H`: terms for its variables, premises, and conclusion.

    Only leading variables are instantiated (`∀ x, A → ∀ y, ...` stops at the second quantifier).
    """
    yield [], *_premises(formula)[-1]
    if formula[0] in ("imp", "not"):
        for premises, head in _premises(formula)[:-1]:
            yield [], premises, head
    if formula[0] == "all" and depth > 0:
        for term in sequent.terms:
            for arguments, premises, head in instances(sequent, substitute(formula[2], formula[1], term), depth - 1):
                yield [term, *arguments], premises, head


def _premises(formula: Formula) -> list[tuple[list[Formula], Formula]]:
    """`A → B → H` as ([], A → B → H), ([A], B → H), ([A, B], H)."""
    splits: list[tuple[list[Formula], Formula]] = [([], formula)]
    while formula[0] in ("imp", "not"):
        premise, formula = formula[1], formula[2] if formula[0] == "imp" else FALSE
        splits.append(([*splits[-1][0], premise], formula))
    return splits


def introduce(sequent: Sequent) -> tuple[str, list[Sequent]] | None:
    """`intro` for up to three leading quantifiers and premises of the goal."""
    names: list[str] = []
    while len(names) < 3 and sequent.goal[0] in ("imp", "not", "all"):
        goal = sequent.goal
        if goal[0] == "all":
            name = sequent.fresh((goal[1], "x", "y", "z", "u", "v"))
            body = substitute(goal[2], goal[1], name)
            sequent = Sequent(sequent.context, body, (*sequent.terms, name), sequent.used | {name})
        else:
            name = sequent.fresh()
            sequent = sequent.add(name, goal[1]).aim(goal[2] if goal[0] == "imp" else FALSE)
        names.append(name)
    return (f"intro {' '.join(names)}", [sequent]) if names else None


def take_apart(sequent: Sequent) -> tuple[str, list[Sequent]] | None:
    """`rcases` on the first conjunction or existential of the context."""
    for name, formula in sequent.context:
        if formula[0] == "and":
            reduced = sequent.without(name)
            first = reduced.fresh()
            reduced = reduced.add(first, formula[1])
            second = reduced.fresh()
            return f"rcases {name} with ⟨{first}, {second}⟩", [reduced.add(second, formula[2])]
        if formula[0] == "ex":
            reduced = sequent.without(name)
            term = reduced.fresh((formula[1], "x", "y", "z", "u", "v"))
            reduced = Sequent(reduced.context, reduced.goal, (*reduced.terms, term), reduced.used | {term})
            first = reduced.fresh()
            body = substitute(formula[2], formula[1], term)
            return f"rcases {name} with ⟨{term}, {first}⟩", [reduced.add(first, body)]
    return None


def backward(sequent: Sequent) -> Iterator[tuple[str, list[Sequent]]]:
    """`apply h` for hypotheses `h` whose conclusion is the goal, if the goal determines all variables of `h`."""
    goal = canonical(sequent.goal)
    for name, formula in sequent.context:
        variables = _leading_variables(formula)
        for _, premises, head in instances(sequent, formula):
            if premises and canonical(head) == goal:
                if variables and not _determined(formula, len(variables)):
                    break
                yield f"apply {name}", [sequent.aim(premise) for premise in premises]
                break
        if formula[0] == "iff":
            for target, source, word in ((formula[2], formula[1], "mp"), (formula[1], formula[2], "mpr")):
                if canonical(target) == goal:
                    yield f"apply {name}.{word}", [sequent.aim(source)]


def _leading_variables(formula: Formula) -> list[str]:
    return [formula[1], *_leading_variables(formula[2])] if formula[0] == "all" else []


def _determined(formula: Formula, count: int) -> bool:
    """Whether all leading variables occur in the conclusion, so that `apply` leaves no metavariables."""
    variables = set(_leading_variables(formula))
    for _ in range(count):
        formula = formula[2]
    return variables <= free_terms(_premises(formula)[-1][1])


def case_splits(sequent: Sequent) -> Iterator[tuple[str, list[Sequent]]]:
    """`rcases h with h1 | h2` for each disjunction of the context."""
    for name, formula in sequent.context:
        if formula[0] == "or":
            reduced = sequent.without(name)
            first, second = reduced.fresh(), reduced.add(reduced.fresh(), formula[1]).fresh()
            yield (
                f"rcases {name} with {first} | {second}",
                [reduced.add(first, formula[1]), reduced.add(second, formula[2])],
            )


def forward(sequent: Sequent) -> Iterator[tuple[str, list[Sequent]]]:
    """`have h2 := h x h1`: new facts that follow from the context in one step."""
    known = {canonical(formula): name for name, formula in reversed(sequent.context)}
    for name, formula in sequent.context:
        for arguments, premises, head in instances(sequent, formula):
            proofs = [known.get(canonical(premise)) for premise in premises]
            if not (arguments or premises) or None in proofs or canonical(head) in known or head == FALSE:
                continue
            new = sequent.fresh()
            yield (
                f"have {new} := {' '.join([name, *arguments, *(text for text in proofs if text)])}",
                [sequent.add(new, head)],
            )
        if formula[0] == "iff":
            for target, source, word in ((formula[2], formula[1], "mp"), (formula[1], formula[2], "mpr")):
                if canonical(source) in known and canonical(target) not in known:
                    new = sequent.fresh()
                    yield f"have {new} := {name}.{word} {known[canonical(source)]}", [sequent.add(new, target)]


def classical_moves(sequent: Sequent) -> Iterator[tuple[str, list[Sequent]]]:
    """`by_cases` on atoms that the context does not decide, and proof by contradiction."""
    known = {canonical(formula) for _, formula in sequent.context}
    letters = sorted({letter for _, formula in sequent.context for letter in atoms(formula)} | atoms(sequent.goal))
    for letter in letters:
        if set(letter[2:]) <= set(sequent.terms) and letter not in known and ("not", letter) not in known:
            name = sequent.fresh()
            yield f"by_cases {name} : {show(letter)}", [sequent.add(name, letter), sequent.add(name, ("not", letter))]
    if sequent.goal != FALSE and ("not", canonical(sequent.goal)) not in known:
        yield "apply Classical.byContradiction", [sequent.aim(("imp", ("not", sequent.goal), FALSE))]
