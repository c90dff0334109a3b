"""Combinators: a witness over S, K, B, C or others, which is composed piece by piece.

    (m : Mul α) (S K B C : α) (h1 : ∀ x y z, S * x * y * z = x * z * (y * z)) ...
    (up : ∀ P : α → Prop, (∃ t u, P (t * u)) → ∃ t, P t) ⊢ ∃ t : α, ∀ x y z : α, t * x * y * z = x * z * (z * y)

`apply up` makes the first part of the witness an application of two parts, `refine ⟨S, ?_⟩` makes it a combinator, and
`simp only` with all laws shows what the parts so far do to the arguments. A witness of five combinators is one of
thousands, and a wrong piece is seen late.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import lru_cache

from data.generators.families.draft import Draft, chain

Term = str | tuple["Term", "Term"]
"""A combinator, an argument, a part `?0`, `?1`, ... of the witness that is not there yet, or an application."""

LAWS: dict[str, tuple[str, Term]] = {
    "S": ("xyz", (("x", "z"), ("y", "z"))),
    "K": ("xy", "x"),
    "B": ("xyz", ("x", ("y", "z"))),
    "C": ("xyz", (("x", "z"), "y")),
    "W": ("xy", (("x", "y"), "y")),
    "T": ("xy", ("y", "x")),
}
"""The arguments of each combinator, and what it makes of them."""

BASES = ("SKBC", "BCKW", "BTKW", "SBCT", "SCKW", "BCTW")
"""Combinators with which statements are asked; all have four."""
REDUCE = "simp only [h1, h2, h3, h4]"
ARGUMENTS = "xyzw"
MOST_COMBINATORS = 6
SMALLEST_FOUND = 5
"""Witnesses up to this size are all looked at, so that a known one of this size is a smallest one."""
MOST_REDUCTIONS = 20
LONGEST_RESULT = 10
"""Most arguments on the right side."""


class NoNormalForm(Exception):
    """Reduction does not end soon."""


def spine(term: Term) -> tuple[str, list[Term]]:
    """The head of an application and its arguments."""
    arguments: list[Term] = []
    while not isinstance(term, str):
        term, argument = term
        arguments.append(argument)
    return term, arguments[::-1]


def applied(head: Term, arguments: list[Term]) -> Term:
    for argument in arguments:
        head = (head, argument)
    return head


def replaced(term: Term, values: dict[str, Term]) -> Term:
    if isinstance(term, str):
        return values.get(term, term)
    return replaced(term[0], values), replaced(term[1], values)


def leaves(term: Term) -> Iterator[str]:
    if isinstance(term, str):
        yield term
    else:
        yield from leaves(term[0])
        yield from leaves(term[1])


def normal(term: Term, budget: list[int] | None = None) -> Term:
    """The normal form. Raises NoNormalForm."""
    budget = [MOST_REDUCTIONS] if budget is None else budget
    head, arguments = spine(term)
    while head in LAWS and len(arguments) >= len(LAWS[head][0]):
        budget[0] -= 1
        names, result = LAWS[head]
        if budget[0] < 0:
            raise NoNormalForm
        values = dict(zip(names, arguments, strict=False))
        head, arguments = spine(applied(replaced(result, values), arguments[len(names) :]))
    return applied(head, [normal(argument, budget) for argument in arguments])


def effect(witness: Term, arguments: str) -> Term | None:
    """What the witness makes of its arguments; None if a combinator is left, if it is a large term, or if a witness
    with one argument less says the same."""
    try:
        result = normal(applied(witness, list(arguments)))
    except NoNormalForm:
        return None
    found = list(leaves(result))
    if len(found) > LONGEST_RESULT or not set(found) <= set(arguments):
        return None
    same = not isinstance(result, str) and result[1] == arguments[-1] and found.count(arguments[-1]) == 1
    return None if same else result


def trees(size: int, basis: str) -> Iterator[Term]:
    """Every witness of this many combinators."""
    if size == 1:
        yield from basis
    for left in range(1, size):
        for head in trees(left, basis):
            for argument in trees(size - left, basis):
                yield head, argument


@lru_cache
def smallest(basis: str, arguments: str) -> list[dict[Term, Term]]:
    """What small witnesses do to these arguments, each with a smallest witness, by the number of combinators from 1."""
    found: list[dict[Term, Term]] = []
    for size in range(1, SMALLEST_FOUND + 1):
        new: dict[Term, Term] = {}
        for witness in trees(size, basis):
            result = effect(witness, arguments)
            if result is not None and not any(result in smaller for smaller in found):
                new.setdefault(result, witness)
        found.append(new)
    return found


def random_tree(size: int, basis: str, rng: random.Random) -> Term:
    if size == 1:
        return rng.choice(basis)
    left = rng.randint(1, size - 1)
    return random_tree(left, basis, rng), random_tree(size - left, basis, rng)


def composed(witness: Term, arguments: str) -> list[str] | None:
    """The tactics that compose a witness. None if a part of it does nothing, because K drops it."""
    parts: list[Term] = [witness]
    names = ["?0"]
    made = 1
    body = applied("?0", list(arguments))
    tactics: list[str] = []
    while parts:
        part, name = parts.pop(0), names.pop(0)
        if name not in leaves(body):
            return None
        if isinstance(part, str):
            tactics.append(f"refine ⟨{part}, ?_⟩")
            body = replaced(body, {name: part})
            smaller = normal(body)
            if parts and smaller != body:
                tactics.append(REDUCE)
                body = smaller
        else:
            new = [f"?{made}", f"?{made + 1}"]
            made += 2
            tactics.append("apply up")
            body = replaced(body, {name: (new[0], new[1])})
            parts, names = [*part, *parts], [*new, *names]
    return [*tactics, "intros", REDUCE]


def show(term: Term) -> str:
    """Lean's text."""
    if isinstance(term, str):
        return term
    argument = show(term[1]) if isinstance(term[1], str) else f"({show(term[1])})"
    return f"{show(term[0])} * {argument}"


def statement(basis: str, rng: random.Random) -> Draft | None:
    """A statement that asks for a witness over a basis."""
    arguments = ARGUMENTS[: rng.randint(2, len(ARGUMENTS))]
    size, small = rng.randint(2, MOST_COMBINATORS), smallest(basis, arguments)
    if size <= SMALLEST_FOUND:
        if not small[size - 1]:
            return None
        result, witness = rng.choice(list(small[size - 1].items()))
    else:
        witness = random_tree(size, basis, rng)
        made = effect(witness, arguments)
        if made is None or any(made in smaller for smaller in small):
            return None
        result = made
    tactics = composed(witness, arguments)
    if tactics is None:
        return None
    variables = [("α", "Type"), ("m", "Mul α"), *((each, "α") for each in basis)]
    hypotheses = [("up", "∀ P : α → Prop, (∃ t u, P (t * u)) → ∃ t, P t")]
    for number, each in enumerate(basis, 1):
        names, law = LAWS[each]
        hypotheses.append((f"h{number}", f"∀ {' '.join(names)}, {show(applied(each, list(names)))} = {show(law)}"))
    bound = " ".join(arguments)
    left = show(applied("t", list(arguments)))
    conclusion = f"∃ t : α, ∀ {bound} : α, {left} = {show(result)}"
    # Hypotheses among the variables keep their order: a policy learns what the first ones do.
    return Draft(basis, basis, variables + hypotheses, [], conclusion, chain(tactics))
