"""Generated statements with their proofs, before Lean checks them, and supplies of names."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from common.lean import ProofTree, Theorem

HYPOTHESIS_NAMES = (
    "h",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "ha",
    "hb",
    "hc",
    "hp",
    "hq",
    "hr",
    "hx",
    "hy",
    "hn",
    "H",
    "e",
    "e1",
    "e2",
    "key",
)
"""Names of hypotheses in statements. Proofs introduce the first free name of `h1`, `h2`, ..., which a policy can
learn."""

VARIABLE_NAMES = {
    "Prop": ("p", "q", "r", "s", "t", "u", "A", "B", "C", "D"),
    "Nat": ("a", "b", "c", "d", "m", "n", "k", "x", "y", "z", "i", "j"),
    "α": ("a", "b", "c", "x", "y", "z", "u", "v"),
    "List Nat": ("xs", "ys", "zs", "l", "as", "bs", "ws"),
    "Nat → Nat": ("f", "g", "φ", "F", "G", "w"),
    "α → α": ("f", "g", "φ", "F", "G"),
}
PREDICATE_NAMES = ("P", "Q", "R", "S", "T")


def step(tactic: str, *children: ProofTree) -> ProofTree:
    """A proof: a tactic, and proofs of the remaining goals in Lean's order. The goals share no metavariables."""
    return ProofTree(tactic, tuple((index,) for index in range(len(children))), children)


def chain(tactics: Sequence[str], last: ProofTree | None = None) -> ProofTree:
    """A proof of tactics one after another. Each leaves one goal; the last one closes it, or `last` proves it."""
    proof = last
    for tactic in reversed(tactics):
        proof = step(tactic) if proof is None else step(tactic, proof)
    if proof is None:
        raise ValueError("chain: a proof needs at least one tactic")
    return proof


def size(proof: ProofTree) -> int:
    """Number of tactics of a proof."""
    return 1 + sum(size(child) for child in proof.children)


@dataclass
class Draft:
    """A statement under construction: variables, hypotheses, conclusion, proof (or a counterexample)."""

    family: str
    generator: str
    variables: list[tuple[str, str]]
    """Names and types. A type mentions only earlier names."""
    hypotheses: list[tuple[str, str]]
    conclusion: str
    proof: ProofTree | None
    """None: the statement is false, and `counterexample` refutes it."""
    counterexample: str = ""
    """Arguments for `h` in the negation's proof `exact absurd (h ARGUMENTS) (by decide)`."""
    distractors: list[tuple[str, str]] = field(default_factory=list)
    """Hypotheses that the proof does not need."""

    def theorem(self, name: str, rng: random.Random) -> Theorem:
        """The statement as Lean text: variables, then hypotheses and distractors in random order."""
        hypotheses = self.hypotheses + self.distractors
        if (
            self.proof is not None
        ):  # a counterexample has arguments for the variables only, so its hypotheses keep their order
            rng.shuffle(hypotheses)
        return Theorem(name, render_binders(self.variables, hypotheses), self.conclusion)

    def counter_proof(self) -> ProofTree:
        """A proof of the negation."""
        return chain(["intro h", f"exact absurd (h {self.counterexample}) (by decide)"])


def render_binders(variables: Sequence[tuple[str, str]], hypotheses: Sequence[tuple[str, str]]) -> str:
    """`(p q : Prop) (h : p → q)`: consecutive variables of the same type share a binder."""
    groups: list[tuple[list[str], str]] = []
    for name, kind in variables:
        if groups and groups[-1][1] == kind:
            groups[-1][0].append(name)
        else:
            groups.append(([name], kind))
    return " ".join(
        [f"({' '.join(names)} : {kind})" for names, kind in groups] + [f"({n} : {t})" for n, t in hypotheses]
    )


class NameSupply:
    """Supplies unused names: random ones for statements, conventional ones for proofs."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.used: set[str] = set()

    def pick(self, pool: Sequence[str]) -> str:
        """A random free name of a pool. Raises IndexError if all are in use."""
        name = self.rng.choice([name for name in pool if name not in self.used])
        self.used.add(name)
        return name

    def variable(self, kind: str) -> str:
        return self.pick(VARIABLE_NAMES[kind])

    def hypothesis(self) -> str:
        return self.pick(HYPOTHESIS_NAMES)

    def introduced(self, pool: Sequence[str] = ()) -> str:
        """The name for a hypothesis or variable that a proof introduces: the first free one."""
        name = next(name for name in [*pool, *(f"h{i}" for i in range(1, 99))] if name not in self.used)
        self.used.add(name)
        return name
