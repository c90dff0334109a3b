"""Which states have one canonical key, and that their sketches are equal, too."""

import random
import re
from collections import defaultdict
from functools import cache

import pytest
from hypothesis import given, settings, strategies as st

from node.bank.bank import load_transitions
from node.lean.text.canonical import Sketches, canonical
from node.lean.text.lexing import LOCAL, NAME

NAMES = [f"{letter}{number}" for letter in "abxyzhkαβ" for number in ("", "₁", "'")]


@cache
def bank_states() -> list[list[str]]:
    """The states of each theorem of the bank's test set."""
    states = defaultdict(list)
    for transition in load_transitions():
        states[transition.theorem].append(transition.state)
    return [states[theorem] for theorem in sorted(states)]


def hypothesis_names(state: str) -> list[str]:
    """The names of a state's hypotheses."""
    lines = re.findall(rf"^((?:{NAME}(?:✝[⁰¹²³⁴-⁹]*)? )+): ", state, re.MULTILINE)
    return list(dict.fromkeys(name for names in lines for name in names.split()))


def ungrouped(goal: str) -> list[str]:
    """The lines of a goal, one for each hypothesis."""
    lines = []
    for line in goal.split("\n"):
        head, sign, text = line.partition(" : ")
        if line.startswith("⊢") or not sign:
            lines.append(line)
        else:
            lines += [f"{name} : {text}" for name in head.split(" ")]
    return lines


def variant(state: str, generator: random.Random, *, reorder: bool) -> str:
    """The state under other names of hypotheses, in another order, a line for each."""
    old = [name for name in hypothesis_names(state) if "✝" not in name and name != "this"]
    words = set(LOCAL.findall(state))
    free = [name for name in NAMES if name not in words]
    if len(old) <= len(free) and generator.random() < 0.8:
        fresh = dict(zip(old, generator.sample(free, len(old)), strict=True))
    else:
        fresh = dict(zip(old, generator.sample(old, len(old)), strict=True))  # of what another one was called
    goals = []
    for goal in LOCAL.sub(lambda match: fresh.get(match.group(), match.group()), state).split("\n\n"):
        *lines, conclusion = ungrouped(goal)
        if reorder and "✝" not in goal:
            generator.shuffle(lines)
        goals.append("\n".join([*lines, conclusion]))
    return "\n\n".join(goals)


@settings(max_examples=10, deadline=None, derandomize=True)
@given(st.integers(0, 10**6))
def test_states_with_one_key_have_one_sketch(seed: int) -> None:
    generator = random.Random(seed)
    states = [state for theorem in generator.sample(bank_states(), 5) for state in theorem]
    states += [variant(state, generator, reorder=generator.random() < 0.5) for state in states for _ in range(2)]
    states += [made_up(generator) for _ in range(60)]
    texts: dict[str, set[str]] = defaultdict(set)
    for state in states:
        if (key := canonical(state)) is not None:
            texts[key].add(state)
    assert max(map(len, texts.values())) > 1
    sketches = Sketches()
    assert all(len({sketches.of(text) for text in equal}) == 1 for equal in texts.values())


def made_up(generator: random.Random) -> str:
    """A goal of few pieces, so that two of them are often equal up to names and order."""
    context = generator.sample(["a", "b", "P", "this", "a✝", "b✝¹", "x"], k=2)
    pieces = [*context, *"ax1", "∀ x, x", "fun y => y", "a.1", ".inl b", "?m.1", "(x := 1)", ": P", "⊢", "✝²", "n!"]
    lines = [f"{' '.join(generator.sample(context, k=generator.choice((1, 1, 2))))} : {generator.choice(pieces)}"]
    lines += [f"{generator.choice(context)} : {generator.choice(pieces)}" for _ in range(generator.randrange(2))]
    return "\n".join([*lines, "⊢ " + generator.choice((" ", "")).join(generator.choices(pieces, k=2))])


SAME: dict[str, tuple[str, str]] = {
    "a hypothesis of another name": ("p : Prop\nh : p\n⊢ p", "p : Prop\nk : p\n⊢ p"),
    "names swapped": ("p q : Prop\nh : p ∧ q\n⊢ q", "q p : Prop\nh : q ∧ p\n⊢ p"),
    "a projection": ("n : Nat × Nat\n⊢ n.1 = Nat.succ 0", "k : Nat × Nat\n⊢ k.1 = Nat.succ 0"),
    "bound variables": ("n : Nat\n⊢ ∀ (x : Nat), x ≤ n", "m : Nat\n⊢ ∀ (k : Nat), k ≤ m"),
    "an inaccessible name": ("n✝ : Nat\nh : n✝ = 0\n⊢ True", "k✝ : Nat\nh : k✝ = 0\n⊢ True"),
    "a value": ("n : Nat := 5\n⊢ n = 5", "k : Nat := 5\n⊢ k = 5"),
    "several goals": ("a : Nat\n⊢ ?m.1 = a\n\na : Nat\n⊢ Nat", "b : Nat\n⊢ ?m.1 = b\n\nb : Nat\n⊢ Nat"),
    "order of hypotheses": ("p q : Prop\nh : p\nk : q\n⊢ p", "q p : Prop\nk : q\nh : p\n⊢ p"),
    "symmetry": ("p q : Prop\nh : p ∧ q\n⊢ q ∧ p", "p q : Prop\nk : q ∧ p\n⊢ p ∧ q"),
    "found by their use alone": (
        "p q r : Prop\na : p → q\nb : q → r\n⊢ False",
        "p q r : Prop\nb : r → p\na : p → q\n⊢ False",
    ),
    "a bound name that is called like its hypothesis": (
        "α : Type\nR : α → Prop\nu : ∃ u, R u\n⊢ False",
        "β : Type\nS : β → Prop\nv : ∃ v, S v\n⊢ False",
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
    "order where several goals share a metavariable": (
        "h : p\nk : q\n⊢ ?m.1 = 0\n\n⊢ Nat",
        "k : q\nh : p\n⊢ ?m.1 = 0\n\n⊢ Nat",
    ),
}


@pytest.mark.parametrize("case", SAME)
def test_states_that_differ_in_names_and_order_have_one_key(case: str) -> None:
    first, second = SAME[case]
    assert canonical(first) == canonical(second) is not None


@pytest.mark.parametrize("case", DIFFERENT)
def test_other_states_have_not(case: str) -> None:
    first, second = DIFFERENT[case]
    assert canonical(first) is None or canonical(first) != canonical(second)
