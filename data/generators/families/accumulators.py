"""Accumulators: two functions with an accumulator, or one with and one without, agree up to what is carried past them.

    (f0 : ∀ b, f 0 b = b) (f1 : ∀ i b, f (i + 1) b = f i (p (q b))) (g0 : ...) (g1 : ...)
    (h1 : ∀ b, p (u b) = u (q b)) ... ⊢ f n (u (v a)) = u (v (g n a))

The accumulator changes from call to call, so the hypothesis of the induction has to be about every accumulator
(`generalizing`). Then what a step does to the accumulator is carried past `u (v a)` by the relations: a path that has
to be searched among relations that lead away. In the kind with lemmas, `g` works on the way back
(`g (n + 1) a = p (g n a)`), and what is left in its accumulator is carried out of it by lemmas about `g`.

Both sides of a goal are strings of one-place functions, as in word problems (`words.py`): `f` and `g` stand for `f n`
and `g n`. So `rw` is simulated in the same way.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from common.lean import ProofTree
from data.generators.families.draft import Draft, chain, step
from data.generators.families.words import Relation, Sides, rewritten, shortest

KEPT, MOVED = "uv", "pqr"
"""Functions that are carried past the recursion, and those that a step applies to the accumulator."""
MOST_AT_END, NODES_AT_END = 6, 300
"""Most `rw` after everything is carried to its place, and goals that the search for them looks at."""


@dataclass(frozen=True)
class Kind:
    """A kind of recursion."""

    over_lists: bool
    lemmas: bool
    """Whether `g` works on the way back, with lemmas about it."""


KINDS = {
    "count": Kind(False, False),
    "fold": Kind(True, False),
    "count-lemmas": Kind(False, True),
}

COUNT = "induction n generalizing a with | zero => ?_ | succ n ih => ?_"
FOLD = "induction l generalizing a with | nil => ?_ | cons x l ih => ?_"


def carried(word: str, past: str, exchange: dict[tuple[str, str], str]) -> str:
    """What is left of a word of MOVED after `past`, a word of KEPT, is carried to its front."""
    for kept in past[:1]:
        return carried("".join(exchange[letter, kept] for letter in word), past[1:], exchange)
    return word


def statement(name: str, rng: random.Random) -> Draft | None:
    """A statement of a kind. Its proof is the shortest that a small search finds in each case; None if it finds
    none."""
    kind = KINDS[name]
    # 1. The relations: every exchange of a moved and a kept function, and some among the moved ones.
    exchange: dict[tuple[str, str], str] = {}
    for kept in KEPT:
        for letter, image in zip(MOVED, rng.sample(MOVED, len(MOVED)), strict=True):
            exchange[letter, kept] = image
    relations: list[Relation] = [(letter + kept, kept + image) for (letter, kept), image in exchange.items()]
    relations.append(("uv", "vu"))
    extra = [("".join(rng.choices(MOVED, k=2)), "".join(rng.choices(MOVED, k=rng.randint(1, 2)))) for _ in range(2)]
    if any(left == right for left, right in extra):
        return None
    relations = [each if rng.random() < 0.6 else each[::-1] for each in relations + extra]
    rng.shuffle(relations)
    # 2. What a step of `f` applies, what `u (v a)` is, and what remains for `g`.
    work = "".join(rng.choices(MOVED, k=rng.randint(1, 4)))
    before = "".join(rng.choices(KEPT, k=rng.randint(1, 3)))
    after = before if rng.random() < 0.6 else "".join(rng.sample(before, len(before)))
    rest = altered(carried(work, before, exchange), extra, rng)
    lemmas: list[Relation] = []
    if kind.lemmas:  # `g` carries the letters of its accumulator out, each as another one
        images = dict(zip(MOVED, rng.sample(MOVED, len(MOVED)), strict=True))
        lemmas = [("g" + letter, image + "g") for letter, image in images.items()]
        rest = altered("".join(images[letter] for letter in carried(work, before, exchange)), extra, rng)
    # 3. Both cases.
    named = {f"h{number}": each for number, each in enumerate(relations, 1)}
    named |= {f"k{number}": each for number, each in enumerate(lemmas, 1)}
    base = closing([], (before, after), named)
    inductive = closing(
        [("rw [ih]", ("f" + before, after + "g"))],
        ("f" + work + before, after + (rest + "g" if kind.lemmas else "g" + rest)),
        named,
    )
    if base is None or inductive is None:
        return None
    proof = step(
        FOLD if kind.over_lists else COUNT,
        chain(["rw [f0]", "rw [g0]", *base]),
        chain(["rw [f1]", "rw [g1]", *inductive]),
    )
    return drafted(name, kind, named, (work, before, after, rest), proof)


def closing(first: list[tuple[str, Relation]], goal: Sides, named: dict[str, Relation]) -> list[str] | None:
    """A chain of `rw` that closes a goal: what is carried to the front or out of `g`, in any order, with these rules
    `first` as soon as they fit; then a shortest path. None if there is none in reach. An equal goal is closed."""
    carrying = [
        (f"rw [{back}{name}]", sides)
        for name, each in named.items()
        for back, sides in (("", each), ("← ", each[::-1]))
        if sides[0][0] in MOVED + "g" and sides[1][0] in KEPT + MOVED and sides[0][1:] in (*KEPT, *MOVED)
        if sides[0][0] == "g" or sides[0][1] in KEPT
    ]
    path: list[str] = []
    while goal[0] != goal[1]:
        for text, (pattern, result) in [*first, *carrying]:
            new = rewritten(goal, pattern, result)
            if new is not None:
                goal, path = new, [*path, text]
                break
        else:
            break
    if goal[0] == goal[1]:
        return path
    end = shortest(goal, list(named.values()), MOST_AT_END, NODES_AT_END)
    names = list(named)
    return (
        None
        if end is None
        else path + [re.sub(r"h(\d+)", lambda found: names[int(found[1]) - 1], each) for each in end]
    )


def altered(word: str, relations: list[Relation], rng: random.Random) -> str:
    """The word after up to three uses of relations, in either direction."""
    for _ in range(rng.randint(0, 3)):
        sides = [side for each in relations for side in (each, each[::-1])]
        found = [
            word[:place] + new + word[place + len(old) :]
            for old, new in sides
            for place in range(len(word))
            if word.startswith(old, place)
        ]
        word = rng.choice(found) if found else word
    return word


def drafted(
    name: str, kind: Kind, named: dict[str, Relation], words: tuple[str, str, str, str], proof: ProofTree
) -> Draft:
    """The statement in Lean's words."""
    work, before, after, rest = words
    item = "List Nat" if kind.over_lists else "Nat"
    zero, more, variable = ("[]", "(y :: l)", "l") if kind.over_lists else ("0", "(i + 1)", "n")
    smaller = "l" if kind.over_lists else "i"

    def applied(word: str, argument: str, element: str = "y", at: str = smaller) -> str:
        """The word applied to an argument, as Lean prints it: `f n (p (u b))`."""
        for letter in reversed(word):
            extra = f" {at}" if letter in "fg" else f" {element}" if letter in MOVED and kind.over_lists else ""
            argument = f"{letter}{extra} {argument if argument.isalnum() else f'({argument})'}"
        return argument

    def equation(sides: Relation, argument: str = "b") -> str:
        return " = ".join(applied(side, argument) for side in sides)

    over = ("y l" if kind.over_lists else "i") + " b"
    hypotheses = [
        ("f0", f"∀ b, f {zero} b = b"),
        ("f1", f"∀ {over}, f {more} b = {applied('f' + work, 'b')}"),
        ("g0", f"∀ b, g {zero} b = b"),
        ("g1", f"∀ {over}, g {more} b = {applied(rest + 'g' if kind.lemmas else 'g' + rest, 'b')}"),
    ]
    for rule, sides in named.items():
        moved = kind.over_lists and set("".join(sides)) & set(MOVED)
        bound = " ".join(["l" if kind.over_lists else "i"] * ("g" in sides[0]) + ["y"] * bool(moved) + ["b"])
        hypotheses.append((rule, f"∀ {bound}, {equation(sides)}"))
    variables = [("α", "Type"), *((function, f"{item} → α → α") for function in "fg")]
    variables += [(letter, "α → α") for letter in KEPT]
    variables += [(letter, "Nat → α → α" if kind.over_lists else "α → α") for letter in MOVED]
    conclusion = " = ".join(applied(side, "a", at=variable) for side in ("f" + before, after + "g"))
    # Hypotheses among the variables keep their order: a policy learns what the first ones do.
    return Draft(name, name, [*variables, (variable, item), ("a", "α"), *hypotheses], [], conclusion, proof)
