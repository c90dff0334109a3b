"""Tactics by nearest neighbours: states look like those of earlier proofs, and the tactics of the most similar ones
come first, in the way of TacticToe (Gauthier et al., J. Autom. Reasoning 2021, arXiv 1804.00596). No network.

A state's features are its words and signs and their adjacent pairs, those of conclusions counted once more, without
local names. Similarity is the cosine of their tf-idf vectors (each feature counts once in a state). Tactics are carried
over with canonical names (`node.model.names`): each hypothesis that a tactic uses becomes that hypothesis of the new
state whose type is most alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from node.data.errors import InputError
from node.data.grammar import TRANSITIONS
from node.data.reading import parse, read
from node.model.names import CANONICAL, IDENTIFIER, Names
from node.retrieval.corpus import RetrievalError

NEAREST = 8
"""Proved states whose tactics are proposed. More of them leave no room for the list: with 64, K = 16 and 128 Lean
attempts 43 of 60 statements are proved, with 8 of them 48 (`pocket:valid`, states of a demo's run)."""

ALIKE = 0.5
"""Least similarity of two hypotheses of which one takes the other's place in a tactic."""

_WORD = re.compile(r"[^\W\d][\w'.!?✝]*|\d+|[^\s\w]")
_LOCAL = "_"
"""Stands for every local name: which one it is says nothing about the tactic."""


Types = dict[int, frozenset[str]]
"""By number of a canonical name, the words and signs of its type."""


def words_of(text: str) -> list[str]:
    """Words and signs of a text with canonical names; each local name is `_`."""
    return [_LOCAL if CANONICAL.fullmatch(word) else word for word in _WORD.findall(text)]


def lines_of(state: str) -> list[str]:
    """A hypothesis or a conclusion each."""
    return re.sub(r"\n\s+", " ", state).splitlines()


def features(state: str) -> frozenset[str]:
    """Features of a state with canonical names. Those of conclusions begin with ⊢."""
    found: set[str] = set()
    for line in lines_of(state):
        words = words_of(line.removeprefix("⊢"))
        several = [*words, *map(" ".join, pairwise(words))]
        found.update(several)
        if line.startswith("⊢"):
            found.update(f"⊢{each}" for each in several)
    return frozenset(found)


def types_of(state: str) -> Types:
    """The types of the hypotheses of a state with canonical names."""
    types: Types = {}
    for line in lines_of(state):
        names, colon, type_ = line.partition(" : ")
        if colon and not line.startswith("⊢"):
            words = frozenset(words_of(type_))
            types |= {int(name[1:]): words for name in names.split() if CANONICAL.fullmatch(name)}
    return types


def carried_over(tactic: str, types: Types, there: Types, count: int) -> str | None:
    """A canonical tactic of a state whose hypotheses have these `types`, for a state whose ones have those of `there`,
    with `count` names in all. None if that state has no hypothesis for one that the tactic uses.

    A hypothesis becomes the one with the most similar type (Jaccard), of equals that of the same number, and no two
    become the same. All other names are introduced by the tactic, and get new numbers.
    """
    chosen: dict[str, str] = {}
    free, new = set(there), count
    for word in filter(CANONICAL.fullmatch, IDENTIFIER.findall(tactic)):
        number = int(word[1:])
        if word in chosen:
            continue
        if number not in types:
            chosen[word], new = f"v{new}", new + 1
            continue
        alike = {each: len(types[number] & there[each]) / len(types[number] | there[each]) for each in free}
        best = max(sorted(free), key=lambda each: (alike[each], each == number), default=-1)
        if alike.get(best, 0.0) < ALIKE:
            return None
        free.discard(best)
        chosen[word] = f"v{best}"
    return IDENTIFIER.sub(lambda match: chosen.get(match.group(), match.group()), tactic)


def form_of(tactic: str) -> str:
    """A tactic with canonical names, without its local names."""
    return IDENTIFIER.sub(lambda match: _LOCAL if CANONICAL.fullmatch(match.group()) else match.group(), tactic)


class ProvedStates:
    """Proved states with their tactics, searched by similarity."""

    def __init__(self, steps: Iterable[tuple[str, str]]) -> None:
        """`steps`: (state, tactic) with the names of their theorems. Equal states become one."""
        # 1. Distinct states with canonical names, and the tactics of each in order of first appearance.
        tactics: dict[str, dict[str, None]] = {}
        for state, tactic in steps:
            names = Names(state)
            tactics.setdefault(names.state, {})[names.hide(tactic)] = None
        self._states = list(tactics)
        self._tactics = [list(each) for each in tactics.values()]
        self._types = [types_of(state) for state in self._states]
        # 2. By feature, the states that have it: the search looks at those alone.
        holders: dict[str, list[int]] = {}
        for number, state in enumerate(self._states):
            for feature in features(state):
                holders.setdefault(feature, []).append(number)
        self._holders = {feature: np.array(numbers, np.int64) for feature, numbers in holders.items()}
        # 3. Lengths of the vectors. In order of the features: a sum in another order could differ in the last bit.
        squares = np.zeros(len(self._states))
        for feature in sorted(self._holders):
            squares[self._holders[feature]] += self._weight(feature) ** 2
        self._lengths = np.sqrt(squares)

    def __len__(self) -> int:
        return len(self._states)

    @property
    def contents(self) -> list[str]:
        """All that the order of tactics depends on, for digests."""
        return [text for state, tactics in zip(self._states, self._tactics, strict=True) for text in (state, *tactics)]

    def _weight(self, feature: str) -> float:
        """Inverse document frequency, smoothed so that features of all states count, too (scikit-learn's formula)."""
        return float(np.log((1 + len(self)) / (1 + len(self._holders[feature]))) + 1.0)

    def similarities(self, state: str) -> NDArray[np.float64]:
        """Cosine with each proved state; `state` has canonical names."""
        sums = np.zeros(len(self))
        square = 0.0
        for feature in sorted(features(state)):
            if feature in self._holders:
                weight = self._weight(feature) ** 2
                sums[self._holders[feature]] += weight
                square += weight
        return np.divide(sums, self._lengths * np.sqrt(square), out=np.zeros_like(sums), where=sums > 0)

    def ordered(self, state: str, listed: Sequence[str]) -> list[str]:
        """The tactics of the nearest proved states and the `listed` ones, by the most similar state with a tactic of
        the same form. Listed tactics of no such form come last, in their order.

        Of tactics that are equally similar, proved ones come first, then listed ones in their order.
        """
        # 1. The nearest states, the first recorded one first among equals.
        names = Names(state)
        similar = self.similarities(names.state)
        types = types_of(names.state)
        nearest = np.argsort(-similar, kind="stable")[:NEAREST]
        # 2. Their tactics with the names of this state; and the best similarity of each form.
        scores: dict[str, float] = {}
        order: dict[str, tuple[float, int, int]] = {}
        for number in nearest[similar[nearest] > 0].tolist():
            score = float(similar[number])
            for tactic in self._tactics[number]:
                scores.setdefault(form_of(tactic), score)
                there = carried_over(tactic, self._types[number], types, names.count)
                if there is not None:
                    order.setdefault(names.show(there), (-score, 0, len(order)))
        # 3. The list: a tactic of a known form is as good as the state that has it, whatever its names.
        for place, tactic in enumerate(listed):
            order.setdefault(tactic, (-scores.get(form_of(names.hide(tactic)), 0.0), 1, place))
        return sorted(order, key=order.__getitem__)


@lru_cache(4)
def proved_states(where: str) -> ProvedStates:
    """The proved states of a source of training data (`node.data.grammar`): a run, a trace, a bank, a file of rows.
    Read once in a process. Raises RetrievalError."""
    try:
        steps = read(parse(f"{TRANSITIONS}:{where}")).steps
    except InputError as error:
        raise RetrievalError(str(error).partition(f"{where}: ")[2] or str(error)) from error
    if not steps:
        raise RetrievalError("no proved states are in it; name a run with proofs, a trace, a bank or a file of rows")
    return ProvedStates((step.state, step.tactic) for step in steps)
