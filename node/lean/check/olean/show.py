"""Prints terms for messages, nearly as Lean does with `pp.notation` off. Pure."""

from __future__ import annotations

from node.lean.check.olean.terms import Tag, Terms

_VARIABLES = "xyzabcpqrstuvw"


def show(terms: Terms, term: int, most: int = 200, depth: int = 0) -> str:
    """A term as text of at most about `most` characters.

    `depth`: the number of variables that are bound around it. They are called x, y, z, ... from the outside.
    """
    bound: tuple[str, ...] = ()
    for _ in range(depth):
        bound = (*bound, _name(bound))
    text = _show(terms, term, bound, most)
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _show(terms: Terms, term: int, bound: tuple[str, ...], room: int) -> str:
    if room <= 0:
        return "..."
    room -= 1  # each level costs a character, which bounds the recursion
    shape = terms.shape(term)
    match shape:
        case (Tag.BOUND, int(index)):
            return bound[-1 - index] if index < len(bound) else "_"
        case (Tag.CONSTANT, str(name), _):
            return name
        case (Tag.SORT, int(level)):
            return {1: "Type", 0: "Prop"}.get(_numeral(terms, level), "Sort _")
        case (Tag.LITERAL, value):
            return f'"{value}"' if isinstance(value, str) else str(value)
        case (Tag.APPLY, int(function), int(argument)):
            left = _show(terms, function, bound, room)
            return f"{left} {_atom(terms, argument, bound, room - len(left))}"
        case (Tag.LAMBDA | Tag.FORALL, int(kind), int(body)):
            name = _name(bound)
            sign = ("fun", "=>") if shape[0] == Tag.LAMBDA else ("∀", ",")
            head = f"{sign[0]} ({name} : {_show(terms, kind, bound, room)}){' ' if sign[1] == '=>' else ''}{sign[1]} "
            return head + _show(terms, body, (*bound, name), room - len(head))
        case (Tag.LET, int(_), int(value), int(body)):
            name = _name(bound)
            head = f"let {name} := {_show(terms, value, bound, room)}; "
            return head + _show(terms, body, (*bound, name), room - len(head))
        case (Tag.PROJECTION, _, int(index), int(inner)):
            return f"{_atom(terms, inner, bound, room)}.{index + 1}"
    return "_"


def _atom(terms: Terms, term: int, bound: tuple[str, ...], room: int) -> str:
    text = _show(terms, term, bound, room)
    return f"({text})" if " " in text else text


def _name(bound: tuple[str, ...]) -> str:
    turn, at = divmod(len(bound), len(_VARIABLES))
    return _VARIABLES[at] + (str(turn) if turn else "")


def _numeral(terms: Terms, level: int) -> int:
    """The value of a universe level without parameters; -1 for a level with parameters."""
    match terms.shape(level):
        case ("level", 0):
            return 0
        case ("level", 1, int(below)):
            inner = _numeral(terms, below)
            return inner + 1 if inner >= 0 else -1
    return -1
