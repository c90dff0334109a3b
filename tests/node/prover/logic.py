"""A toy Lean: propositions of ∧ and → with named hypotheses, so that states differ in names and order alone."""

from __future__ import annotations

import re

from common.lean import Branch, Outcome, OutcomeKind, ProofTree
from common.seeds import derive_seed
from node.prover.policies.goal_tactics import operands
from node.prover.policies.policy import Proposal
from node.prover.search.methods import ProofSearch
from node.prover.search.simulation import Leaf
from tests.node.prover.toys import ERROR, PROVED

POOL = ("a", "b", "h", "k")
"""Names that tactics bring in."""

ATOMS = "p q r : Prop"

Context = list[tuple[str, str]]
"""Hypotheses, oldest first: name, proposition."""


def text_of(context: Context, goal: str) -> str:
    """As Lean prints it: of equal names only the last can be written, of equal neighbours one line is made."""
    shown: list[tuple[list[str], str]] = []
    for place, (name, proposition) in enumerate(context):
        later = sum(other == name for other, _ in context[place + 1 :])
        sign = "✝" * (later > 0) + ("¹²³⁴⁵⁶⁷⁸⁹"[later - 2] if later > 1 else "")
        if shown and shown[-1][1] == proposition:
            shown[-1][0].append(name + sign)
        else:
            shown.append(([name + sign], proposition))
    return "\n".join([ATOMS, *(f"{' '.join(names)} : {proposition}" for names, proposition in shown), f"⊢ {goal}"])


def read(state: str) -> tuple[Context, str]:
    _, *lines, goal = state.split("\n")
    pairs = [line.split(" : ") for line in lines]
    return [(name, proposition) for names, proposition in pairs for name in names.split()], goal.removeprefix("⊢ ")


def run(state: str, tactic: str) -> Outcome:
    """What a tactic does."""
    context, goal = read(state)
    known = {name: proposition for name, proposition in context if "✝" not in name}
    plain = [(re.sub("✝.?", "", name), proposition) for name, proposition in context]
    word, *names = re.findall(r"[\w']+", tactic)
    if word == "intro" and len(sides := operands(goal, "→")) > 1:
        return left(([*plain, (names[0], bare(sides[0]))], " → ".join(sides[1:])))
    if word in ("exact", "quoted") and known.get(names[0]) == goal:
        return PROVED
    if word == "assumption" and goal in [proposition for _, proposition in context]:
        return PROVED
    if word == "constructor" and len(sides := operands(goal, "∧")) > 1:
        return left((plain, bare(sides[0])), (plain, bare(" ∧ ".join(sides[1:]))))
    if word == "obtain" and len(sides := operands(known.get(names[2], ""), "∧")) > 1:
        rest = [
            (name, proposition)
            for (name, proposition), (full, _) in zip(plain, context, strict=True)
            if full != names[2]
        ]
        return left(([*rest, (names[0], bare(sides[0])), (names[1], bare(" ∧ ".join(sides[1:])))], goal))
    if word == "apply" and len(sides := operands(known.get(names[0], ""), "→")) == 2 and bare(sides[1]) == goal:
        return left((plain, bare(sides[0])))
    if word == "swap" and len(plain) > 1:
        return left(([*plain[:-2], plain[-1], plain[-2]], goal))
    if word == "rename_i" and (hidden := [place for place, (name, _) in enumerate(context) if "✝" in name]):
        plain[hidden[-1]] = (names[0], plain[hidden[-1]][1])
        return left((plain, goal))
    return ERROR


def left(*goals: tuple[Context, str]) -> Outcome:
    branches = tuple(Branch(text_of(context, bare(goal)), (index,)) for index, (context, goal) in enumerate(goals))
    return Outcome(OutcomeKind.GOALS, branches)


def bare(proposition: str) -> str:
    """Without brackets around all of it."""
    inner = proposition[1:-1]
    if proposition.startswith("(") and proposition.endswith(")") and inner.find(")") >= inner.find("("):
        return inner
    return proposition


def statement(seed: int) -> str:
    """A state to be proved: two implications that may be the same with other letters, under a common premise."""

    def draw(*key: int | str) -> int:
        return derive_seed(seed, *key) % 1000

    first, second = ((draw(part, 0) % 3, 1 + draw(part, 1) % 2) for part in range(2))
    way = draw(2) % 4

    def implication(start: int, step: int) -> str:
        x, y, z = ("pqr"[(start + step * turn) % 3] for turn in range(3))
        ways = (
            f"({x} ∧ {y}) → ({y} ∧ {x})",
            f"({x} → {y}) → ({x} ∧ {z}) → ({y} ∧ {z})",
            f"({x} ∧ ({y} ∧ {z})) → ({z} ∧ {x})",
            f"({x} → {y}) → ({y} → {z}) → {x} → {z}",
        )
        return f"({ways[way]})"

    return f"{ATOMS}\n⊢ {'pqr'[draw(3) % 3]} → ({implication(*first)} ∧ {implication(*second)})"


def tactics(request: Leaf, seed: int, *, quoted: bool) -> list[str]:
    """All tactics for a state; what they bring in is called as the seed will have it."""
    context, _ = read(request.state)
    known = [name for name, _ in context if "✝" not in name]

    def new(key: str) -> str:
        return POOL[derive_seed(seed, request.state, key) % len(POOL)]

    exact = [f'quoted "{name}"' if quoted else f"exact {name}" for name in known]
    take = [f"obtain ⟨{new(f'{name} 0')}, {new(f'{name} 1')}'⟩ := {name}" for name in known]
    return [f"intro {new('0')}", f"intro {new('1')}", "constructor", "swap", f"rename_i {new('2')}", *exact, *take] + [
        f"apply {name}" for name in known
    ]


def play(search: ProofSearch, *, seed: int, simulations: int, quoted: bool = False) -> None:
    """Simulations until the search is solved, exhausted or out of budget."""
    while not search.finished and search.statistics.simulations < simulations:
        request = search.select()
        if request is None:
            break
        proposals = [Proposal(tactic, 1.0) for tactic in dict.fromkeys(tactics(request, seed, quoted=quoted))]
        outcomes = {each.tactic: run(request.state, each.tactic) for each in proposals}
        search.feed(request, proposals, -5.0, outcomes, exhausted=True)


def replays(proof: ProofTree, state: str) -> bool:
    """Does the proof, as it is written, close the state?"""
    outcome = run(state, proof.tactic)
    return outcome.kind in (OutcomeKind.PROVED, OutcomeKind.GOALS) and (
        outcome.layout == proof.layout
        and len(outcome.branches) == len(proof.children)
        and all(replays(child, branch.state) for child, branch in zip(proof.children, outcome.branches, strict=True))
    )


SAME: dict[str, tuple[str, str, dict[str, str]]] = {
    "a hypothesis of another name": ("p : Prop\nh : p\n⊢ p", "p : Prop\nk : p\n⊢ p", {"p": "p", "h": "k"}),
    "names swapped": ("p q : Prop\nh : p ∧ q\n⊢ q", "q p : Prop\nh : q ∧ p\n⊢ p", {"p": "q", "q": "p", "h": "h"}),
    "a projection": ("n : Nat × Nat\n⊢ n.1 = Nat.succ 0", "k : Nat × Nat\n⊢ k.1 = Nat.succ 0", {"n": "k"}),
    "bound variables": ("n : Nat\n⊢ ∀ (x : Nat), x ≤ n", "m : Nat\n⊢ ∀ (k : Nat), k ≤ m", {"n": "m"}),
    "an inaccessible name": ("n✝ : Nat\nh : n✝ = 0\n⊢ True", "k✝ : Nat\nh : k✝ = 0\n⊢ True", {"n✝": "k✝", "h": "h"}),
    "a value": ("n : Nat := 5\n⊢ n = 5", "k : Nat := 5\n⊢ k = 5", {"n": "k"}),
    "several goals": ("a : Nat\n⊢ ?m.1 = a\n\na : Nat\n⊢ Nat", "b : Nat\n⊢ ?m.1 = b\n\nb : Nat\n⊢ Nat", {"a": "b"}),
}

SAME_BUT_FOR_ORDER: dict[str, tuple[str, str, dict[str, str]]] = {
    "hypotheses": ("p q : Prop\nh : p\nk : q\n⊢ p", "q p : Prop\nk : q\nh : p\n⊢ p", {"p": "p", "h": "h", "k": "k"}),
    "symmetry": ("p q : Prop\nh : p ∧ q\n⊢ q ∧ p", "p q : Prop\nk : q ∧ p\n⊢ p ∧ q", {"p": "q", "q": "p", "h": "k"}),
    "found by their use alone": (
        "p q r : Prop\na : p → q\nb : q → r\n⊢ False",
        "p q r : Prop\nb : r → p\na : p → q\n⊢ False",
        {},
    ),
}

DIFFERENT: dict[str, tuple[str, str]] = {
    "a hypothesis used otherwise": ("p q : Prop\nh : p\n⊢ p", "p q : Prop\nh : q\n⊢ p"),
    "a name that can be written": ("h : True\n⊢ p", "h✝ : True\n⊢ p"),
    "order of names that cannot be written": ("a✝¹ : p\na✝ : q\n⊢ p ∧ q", "a✝¹ : q\na✝ : p\n⊢ p ∧ q"),
    "what shadows a name": ("b✝ : r\nk : p\nb : q\n⊢ r", "b✝ : r\nb : p\nh : q\n⊢ r"),
    "what `have` brings in": ("this : p\n⊢ p", "h : p\n⊢ p"),
    "a global name": ("n : Nat\n⊢ n = foo", "n : Nat\n⊢ n = bar"),
    "the field of a name": ("x : T\nl : T\n⊢ x.l = 0", "x : T\nk : T\n⊢ x.k = 0"),
    "elided terms": ("h : p\n⊢ f ⋯ = 0", "k : p\n⊢ f ⋯ = 0"),
    "strings": ('h : s = "h"\n⊢ True', 'k : s = "k"\n⊢ True'),
    "names in guillemets": ("«a b» : p\n⊢ p", "«a c» : p\n⊢ p"),
    "ranges": ("a b : Nat\n⊢ ∫ x in 0..a, x = b", "b a : Nat\n⊢ ∫ x in 0..b, x = a"),
    "a name that is a field, too": ("fst : Nat\n⊢ { fst := fst } = x", "fs : Nat\n⊢ { fs := fs } = x"),
    "factorials, which are names of their own": ("n m : Nat\nh : n < m\n⊢ n! = 1", "m n : Nat\nh : m < n\n⊢ n! = 1"),
    "bound variables that are used otherwise": ("⊢ ∀ (x y : Nat), x < y", "⊢ ∀ (x y : Nat), y < x"),
    "what may be bound or not": ("⊢ ∀ x > c, P x", "⊢ ∀ x > d, P x"),
    "lines that are no hypotheses": ("| f x\nh : p\n⊢ p", "| f x\nk : p\n⊢ p"),
    "goals that are no goals": ("s1", "s2"),
}
