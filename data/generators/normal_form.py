"""Normal forms of statements, equal up to names and the order of hypotheses; and skeletons, the shapes of statements.

They are computed from the text alone, so that a test can check the committed bank. Leading quantifiers and premises of
the conclusion count as variables and hypotheses. Types of variables are ignored, so a statement about `α` equals one
about `Nat`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from common.lean import Theorem

_TOKEN = re.compile(r"\.[A-Za-z_][\w']*|[^\W\d][\w']*|\d+|::|\+\+|[^\s\w]")
_IDENTIFIER = re.compile(r"[^\W\d][\w']*$")
_KINDS = {"Prop", "Type", "Nat", "List", "→"}
_OPEN, _CLOSE = "([⟨", ")]⟩"
MAX_ORDERS = 200
"""Most orders of indistinguishable hypotheses that are tried to find the smallest text."""

Tokens = tuple[str, ...]


def tokens(text: str) -> Tokens:
    return tuple(_TOKEN.findall(text))


def parts(theorem: Theorem) -> tuple[list[Tokens], Tokens, set[str]]:
    """Hypotheses, conclusion and names of variables. Raises ValueError for binders that cannot be parsed."""
    names: set[str] = set()
    hypotheses: list[Tokens] = []
    for group in binder_groups(theorem):
        declared, _, kind_text = group.partition(" : ")
        kind = tokens(kind_text)
        if not hypotheses and all(token in _KINDS or token in ("(", ")", "α") for token in kind):
            names |= set(declared.split())
        else:
            hypotheses.append(kind)
    names = {name for name in names if name not in _KINDS}
    premises, conclusion, bound = strip_premises(tokens(theorem.conclusion))
    return hypotheses + premises, conclusion, names | bound


def binder_groups(theorem: Theorem) -> list[str]:
    """`h : p` for each binder `(h : p)`. Raises ValueError for other text between the binders."""
    groups, depth, start = [], 0, 0
    for index, char in enumerate(theorem.binders):
        if char == "(":
            start = index + 1 if depth == 0 else start
            depth += 1
        elif char == ")":
            depth -= 1
            if depth == 0:
                groups.append(theorem.binders[start:index])
        elif depth == 0 and not char.isspace():
            raise ValueError(f"binders of {theorem.name}: cannot read {char!r} at character {index}")
    return groups


def strip_premises(body: Tokens) -> tuple[list[Tokens], Tokens, set[str]]:
    """Split leading `∀ x,` and `A →` off a conclusion: premises, remaining conclusion, names of bound variables."""
    premises: list[Tokens] = []
    names: set[str] = set()
    while True:
        body = _unbracketed(body)
        if body and body[0] == "∀":
            comma = body.index(",")
            names |= {token for token in body[1:comma] if _IDENTIFIER.match(token)}
            body = body[comma + 1 :]
            continue
        arrow = _top_level_arrow(body)
        if arrow is None:
            return premises, body, names
        premises.append(_unbracketed(body[:arrow]))
        body = body[arrow + 1 :]


def _unbracketed(body: Tokens) -> Tokens:
    while body and body[0] == "(" and _closing(body) == len(body) - 1:
        body = body[1:-1]
    return body


def _closing(body: Tokens) -> int:
    depth = 0
    for index, token in enumerate(body):
        depth += (token in _OPEN) - (token in _CLOSE)
        if depth == 0:
            return index
    return -1


def _top_level_arrow(body: Tokens) -> int | None:
    depth, first_arrow = 0, None
    for index, token in enumerate(body):
        depth += (token in _OPEN) - (token in _CLOSE)
        if depth == 0:
            if token == "↔":
                return None
            if token in ("∀", "∃") and first_arrow is None:
                return None
            if token == "→" and first_arrow is None:
                first_arrow = index
    return first_arrow


def bind(formula: Tokens) -> Tokens:
    """Rename bound variables to `%0`, `%1`, ... in the order of their quantifiers."""
    names: dict[str, str] = {}
    index = 0
    while index < len(formula):
        if formula[index] in ("∀", "∃"):
            index += 1
            while formula[index] != ",":
                if _IDENTIFIER.match(formula[index]):
                    names.setdefault(formula[index], f"%{len(names)}")
                index += 1
        index += 1
    return tuple(names.get(token, token) for token in formula)


def skeleton(theorem: Theorem) -> str:
    """The shape of a statement: variables replaced by `_`, hypotheses sorted."""
    hypotheses, conclusion, names = parts(theorem)

    def erase(formula: Tokens) -> str:
        return " ".join("_" if token in names else token for token in bind(formula))

    return " ; ".join([*sorted(erase(formula) for formula in hypotheses), "⊢ " + erase(conclusion)])


def normal_form(theorem: Theorem) -> str:
    """A text that is equal for all renamings of variables and orders of hypotheses."""
    hypotheses, conclusion, names = parts(theorem)
    mapping: dict[str, str] = {}
    head = _render(bind(conclusion), names, mapping, commit=True)
    budget = [MAX_ORDERS]
    return head + " ⊣ " + " ; ".join(min(_orders([bind(formula) for formula in hypotheses], names, mapping, budget)))


def _render(formula: Tokens, names: set[str], mapping: dict[str, str], commit: bool) -> str:
    mapping = mapping if commit else dict(mapping)
    return " ".join(mapping.setdefault(token, f"v{len(mapping)}") if token in names else token for token in formula)


def _orders(
    hypotheses: list[Tokens], names: set[str], mapping: dict[str, str], budget: list[int]
) -> Iterator[list[str]]:
    """Texts of the hypotheses in all orders that begin with the smallest. `budget` limits the number of orders."""
    if not hypotheses:
        budget[0] -= 1
        yield []
        return
    texts = [_render(formula, names, mapping, commit=False) for formula in hypotheses]
    best = min(texts)
    for index, text in enumerate(texts):
        if text != best:
            continue
        extended = dict(mapping)
        _render(hypotheses[index], names, extended, commit=True)
        for following in _orders(hypotheses[:index] + hypotheses[index + 1 :], names, extended, budget):
            yield [text, *following]
        if extended == mapping or budget[0] <= 0:
            return
