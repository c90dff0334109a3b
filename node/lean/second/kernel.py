"""Adds declarations to an environment one by one, and says for each whether it was checked. The entry to the kernel."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from node.lean.second.checker import Checker
from node.lean.second.declarations import (
    Axiom,
    Constant,
    Definition,
    NotChecked,
    Opaque,
    Quotient,
    Refused,
    Theorem,
)
from node.lean.second.inductive import Group
from node.lean.second.naturals import recognise
from node.lean.second.parse import Declaration, ParsedAxiom, ParsedGroup, ParsedQuotient, ParsedValue
from node.lean.second.terms import CONST, FVAR, PROJ, SORT, STR, Expr, Store, level_parameters, subterms

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
        self.checker = Checker(store, limit.tick)
        self.outcome = Outcome()
        self._uses: dict[str, tuple[str, ...]] = {}
        """The constants that a constant uses directly, by name."""

    def add(self, declaration: Declaration, trusted: bool = False) -> None:
        """Check a declaration. `trusted`: believe that it is well typed; what it means is still worked out here."""
        names = _names(declaration)
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
        else:
            for constant in made:
                self.checker.constants[constant.name] = constant
            if trusted:
                self.outcome.trusted += len(made)
            else:
                self.outcome.checked += [constant.name for constant in made]
            self._note_uses(declaration, names)
            recognise(self.checker, names)
        if self._store.size() + self.checker.size() > MOST_TERMS:
            self.checker.forget()
            self._store.forget()

    def _reject(self, names: list[str], into: dict[str, str], reason: str) -> None:
        for name in names:
            # A second declaration of a name leaves the first one as it is.
            if name not in self._uses:
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
            if name in self._uses or name in self.checker.unchecked or names.count(name) > 1:
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
                return [self._quotient(declaration)]
            case ParsedAxiom():
                if declaration.unsafe:
                    raise NotChecked("unsafe constants are not checked")
                if not trusted:
                    self.checker.sort_of(declaration.type, True)
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
        if any(each.unsafe for each in (*parsed.types, *parsed.constructors, *parsed.recursors)):
            raise NotChecked("unsafe constants are not checked")
        before = set(self.checker.constants)
        try:
            return Group(self.checker, parsed, trusted).declare()
        finally:
            # Types that stand for nested occurrences are not constants; all others come back if the group is right.
            for name in set(self.checker.constants) - before:
                del self.checker.constants[name]

    # --- quotients --------------------------------------------------------------------------------------------------

    def _quotient(self, parsed: ParsedQuotient) -> Constant:
        """One of the four constants, with exactly the name and type that it must have. Raises Refused."""
        wanted = self._quotient_types().get(parsed.kind)
        if wanted is None or parsed.name != wanted[0]:
            raise Refused("not a constant of quotients")
        _, count, type_ = wanted
        if len(parsed.parameters) != count:
            raise Refused(f"{parsed.name} with {len(parsed.parameters)} universe parameters instead of {count}")
        levels = tuple(self._store.param(each) for each in parsed.parameters)
        expected = self._store.with_levels(type_, ("u", "v")[:count], levels)
        self.checker.check(expected)  # also sees that `Eq` and the constants before are there
        if parsed.type is not expected:
            raise Refused(f"{parsed.name} has another type than the constant of quotients")
        return Quotient(parsed.name, parsed.parameters, parsed.type, parsed.kind)

    def _quotient_types(self) -> dict[str, tuple[str, int, Expr]]:
        """By kind: the name, the number of universe parameters, and the type for the parameters u and v."""
        store = self._store
        u, v = store.param("u"), store.param("v")
        prop, bvar, apps = store.prop, store.bvar, store.apps
        kind = store.sort(u)
        # 1. {α : Sort u} → (α → α → Prop) → ...
        relation = store.pi(bvar(0), store.pi(bvar(1), prop))

        def over(body: Expr) -> Expr:
            return store.pi(kind, store.pi(relation, body))

        def quot(alpha: int, relation: int) -> Expr:
            return apps(store.const("Quot", (u,)), (bvar(alpha), bvar(relation)))

        def mk(alpha: int, relation: int, element: int) -> Expr:
            return apps(store.const("Quot.mk", (u,)), (bvar(alpha), bvar(relation), bvar(element)))

        # 2. lift: {β : Sort v} (f : α → β) → (∀ a b, r a b → f a = f b) → Quot r → β
        equal = apps(
            store.const("Eq", (v,)), (bvar(4), store.app(bvar(3), bvar(2)), store.app(bvar(3), bvar(1)))
        )
        related = apps(bvar(4), (bvar(1), bvar(0)))
        respects = store.pi(bvar(3), store.pi(bvar(4), store.pi(related, equal)))
        lift = store.pi(
            store.sort(v),
            store.pi(store.pi(bvar(2), bvar(1)), store.pi(respects, store.pi(quot(4, 3), bvar(3)))),
        )
        # 3. ind: {β : Quot r → Prop} → (∀ a, β (mk a)) → ∀ q, β q
        ind = store.pi(
            store.pi(quot(1, 0), prop),
            store.pi(
                store.pi(bvar(2), store.app(bvar(1), mk(3, 2, 0))), store.pi(quot(3, 2), store.app(bvar(2), bvar(0)))
            ),
        )
        return {
            "type": ("Quot", 1, over(kind)),
            "ctor": ("Quot.mk", 1, over(store.pi(bvar(1), quot(2, 1)))),
            "lift": ("Quot.lift", 2, over(lift)),
            "ind": ("Quot.ind", 1, over(ind)),
        }

    # --- axioms -----------------------------------------------------------------------------------------------------

    def _note_uses(self, declaration: Declaration, names: list[str]) -> None:
        used: dict[str, None] = {}
        for _, term in _terms(declaration):
            for each in subterms(term):
                if each.tag in (CONST, PROJ):
                    used[each.a] = None
                elif each.tag == STR:
                    used.update(dict.fromkeys(("String.ofList", "Char.ofNat")))
        for name in names:
            self._uses[name] = tuple(used)

    def axioms(self, names: Iterable[str]) -> dict[str, list[str]]:
        """The axioms that each constant uses, directly or not."""
        found = {}
        for root in names:
            seen, waiting, axioms = {root}, [root], []
            while waiting:
                name = waiting.pop()
                if type(self.checker.constants.get(name)) is Axiom:
                    axioms.append(name)
                for each in self._uses.get(name, ()):
                    if each not in seen:
                        seen.add(each)
                        waiting.append(each)
            found[root] = sorted(axioms)
        return found

    def own_axioms(self) -> set[str]:
        """Those of Lean's three axioms that are declared with exactly their types, over the usual `Eq` and so on."""
        from node.lean.second.axioms import lean_axioms

        return lean_axioms(self.checker)


def _names(declaration: Declaration) -> list[str]:
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
