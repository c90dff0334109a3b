"""Family `nat-order`: inequalities that are derived backwards by monotonicity, transitivity and hypotheses."""

from __future__ import annotations

import random
import re

from common.lean import ProofTree
from data.generators.families.draft import Draft, NameSupply, step
from data.generators.families.terms import Term, add, mul, num, show, substitute, value, var

MAX_HYPOTHESES = 6


class Statement:
    """Collects the variables and hypotheses of a statement. Some hypotheses become premises of the conclusion."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.names = NameSupply(rng)
        self.variables: list[tuple[str, str]] = []
        self.hypotheses: list[tuple[str, str]] = []
        self.premises: list[tuple[str, str]] = []
        self.curried = rng.random() < 0.3

    def variable(self, kind: str) -> str:
        name = self.names.variable(kind)
        self.variables.append((name, kind))
        return name

    def hypothesis(self, text: str) -> str:
        """Add a hypothesis if it is new; returns its name."""
        for name, existing in [*self.hypotheses, *self.premises]:
            if existing == text:
                return name
        if self.curried and len(self.premises) < 3 and self.rng.random() < 0.6:
            self.premises.append((self.names.introduced(), text))
            return self.premises[-1][0]
        self.hypotheses.append((self.names.hypothesis(), text))
        return self.hypotheses[-1][0]

    def draft(self, family: str, generator: str, goal: str, proof: ProofTree) -> Draft | None:
        """The finished statement; None if it has too many hypotheses or no variables."""
        if len(self.hypotheses) + len(self.premises) > MAX_HYPOTHESES:
            return None
        if self.premises:
            proof = step(f"intro {' '.join(name for name, _ in self.premises)}", proof)
            goal = " → ".join([*(bracketed(text) for _, text in self.premises), goal])
        text = " ".join([goal, *(text for _, text in self.hypotheses)])
        words = set(re.split(r"[\s().¬,]+", text))
        variables = [(name, kind) for name, kind in self.variables if name in words]
        self.rng.shuffle(variables)
        return Draft(family, generator, variables, self.hypotheses, goal, proof) if variables else None


def bracketed(text: str) -> str:
    """A premise, bracketed if this is necessary before an arrow."""
    return f"({text})" if any(mark in text for mark in ("→", "∀", "∃", "↔")) else text


def nat_order(rng: random.Random) -> Draft | None:
    """Statements with conclusion `s ≤ t`, `s < t`, `s = t`, a negation, `False` or a conjunction."""
    # 1. Two terms that can be compared; the maker adds the hypotheses which its proof needs.
    maker = _Order(rng)
    budget = rng.randint(0, 4)
    kind = rng.choices(("le", "lt", "eq", "not", "false", "and"), (6, 3, 2, 1.5, 1, 1.5))[0]
    left, right = maker.pair(rng.choice((0, 1, 1, 2)))
    # 2. The goal and its proof, by kind.
    try:
        if kind == "le":
            goal, proof = f"{show(left)} ≤ {show(right)}", maker.le(left, right, budget)
        elif kind == "lt":
            goal, proof = f"{show(left)} < {show(right)}", maker.lt(left, right, budget)
        elif kind == "eq":
            left, right = maker.pair(rng.choice((0, 0, 1)))
            if left == right:
                return None
            goal = f"{show(left)} = {show(right)}"
            proof = step(
                "apply Nat.le_antisymm", maker.le(left, right, budget // 2), maker.le(right, left, budget // 2)
            )
        elif kind == "not" and rng.random() < 0.5:
            goal, proof = (
                f"¬{show(right, 51)} < {show(left, 51)}",
                step("apply Nat.not_lt_of_le", maker.le(left, right, budget)),
            )
        elif kind == "not":
            goal, proof = (
                f"¬{show(right, 51)} ≤ {show(left, 51)}",
                step("apply Nat.not_le_of_lt", maker.lt(left, right, budget)),
            )
        elif kind == "false":
            term = maker.pair(rng.choice((0, 0, 1)))[0]
            goal, proof = "False", step(f"apply Nat.lt_irrefl {show(term, 1024)}", maker.lt(term, term, budget + 1))
        else:
            other, another = maker.pair(rng.choice((0, 1)))
            goal = f"{show(left)} ≤ {show(right)} ∧ {show(other)} ≤ {show(another)}"
            proof = step("constructor", maker.le(left, right, budget // 2), maker.le(other, another, budget // 2))
    except IndexError:  # out of names
        return None
    # 3. `¬` binds stronger than the relation: the whole inequality is in brackets.
    if kind in ("not",):
        goal = goal.replace("¬", "¬(", 1) + ")"
    return maker.statement.draft("nat-order", "explain", goal, proof)


class _Order:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.statement = Statement(rng)
        self.letters = [self.statement.variable("Nat") for _ in range(2)]
        self.function = self.statement.variable("Nat → Nat") if rng.random() < 0.35 else ""
        self.images: dict[Term, Term] = {}

    def letter(self, fresh: float = 0.6) -> Term:
        if len(self.letters) < 6 and self.rng.random() < fresh:
            self.letters.append(self.statement.variable("Nat"))
            return var(self.letters[-1])
        return var(self.rng.choice(self.letters))

    def pair(self, depth: int) -> tuple[Term, Term]:
        """Two terms of the same shape, to be compared by their leaves. Sometimes the right one has an extra summand."""
        if depth == 0:
            left = self.letter(0.3)
            right = self.images.setdefault(left, left if self.rng.random() < 0.15 else self.letter(0.7))
            return left, right
        shape = self.rng.choices(("+", "*", "succ", "more", "f"), (4, 2, 1, 2, 3 if self.function else 0))[0]
        left, right = self.pair(depth - 1)
        if shape == "succ":
            return add(left, num(1)), add(right, num(1))
        if shape == "more":
            extra = self.letter(0.4)
            return left, add(right, extra) if self.rng.random() < 0.5 else add(extra, right)
        if shape == "f":
            return (self.function, left), (self.function, right)
        left2, right2 = self.pair(self.rng.randint(0, depth - 1))
        return (shape, left, left2), (shape, right, right2)

    def le(self, left: Term, right: Term, budget: int) -> ProofTree:
        """A proof of `left ≤ right`, adding hypotheses."""
        # 1. Equal terms, and terms of the same operation: monotonicity takes them apart.
        if left == right:
            return step(self.rng.choice(("exact Nat.le_refl _", "apply Nat.le_refl")))
        if left[0] == right[0] == "+" and left[2] == right[2] == num(1):
            return step("apply Nat.succ_le_succ", self.le(left[1], right[1], budget))
        if left[0] == right[0] and left[0] in "+*":
            word = "add" if left[0] == "+" else "mul"
            if left[1] == right[1]:
                return step(f"apply Nat.{word}_le_{word}_left", self.le(left[2], right[2], budget))
            if left[2] == right[2]:
                return step(f"apply Nat.{word}_le_{word}_right", self.le(left[1], right[1], budget))
            children = self.le(left[1], right[1], budget // 2), self.le(left[2], right[2], budget // 2)
            texts = [child.tactic for child in children]
            if all(text.startswith("exact h") or (text.startswith("exact ") and " " not in text[6:]) for text in texts):
                return step(f"exact Nat.{word}_le_{word} {texts[0][6:]} {texts[1][6:]}")
            return step(f"apply Nat.{word}_le_{word}", *children)
        # 2. A sum on the right is at least as large as its parts.
        if right[0] == "+" and left in right[1:]:
            side = "right" if right[1] == left else "left"
            return step(self.rng.choice((f"apply Nat.le_add_{side}", f"exact Nat.le_add_{side} _ _")))
        if right[0] == "+" and right[2] != num(1):
            if self._similar(left, right[1]):
                return step("apply Nat.le_add_right_of_le", self.le(left, right[1], budget))
            return step("apply Nat.le_add_left_of_le", self.le(left, right[2], budget))
        # 3. Values of the function, by a hypothesis that it is monotone; all else by hypotheses about the terms.
        if left[0] == right[0] == self.function and self.rng.random() < 0.9:
            x, y = ("x", "y") if not {"x", "y"} & self.statement.names.used else ("i1", "i2")
            name = self.statement.hypothesis(f"∀ {x} {y}, {x} ≤ {y} → {self.function} {x} ≤ {self.function} {y}")
            return step(f"apply {name}", self.le(left[1], right[1], budget))
        return self._le_by_hypotheses(left, right, budget)

    def _similar(self, left: Term, right: Term) -> bool:
        return left[0] == right[0] and self.images.get(left, right) == right

    def _le_by_hypotheses(self, left: Term, right: Term, budget: int) -> ProofTree:
        if budget <= 0:
            kind = self.rng.choices(("≤", "<", "="), (6, 2, 1))[0]
            name = self.statement.hypothesis(f"{show(left)} {kind} {show(right)}")
            return step(
                {"≤": f"exact {name}", "<": f"exact Nat.le_of_lt {name}", "=": f"exact Nat.le_of_eq {name}"}[kind]
            )
        middle = self.letter(0.8)
        if middle in (left, right):
            return self._le_by_hypotheses(left, right, budget - 1)
        if self.rng.random() < 0.55:
            name = self.statement.hypothesis(f"{show(left)} ≤ {show(middle)}")
            return self._join("Nat.le_trans", name, self.le(middle, right, budget - 1), True)
        name = self.statement.hypothesis(f"{show(middle)} ≤ {show(right)}")
        return self._join("Nat.le_trans", name, self.le(left, middle, budget - 1), False)

    def _join(self, lemma: str, name: str, remaining: ProofTree, first: bool) -> ProofTree:
        """Transitivity with hypothesis `name` on the left (`first`) or right. If a hypothesis also proves the remaining
        inequality, this is one step."""
        other = remaining.tactic.removeprefix("exact ")
        if remaining.tactic.startswith("exact ") and " " not in other:
            return step(f"exact {lemma} {name} {other}" if first else f"exact {lemma} {other} {name}")
        return step(f"apply {lemma} {name}" if first else f"refine {lemma} ?_ {name}", remaining)

    def lt(self, left: Term, right: Term, budget: int) -> ProofTree:
        """A proof of `left < right`, adding hypotheses."""
        # 1. Successors, and sums with one strict part.
        if right == add(left, num(1)):
            return step("apply Nat.lt_succ_self")
        if right[0] == "+" and right[2] == num(1):
            if left[0] == "+" and left[2] == num(1):
                return step("apply Nat.succ_lt_succ", self.lt(left[1], right[1], budget))
            return step("apply Nat.lt_succ_of_le", self.le(left, right[1], budget))
        if left[0] == right[0] == "+":
            if self.rng.random() < 0.5:
                children = self.lt(left[1], right[1], budget // 2), self.le(left[2], right[2], budget // 2)
                return step("apply Nat.add_lt_add_of_lt_of_le", *children)
            children = self.le(left[1], right[1], budget // 2), self.lt(left[2], right[2], budget // 2)
            return step("apply Nat.add_lt_add_of_le_of_lt", *children)
        # 2. A hypothesis, or transitivity over a new number.
        if budget <= 0:
            return step(f"exact {self.statement.hypothesis(f'{show(left)} < {show(right)}')}")
        middle = self.letter(0.8)
        if middle in (left, right):
            return self.lt(left, right, budget - 1)
        shape = self.rng.choice(("le-lt", "lt-le", "lt-lt", "lt-le-back"))
        if shape == "le-lt":
            name = self.statement.hypothesis(f"{show(left)} ≤ {show(middle)}")
            return self._join("Nat.lt_of_le_of_lt", name, self.lt(middle, right, budget - 1), True)
        if shape == "lt-le":
            name = self.statement.hypothesis(f"{show(left)} < {show(middle)}")
            return self._join("Nat.lt_of_lt_of_le", name, self.le(middle, right, budget - 1), True)
        if shape == "lt-lt":
            name = self.statement.hypothesis(f"{show(left)} < {show(middle)}")
            return self._join("Nat.lt_trans", name, self.lt(middle, right, budget - 1), True)
        name = self.statement.hypothesis(f"{show(middle)} ≤ {show(right)}")
        return self._join("Nat.lt_of_lt_of_le", name, self.lt(left, middle, budget - 1), False)


def false_order(rng: random.Random) -> Draft | None:
    """False inequalities: small numbers satisfy the hypotheses and refute the conclusion."""
    names = NameSupply(rng)
    letters = [names.variable("Nat") for _ in range(rng.randint(2, 4))]

    def term(depth: int) -> Term:
        if depth == 0:
            return var(rng.choice(letters))
        return rng.choice((add, mul))(
            term(depth - 1), var(rng.choice(letters)) if rng.random() < 0.7 else num(rng.randint(1, 3))
        )

    # 1. Random relations between small terms; the last one is the conclusion.
    relations = [
        (term(rng.choice((0, 0, 1))), rng.choice(("≤", "<")), term(rng.choice((0, 0, 1))))
        for _ in range(rng.randint(2, 4))
    ]
    # 2. Every variable has to occur, and no relation may be trivial.
    used = [
        name
        for name in letters
        if any(
            name in show(side).replace("(", " ").replace(")", " ").split() for a, _, b in relations for side in (a, b)
        )
    ]
    if any(left == right for left, _, right in relations) or not used:
        return None
    # Random values, until some satisfy all relations but the last one, which is the conclusion.
    for _ in range(30):
        values = {name: rng.randint(0, 4) for name in used}
        truth = [_holds(relation, values) for relation in relations]
        if all(truth[:-1]) and not truth[-1]:
            texts = [f"{show(left)} {sign} {show(right)}" for left, sign, right in relations]
            hypotheses = [(names.hypothesis(), text) for text in texts[:-1]]
            kinds = [(name, "Nat") for name in used]
            arguments = " ".join(str(values[name]) for name in used)
            return Draft("nat-order", "explain", kinds, hypotheses, texts[-1], None, arguments)
    return None


def _holds(relation: tuple[Term, str, Term], values: dict[str, int]) -> bool:
    left, sign, right = relation
    numbers = [value(substitute(side, {name: num(n) for name, n in values.items()})) for side in (left, right)]
    assert numbers[0] is not None and numbers[1] is not None
    return numbers[0] <= numbers[1] if sign == "≤" else numbers[0] < numbers[1]
