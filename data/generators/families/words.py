"""Word problems: two words in the generators of a group or monoid are equal, by the relations that are hypotheses.

    (h1 : ∀ x, a (a x) = x) (h2 : ∀ x, a (b (a x)) = b (a (b x))) ... : a (b (a (c x))) = b (c (a (b x)))

A word is a string of one-letter functions, applied to `x`. With `rfl` and `rw` alone a proof is a path in the graph of
words, as in DeepCubeA (Agostinelli and others, Nature Machine Intelligence 2019): it has to be searched, and a value is
a distance.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial

from data.generators.families.draft import Draft, chain

Relation = tuple[str, str]
"""Two words that are equal before every word."""

Sides = tuple[str, str]
"""The words on both sides of a goal."""

LONGEST_WORD = 24
PAIR_WEIGHT = 0.02
"""Weight of a step that inserts or removes a pair such as `a a`: it is possible everywhere, and easy to undo."""
MOST_NODES = 3000
"""Goals that the search for a shorter proof looks at."""


def symmetric(letters: str, rng: random.Random) -> list[Relation]:
    """The Coxeter relations of the symmetric group with these letters as its neighbouring transpositions."""
    return [(letter + letter, "") for letter in letters] + braid(letters, rng)


def braid(letters: str, rng: random.Random) -> list[Relation]:
    """The relations of the braid group, for positive words."""
    relations = []
    for first, a in enumerate(letters):
        for second, b in enumerate(letters[first + 1 :], first + 1):
            relations.append((a + b + a, b + a + b) if second == first + 1 else (a + b, b + a))
    return [each if rng.random() < 0.5 else each[::-1] for each in relations]


def monoid(letters: str, rng: random.Random, each: int = 2) -> list[Relation]:
    """Random relations between words of two to four letters, `each` for each letter."""
    found: dict[Relation, None] = {}
    while len(found) < each * len(letters):
        left, right = ("".join(rng.choices(letters, k=rng.randint(2, 4))) for _ in range(2))
        if left != right and abs(len(left) - len(right)) <= 1 and (right, left) not in found:
            found[left, right] = None
    return list(found)


PRESENTATIONS: dict[str, tuple[str, Callable[[str, random.Random], list[Relation]]]] = {
    "S4": ("abc", symmetric),
    "S5": ("abcd", symmetric),
    "S6": ("abcde", symmetric),
    "B4": ("abc", braid),
    "B5": ("abcd", braid),
    "B6": ("abcdef", braid),
    "M3": ("abc", monoid),
    "M4": ("abcd", monoid),
    "M3+": ("abc", partial(monoid, each=3)),
    "M4+": ("abcd", partial(monoid, each=3)),
}
"""Letters and relations, by the name of the group or monoid."""

DEEP = frozenset({"B6", "M3", "M4", "M3+", "M4+"})
"""Those of which a search with all tactics that there are proves few statements from seven steps on. The symmetric
groups are too easy at any depth: each word can be made short."""


def rewritten(sides: Sides, pattern: str, result: str) -> Sides | None:
    """The goal after `rw` with `∀ x, PATTERN x = RESULT x`: the first place that matches, on the left side first,
    decides what `x` is, and each place with that `x` is rewritten. None: `rw` fails."""
    for word in sides:
        place = word.find(pattern)
        if place >= 0 and pattern:
            rest = word[place + len(pattern) :]
            return tuple(  # type: ignore[return-value]
                each[: len(each) - len(pattern + rest)] + result + rest if each.endswith(pattern + rest) else each
                for each in sides
            )
    return None


def tactics(relations: list[Relation]) -> Iterator[tuple[str, str, str]]:
    """Every `rw` with one of the relations: its text, pattern and result."""
    for number, (left, right) in enumerate(relations, 1):
        yield f"rw [h{number}]", left, right
        yield f"rw [← h{number}]", right, left


def steps(sides: Sides, relations: list[Relation]) -> Iterator[tuple[str, Sides]]:
    """The goals after one `rw`."""
    for text, pattern, result in tactics(relations):
        new = rewritten(sides, pattern, result)
        if new is not None and max(map(len, new)) <= LONGEST_WORD:
            yield text, new


def shortest(sides: Sides, relations: list[Relation], most: int, most_nodes: int = MOST_NODES) -> list[str] | None:
    """A shortest proof of at most `most` steps; None if none is found among `most_nodes` goals."""
    before: dict[Sides, tuple[Sides, str] | None] = {sides: None}
    layer = [sides]
    for _ in range(most):
        following = []
        for goal in layer:
            for text, new in steps(goal, relations):
                if new in before:
                    continue
                before[new] = goal, text
                if new[0] == new[1]:
                    return _path(before, new)
                following.append(new)
        if len(before) > most_nodes:
            return None
        layer = following
    return None


def _path(before: dict[Sides, tuple[Sides, str] | None], goal: Sides) -> list[str]:
    path = []
    while (step := before[goal]) is not None:
        goal, text = step
        path.append(text)
    return path[::-1]


def walk(rng: random.Random, letters: str, relations: list[Relation], moves: int) -> tuple[Sides, list[str]] | None:
    """A goal that these tactics prove, and the tactics: steps back from `w = w`, each of which `rw` undoes. None if
    no step is left."""
    word = "".join(rng.choices(letters, k=rng.randint(5, 10)))
    goal, path, seen = (word, word), [], {(word, word)}
    for _ in range(moves):
        options = [
            (earlier, text, PAIR_WEIGHT if abs(len(pattern) - len(result)) > 1 else 1.0)
            for text, pattern, result in tactics(relations)
            for earlier in _unwritten(goal, pattern, result)
            if earlier not in seen
        ]
        if not options:
            return None
        goal, text, _ = rng.choices(options, [weight for *_, weight in options])[0]
        seen.add(goal)
        path.append(text)
    return goal, path[::-1]


def _unwritten(goal: Sides, pattern: str, result: str) -> Iterator[Sides]:
    """The goals from which `rw` with this rule leads to `goal`."""
    for side in (0, 1):
        word = goal[side]
        for place in range(len(word) - len(result) + 1):
            if not word.startswith(result, place):
                continue
            longer = word[:place] + pattern + word[place + len(result) :]
            earlier = (longer, goal[1]) if side == 0 else (goal[0], longer)
            fits = len(longer) <= LONGEST_WORD - 4 and earlier[0] != earlier[1]
            if fits and rewritten(earlier, pattern, result) == goal:
                yield earlier


def applied(word: str) -> str:
    """The word applied to `x`, as Lean prints it: `a (b x)`."""
    if not word:
        return "x"
    return f"{word[0]} x" if len(word) == 1 else f"{word[0]} ({applied(word[1:])})"


def equal_words(name: str, rng: random.Random, most: int = 14) -> Draft | None:
    """A statement about words of a presentation. Its proof is the shortest that a small search finds, or else the
    walk's own."""
    letters, relations_of = PRESENTATIONS[name]
    relations = relations_of(letters, rng)
    walked = walk(rng, letters, relations, rng.randint(2, most))
    if walked is None:
        return None
    goal, path = walked
    proof = shortest(goal, relations, len(path)) or path
    functions = [(letter, "α → α") for letter in letters]
    hypotheses = [
        (f"h{number}", f"∀ x, {applied(left)} = {applied(right)}") for number, (left, right) in enumerate(relations, 1)
    ]
    conclusion = f"{applied(goal[0])} = {applied(goal[1])}"
    return Draft(name, name, [("α", "Type"), *functions, ("x", "α")], hypotheses, conclusion, chain(proof))
