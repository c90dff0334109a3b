"""Sketches change nothing about which states of a search are found to be one."""

import random
from collections import defaultdict
from collections.abc import Iterable
from functools import cache

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
