"""Which states of a search are one: those of one canonical key; sketches change nothing about that."""

import random
from collections import defaultdict
from collections.abc import Iterable
from functools import cache

import pytest
from hypothesis import given, settings, strategies as st

from node.bank.bank import load_transitions
from node.lean.text.canonical import Canonical, Merging, canonical, hypothesis_names
from node.lean.text.lexing import LOCAL
from node.prover.search.tree import Alias, KnownStates, StateNode

MERGINGS: tuple[Merging, ...] = ("names", "names-and-order")
NAMES = [f"{letter}{number}" for letter in "abxyzhkαβ" for number in ("", "₁", "'")]


@cache
def bank_states() -> list[list[str]]:
    """The states of each theorem of the bank's test set."""
    states = defaultdict(list)
    for transition in load_transitions():
        states[transition.theorem].append(transition.state)
    return [states[theorem] for theorem in sorted(states)]


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


class AllKeys:
    """How states were found before there were sketches: the key of every new state is computed."""

    def __init__(self, merging: Merging) -> None:
        self.merging: Merging = merging
        self.by_text: dict[str, tuple[StateNode, Alias | None]] = {}
        self.by_key: dict[str, tuple[StateNode, Canonical]] = {}

    def find(self, state: str) -> tuple[StateNode | None, Alias | None, Canonical | None]:
        if state in self.by_text:
            return *self.by_text[state], None
        form = canonical(state, self.merging)
        if form is None or form.key not in self.by_key:
            return None, None, form
        node, first = self.by_key[form.key]
        alias = Alias(state, dict(zip(first.names, form.names, strict=True)))
        self.by_text[state] = node, alias
        return node, alias, form

    def enter(self, node: StateNode, form: Canonical | None) -> None:
        if "⋯" not in node.state:
            self.by_text[node.state] = node, None
        if form is not None:
            self.by_key[form.key] = node, form


def places(states: Iterable[str], known: KnownStates | AllKeys) -> list[tuple[int, Alias | None]]:
    """For each state in turn the place of the first one that is equal to it, and its names."""
    found = []
    for index, state in enumerate(states):
        node, alias, new = known.find(state)
        if node is None:
            node = StateNode(index, state, None)
            known.enter(node, new)  # type: ignore[arg-type]
        found.append((node.index, alias))
    return found


@settings(max_examples=10, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.sampled_from(MERGINGS))
def test_the_same_states_are_merged_as_if_every_key_were_computed(seed: int, merging: Merging) -> None:
    generator = random.Random(seed)
    states = [state for theorem in generator.sample(bank_states(), 5) for state in theorem]
    states += [variant(state, generator, reorder=generator.random() < 0.5) for state in states for _ in range(2)]
    states += [state.replace("⊢", "⋯ ⊢") for state in states[:2]] + [made_up(generator) for _ in range(60)]
    generator.shuffle(states)
    found = places(states, KnownStates(merging))
    assert found == places(states, AllKeys(merging))
    assert any(alias is not None for _, alias in found)


def made_up(generator: random.Random) -> str:
    """A goal of few pieces, so that two of them are often equal up to names and order."""
    context = generator.sample(["a", "b", "P", "this", "a✝", "b✝¹", "x"], k=2)
    pieces = [*context, *"ax1", "∀ x, x", "fun y => y", "a.1", ".inl b", "?m.1", "(x := 1)", ": P", "⊢", "✝²", "n!"]
    lines = [f"{' '.join(generator.sample(context, k=generator.choice((1, 1, 2))))} : {generator.choice(pieces)}"]
    lines += [f"{generator.choice(context)} : {generator.choice(pieces)}" for _ in range(generator.randrange(2))]
    return "\n".join([*lines, "⊢ " + generator.choice((" ", "")).join(generator.choices(pieces, k=2))])


# --- which states have one canonical key, and the names that answer to each other -------------------------------------
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


def answers(first: str, second: str, merging: Merging) -> dict[str, str] | None:
    """The names of the first state that answer to those of the second; None: these are different states."""
    one, other = canonical(first, merging), canonical(second, merging)
    if one is None or other is None or one.key != other.key:
        return None
    return dict(zip(one.names, other.names, strict=True))


@pytest.mark.parametrize("case", SAME)
def test_states_that_differ_in_names_are_equal(case: str) -> None:
    first, second, names = SAME[case]
    for merging in ("names", "names-and-order"):
        assert answers(first, second, merging) == names
    assert canonical(first, "text") is None


@pytest.mark.parametrize("case", SAME_BUT_FOR_ORDER)
def test_states_that_differ_in_order_are_equal_by_option(case: str) -> None:
    first, second, names = SAME_BUT_FOR_ORDER[case]
    assert answers(first, second, "names") is None
    found = answers(first, second, "names-and-order")
    assert found is not None and names.items() <= found.items()


@pytest.mark.parametrize("case", DIFFERENT)
def test_other_states_are_not(case: str) -> None:
    first, second = DIFFERENT[case]
    for merging in ("names", "names-and-order"):
        assert answers(first, second, merging) is None


def test_goals_of_one_state_keep_the_order_of_their_hypotheses() -> None:
    first = "h : p\nk : q\n⊢ ?m.1 = 0\n\n⊢ Nat"
    second = "k : q\nh : p\n⊢ ?m.1 = 0\n\n⊢ Nat"
    assert answers(first, second, "names-and-order") is None
    assert answers(first, first, "names-and-order") == {"h": "h", "k": "k"}


@pytest.mark.parametrize("merging", ["names", "names-and-order"])
def test_a_bound_name_that_is_called_like_its_hypothesis_makes_no_circle(merging: Merging) -> None:
    first = canonical("α : Type\nR : α → Prop\nu : ∃ u, R u\n⊢ False", merging)
    second = canonical("β : Type\nS : β → Prop\nv : ∃ v, S v\n⊢ False", merging)
    assert first is not None and second is not None and first.key == second.key
    assert dict(zip(first.names, second.names, strict=True)) == {"α": "β", "R": "S", "u": "v"}
