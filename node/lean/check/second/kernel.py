"""Adds declarations to an environment one by one, and says for each whether it was checked. The entry to the kernel."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from node.lean.check.second.checker import NAT_NAME, Checker
from node.lean.check.second.declarations import (
    Axiom,
    Constant,
    Definition,
    NotChecked,
    Opaque,
    Quotient,
    Refused,
    Theorem,
)
from node.lean.check.second.inductive import Group
from node.lean.check.second.parse import Declaration, ParsedAxiom, ParsedGroup, ParsedQuotient, ParsedValue
from node.lean.check.second.special import TEXTS, Logic, recognise
from node.lean.check.second.terms import CONST, FVAR, NAT, PROJ, SORT, STR, Expr, Store, level_parameters, subterms

MOST_TERMS = 6_000_000
"""Cached terms and answers; the caches are emptied beyond it. A term takes about 200 bytes."""

STEPS = 20_000_000
"""Most steps of one declaration."""


@dataclass
class Outcome:
    """What was found out about the declarations."""

    checked: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    not_checked: dict[str, str] = field(default_factory=dict)
    trusted: int = 0
    """The number of constants that were taken as given."""


class Limit:
    """Counts steps. `tick` raises NotChecked when a declaration has used its steps, or the time is over."""

    def __init__(self, seconds: float, steps: int = STEPS) -> None:
        self._end = time.monotonic() + seconds
        self._steps = steps
        self._left = steps

    def begin(self) -> None:
        """Start a new declaration."""
        self._left = self._steps

    @property
    def over(self) -> bool:
        return time.monotonic() > self._end

    def tick(self) -> None:
        self._left -= 1
        if not self._left & 0xFF:
            if self._left <= 0:
                raise NotChecked("out of steps")
            if self.over:
                raise NotChecked("out of time")


class Kernel:
    """An environment. Call `add` for each declaration, in order."""

    def __init__(self, store: Store, limit: Limit) -> None:
        self._store = store
        self._limit = limit
        store.tick = limit.tick
        self.checker = Checker(store, limit.tick)
        self.outcome = Outcome()
        self._logic = Logic(self.checker)
        self._axioms: dict[str, frozenset[str]] = {}
        """For each constant of the environment: the axioms that it uses, directly or not."""

    def add(self, declaration: Declaration, trusted: bool = False) -> None:
        """Check a declaration. `trusted`: believe that it is well typed; what it means is still worked out here."""
        # 1. Check. Whatever goes wrong, the answer is not yes.
        names = names_of(declaration)
        try:
            self._limit.begin()
            self._limit.tick()
            if self._limit.over:
                raise NotChecked("out of time")
            made = self._made(declaration, names, trusted)
        except Refused as error:
            self._reject(names, self.outcome.refused, str(error))
        except NotChecked as error:
            self._reject(names, self.outcome.not_checked, str(error))
        except RecursionError:
            self._reject(names, self.outcome.not_checked, "the terms are too deep")
        except Exception as error:
            # A mistake in this program, or terms that Python cannot hold. It must never become a yes.
            self._reject(names, self.outcome.not_checked, f"the second kernel failed: {type(error).__name__}")
        # 2. Add it to the environment.
        else:
            for constant in made:
                self.checker.constants[constant.name] = constant
            if trusted:
                self.outcome.trusted += len(made)
            else:
                self.outcome.checked += [constant.name for constant in made]
            self._note_axioms(declaration, names)
            recognise(self.checker, names)
        # 3. Bound the memory.
        if self._store.size() + self.checker.size() > MOST_TERMS:
            self.checker.forget()
            self._store.forget()

    def _reject(self, names: list[str], into: dict[str, str], reason: str) -> None:
        for name in names:
            # A second declaration of a name leaves the first one as it is.
            if name not in self._axioms:
                self.checker.constants.pop(name, None)
                self.checker.unchecked.add(name)
            into[name] = reason
        # Answers were cached while the rejected constants were there.
        self.checker.forget()

    def _made(self, declaration: Declaration, names: list[str], trusted: bool) -> list[Constant]:
        """The constants of a declaration, checked. Raises Refused and NotChecked."""
        # 1. The names are new.
        for name in names:
            if not name:
                raise Refused("a constant without a name")
            if name in self._axioms or name in self.checker.unchecked or names.count(name) > 1:
                raise Refused(f"{name} is declared twice")
        # 2. Every term is closed, and mentions only its own universe parameters.
        for parameters, term in _terms(declaration):
            if len(set(parameters)) != len(parameters):
                raise Refused("a universe parameter twice")
            _closed(parameters, term)
        # 3. By kind.
        match declaration:
            case ParsedGroup():
                return self._inductive(declaration, trusted)
            case ParsedQuotient():
                self._logic.check_quotient(declaration.kind, declaration.name, declaration.parameters, declaration.type)
                return [Quotient(declaration.name, declaration.parameters, declaration.type, declaration.kind)]
            case ParsedAxiom():
                if declaration.unsafe:
                    raise NotChecked("unsafe constants are not checked")
                if not trusted:
                    self.checker.sort_of(declaration.type, True)
                self._logic.check_axiom(declaration.name, declaration.parameters, declaration.type)
                return [Axiom(declaration.name, declaration.parameters, declaration.type)]
            case ParsedValue():
                return [self._value(declaration, trusted)]

    def _value(self, parsed: ParsedValue, trusted: bool) -> Constant:
        """A definition, theorem or opaque constant."""
        checker, store = self.checker, self._store
        if parsed.unsafe:
            raise NotChecked("unsafe and partial constants are not checked")
        if not trusted:
            level = checker.sort_of(parsed.type, True)
            if parsed.kind == "thm" and not store.same_level(level, store.zero):
                raise Refused("a theorem whose type is not a proposition")
            if not checker.equal(checker.check(parsed.value), parsed.type):
                raise Refused("its value has another type")
        common = (parsed.name, parsed.parameters, parsed.type, parsed.value)
        if parsed.kind == "opaque":
            return Opaque(*common)
        return (Theorem if parsed.kind == "thm" else Definition)(*common, parsed.height)

    def _inductive(self, parsed: ParsedGroup, trusted: bool) -> list[Constant]:
        parts = (parsed.types, parsed.constructors, parsed.recursors)
        if any(each.unsafe for part in parts for each in part):
            raise NotChecked("unsafe constants are not checked")
        before = set(self.checker.constants)
        try:
            return Group(self.checker, parsed, trusted).declare()
        finally:
            # Types that stand for nested occurrences are not constants; all others come back if the group is right.
            for name in set(self.checker.constants) - before:
                del self.checker.constants[name]

    # --- axioms -----------------------------------------------------------------------------------------------------

    def _note_axioms(self, declaration: Declaration, names: list[str]) -> None:
        below = frozenset[str]().union(*(self._axioms.get(each, frozenset()) for each in used_by(declaration)))
        for name in names:
            self._axioms[name] = below | {name} if isinstance(declaration, ParsedAxiom) else below

    def axioms(self, name: str) -> list[str]:
        """The axioms that a constant uses, directly or not."""
        return sorted(self._axioms.get(name, ()))


def names_of(declaration: Declaration) -> list[str]:
    """The constants that a declaration declares."""
    if not isinstance(declaration, ParsedGroup):
        return [declaration.name]
    return [each.name for each in (*declaration.types, *declaration.constructors, *declaration.recursors)]


def _terms(declaration: Declaration) -> list[tuple[tuple[str, ...], Expr]]:
    """The terms of a declaration, with the universe parameters that they may mention."""
    if isinstance(declaration, ParsedGroup):
        parts = (*declaration.types, *declaration.constructors, *declaration.recursors)
        terms = [(each.parameters, each.type) for each in parts]
        terms += [(each.parameters, rule[2]) for each in declaration.recursors for rule in each.rules]
        return terms
    terms = [(declaration.parameters, declaration.type)]
    if isinstance(declaration, ParsedValue):
        terms.append((declaration.parameters, declaration.value))
    return terms


def used_by(declaration: Declaration) -> set[str]:
    """The constants that a declaration mentions, and those that its literals stand for."""
    used = set()
    for _, term in _terms(declaration):
        for each in subterms(term):
            if each.tag in (CONST, PROJ):
                used.add(each.a)
            elif each.tag == STR:
                used.update(TEXTS)
            elif each.tag == NAT:
                used.add(NAT_NAME)
    return used


def _closed(parameters: tuple[str, ...], term: Expr) -> None:
    """Raises Refused if a term has loose bound variables, or universe parameters that are not declared."""
    if term.loose:
        raise Refused("a bound variable without binder")
    if not term.parametric:
        return
    allowed = set(parameters)
    for each in subterms(term):
        if not each.parametric:
            continue
        levels = (each.a,) if each.tag == SORT else each.b if each.tag == CONST else ()
        for level in levels:
            if not level_parameters(level) <= allowed:
                raise Refused("a universe parameter that is not declared")
        assert each.tag != FVAR
