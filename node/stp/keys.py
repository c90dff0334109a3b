"""Keys of statements: equal for statements that are equal up to white space and bound names. Pure.

A statement is split into tokens. Each binding of a name gets a number, and uses of the name within the binding's scope
are replaced by the number. So `(n : Nat) : n + 0 = n` and `(m: Nat) :  m+0 = m` have the same key, and
`(a b : Nat) : a = b` and `(a b : Nat) : b = a` have different keys.

This is an approximation, not a parser of Lean. Names that it does not recognize as bound (patterns, sets, `let`) count
as written. If equal statements get two keys, the only cost is one more conjecture to prove.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from common.lean import Theorem
from node.lean.text.lexing import CLOSING, NAME, OPENING

_APART = r"()\[\]{}⟨⟩⦃⦄,∀∃λΣΠ∑∏"
"""Symbols that are always separate tokens."""
_TOKEN = re.compile(
    rf"«[^»]*»|{NAME}(?:\.{NAME})*|\d+(?:\.\d+)?|\"(?:[^\"\\]|\\.)*\"|∃!|[{_APART}]|[^\s\w«\"{_APART}]+|\S"
)
_NAME = re.compile(NAME)
_BINDING = frozenset({"∀", "∃", "∃!", "λ", "fun", "Σ", "Π", "∑", "∏", "⨆", "⨅", "⋃", "⋂"})
_ENDS = frozenset({",", "=>", "↦"})
_GROUPS = frozenset("({[⦃")
_NO_NAMES = frozenset({"fun", "_"})


def key(theorem: Theorem) -> str:
    """A digest that is equal for statements with equal headers that are equal up to white space and bound names."""
    if theorem.place is not None:
        context = [*map(str, theorem.place.key)]
        if not theorem.binders and not theorem.place.before.startswith("theorem proofmesh_theorem"):
            return _digest(context)
        context = [theorem.place.context.digest]
    else:
        context = [" ".join(theorem.header.split())]
    return _digest([*context, *canonical(theorem.binders, theorem.conclusion)])


def canonical(binders: str, conclusion: str) -> list[str]:
    """The tokens of a statement, with numbers in place of bound names."""
    return _Reader(_tokens(f"{binders} : {conclusion}")).read()


def bound_names(binders: str, conclusion: str) -> frozenset[str]:
    """The names that a statement binds, anywhere in it."""
    reader = _Reader(_tokens(f"{binders} : {conclusion}"))
    reader.read()
    return frozenset(reader.bound)


def _digest(parts: Sequence[str]) -> str:
    return hashlib.blake2b("\x1f".join(parts).encode(errors="surrogatepass"), digest_size=16).hexdigest()


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


@dataclass
class _Reader:
    tokens: list[str]
    at: int = 0
    written: list[str] = field(default_factory=list)
    scopes: list[dict[str, str]] = field(default_factory=lambda: [{}])
    """Numbers of bound names: the statement's own scope, then one scope per open bracket and binder."""
    bound: set[str] = field(default_factory=set)
    places: int = 0

    def read(self) -> list[str]:
        """Read all tokens: binders up to the colon outside brackets, then the conclusion."""
        while self.at < len(self.tokens) and self.tokens[self.at] != ":":
            if self._group_follows():
                self._group()
            elif self._is_name(self.tokens[self.at]):
                self._bind(self._take())
            else:
                self._term_token()
        while self.at < len(self.tokens):
            self._term_token()
        return self.written

    def _term(self, ends: frozenset[str]) -> None:
        """Read up to an end token outside brackets, or up to the closing bracket of an outer group; neither is read."""
        while self.at < len(self.tokens) and self.tokens[self.at] not in ends | CLOSING.keys():
            self._term_token()

    def _term_token(self) -> None:
        """Read one token; a bracket or a binder is read with its content."""
        token = self._take()
        if token in OPENING:
            self.written.append(token)
            depth = len(self.scopes)
            self.scopes.append({})
            self._term(frozenset())
            del self.scopes[depth:]
            if self.at < len(self.tokens):
                self.written.append(self._take())
        elif token in _BINDING:
            self.written.append(token)
            self._binder()
        else:
            self.written.append(self._standing_for(token))

    def _binder(self) -> None:
        """Read the names and groups after `∀`, `fun`, ...; their scope ends with the enclosing bracket."""
        self.scopes.append({})
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if self._group_follows():
                self._group()
            elif self._is_name(token):
                self._bind(self._take())
            else:
                break
        if self.at < len(self.tokens) and self.tokens[self.at] not in _ENDS | CLOSING.keys():
            self._term(_ENDS)

    def _group_follows(self) -> bool:
        """Whether a bracketed group that binds names begins here."""
        if self.at >= len(self.tokens) or self.tokens[self.at] not in _GROUPS:
            return False
        for names, token in enumerate(self.tokens[self.at + 1 :]):
            if token == ":":
                return names > 0
            if not self._is_name(token) and token != "_":
                # A group without a type, as in `∀ (x y), p` and `fun {x} => p`.
                return token == OPENING[self.tokens[self.at]] and names > 0 and self.tokens[self.at] != "["
        return False

    def _group(self) -> None:
        opening = self._take()
        names = []
        while self._is_name(self.tokens[self.at]) or self.tokens[self.at] == "_":
            names.append(self._take())
        marks = len(self.written)
        self.written += [opening, *names]
        if self.tokens[self.at] == ":":
            depth = len(self.scopes)
            self.scopes.append({})
            self._term(frozenset())
            del self.scopes[depth:]
        for place, name in enumerate(names, start=marks + 1):
            self.written[place] = self._number(name)
        if self.at < len(self.tokens):
            self.written.append(self._take())

    def _bind(self, name: str) -> None:
        self.written.append(self._number(name))

    def _number(self, name: str) -> str:
        """Give a new number to a name that is bound here."""
        if name == "_":
            return name
        self.places += 1
        self.bound.add(name)
        self.scopes[-1][name] = f"#{self.places}"
        return self.scopes[-1][name]

    def _standing_for(self, token: str) -> str:
        head, dot, projections = token.partition(".")
        for scope in reversed(self.scopes):
            if head in scope:
                return f"{scope[head]}{dot}{projections}"
        return token

    def _is_name(self, token: str) -> bool:
        return _NAME.fullmatch(token) is not None and token not in _NO_NAMES

    def _take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]
