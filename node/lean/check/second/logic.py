"""The constants of logic that have a meaning of their own: quotients, Lean's three axioms, and what these rest on.

A name proves nothing: each constant must have exactly the type that it must have, over the true `Eq`, `Iff` and
`Nonempty`.
"""

from __future__ import annotations

from node.lean.check.second.checker import Checker
from node.lean.check.second.declarations import Inductive, Quotient, Refused
from node.lean.check.second.terms import Expr

LEAN_AXIOMS = frozenset({"propext", "Quot.sound", "Classical.choice"})
"""Axioms that Lean's own library declares. One of these names with another type is refused."""


class Logic:
    """The types that the constants must have, for the universe parameters u and v."""

    def __init__(self, checker: Checker) -> None:
        self._checker = checker
        store = self._store = checker.store
        self._u, self._v = store.param("u"), store.param("v")
        self._kind = store.sort(self._u)
        self._relation = self._arrow(store.bvar(0), store.bvar(1), store.prop)

    def _arrow(self, *parts: Expr) -> Expr:
        """A function type. Bound variables count all domains before."""
        *domains, result = parts
        for domain in reversed(domains):
            result = self._store.pi(domain, result)
        return result

    def _apply(self, name: str, levels: int, *places: int) -> Expr:
        """A constant, with u as its only universe level or without, applied to bound variables."""
        function = self._store.const(name, (self._u,) if levels else ())
        return self._store.apps(function, [self._store.bvar(place) for place in places])

    def check_axiom(self, name: str, parameters: tuple[str, ...], type_: Expr) -> None:
        """Raises Refused for an axiom with one of Lean's names that is another one."""
        store = self._store
        b, u = store.bvar, self._u
        prop = store.prop
        match name:
            case "propext":
                equal = store.apps(store.const("Eq", (store.one,)), (prop, b(2), b(1)))
                wanted = self._arrow(prop, prop, self._apply("Iff", 0, 1, 0), equal)
                right = self._iff() and self._eq()
            case "Quot.sound":
                made = [store.apps(store.const("Quot.mk", (u,)), (b(4), b(3), b(at))) for at in (2, 1)]
                equal = store.apps(store.const("Eq", (u,)), (self._apply("Quot", 1, 4, 3), *made))
                related = store.apps(b(2), (b(1), b(0)))
                wanted = self._arrow(self._kind, self._relation, b(1), b(2), related, equal)
                right = self._eq() and self._quotient("Quot", "Quot.mk")
            case "Classical.choice":
                wanted = self._arrow(self._kind, self._apply("Nonempty", 1, 0), b(1))
                right = self._nonempty()
            case _:
                return
        if not right or not self._is(parameters, type_, wanted, 0 if name == "propext" else 1):
            raise Refused(f"{name} is another axiom than Lean's own")

    def check_quotient(self, kind: str, name: str, parameters: tuple[str, ...], type_: Expr) -> None:
        """Raises Refused for a constant of quotients that is another one."""
        # 1. What it must be, behind `{α : Sort u} {r : α → α → Prop}`.
        store = self._store
        b = store.bvar
        before: tuple[str, ...] = ("Quot", "Quot.mk")
        match kind:
            case "type":
                own, count, rest = "Quot", 1, self._kind
                before = ()
            case "ctor":
                own, count, rest = "Quot.mk", 1, self._arrow(b(1), self._apply("Quot", 1, 2, 1))
                before = ("Quot",)
            case "lift":
                # {β : Sort v} (f : α → β) → (∀ a b, r a b → f a = f b) → Quot r → β
                images = (store.app(b(3), b(2)), store.app(b(3), b(1)))
                equal = store.apps(store.const("Eq", (self._v,)), (b(4), *images))
                respects = self._arrow(b(3), b(4), store.apps(b(4), (b(1), b(0))), equal)
                function = self._arrow(b(2), b(1))
                own, count = "Quot.lift", 2
                rest = self._arrow(store.sort(self._v), function, respects, self._apply("Quot", 1, 4, 3), b(3))
                if not self._eq():
                    raise Refused("quotients need `Eq` as Lean declares it")
            case "ind":
                # {β : Quot r → Prop} → (∀ a, β (Quot.mk r a)) → ∀ q, β q
                motive = self._arrow(self._apply("Quot", 1, 1, 0), store.prop)
                minor = self._arrow(b(2), store.app(b(1), self._apply("Quot.mk", 1, 3, 2, 0)))
                own, count = "Quot.ind", 1
                rest = self._arrow(motive, minor, self._apply("Quot", 1, 3, 2), store.app(b(2), b(0)))
            case _:
                raise Refused("not a constant of quotients")
        # 2. Compare.
        wanted = self._arrow(self._kind, self._relation, rest)
        if name != own or not self._is(parameters, type_, wanted, count):
            raise Refused(f"{name} is not the constant of quotients that it says it is")
        if not self._quotient(*before):
            raise Refused(f"{name} needs the constants of quotients that come before it")
        self._checker.check(type_)

    def _is(self, parameters: tuple[str, ...], type_: Expr, wanted: Expr, count: int) -> bool:
        """The same type, up to the names of its universe parameters."""
        if len(parameters) != count:
            return False
        return self._store.with_levels(type_, parameters, (self._u, self._v)[:count]) is wanted

    def _inductive(self, name: str, count: int, type_: Expr, constructor: str, made: Expr, arguments: int) -> bool:
        """An inductive type with one constructor, both exactly as given."""
        constants = self._checker.constants
        inductive = constants.get(name)
        if type(inductive) is not Inductive or inductive.constructors != (constructor,):
            return False
        if inductive.arguments != arguments or inductive.group != (name,):
            return False
        own = constants[constructor]
        return self._is(inductive.parameters, inductive.type, type_, count) and self._is(
            own.parameters, own.type, made, count
        )

    def _quotient(self, *names: str) -> bool:
        """These are constants of quotients, and not something else of the same name and type."""
        return all(type(self._checker.constants.get(name)) is Quotient for name in names)

    def _eq(self) -> bool:
        b = self._store.bvar
        type_ = self._arrow(self._kind, b(0), b(1), self._store.prop)
        return self._inductive(
            "Eq", 1, type_, "Eq.refl", self._arrow(self._kind, b(0), self._apply("Eq", 1, 1, 0, 0)), 2
        )

    def _iff(self) -> bool:
        b, prop = self._store.bvar, self._store.prop
        there, back = self._arrow(b(1), b(1)), self._arrow(b(1), b(3))
        made = self._arrow(prop, prop, there, back, self._apply("Iff", 0, 3, 2))
        return self._inductive("Iff", 0, self._arrow(prop, prop, prop), "Iff.intro", made, 2)

    def _nonempty(self) -> bool:
        type_ = self._arrow(self._kind, self._store.prop)
        made = self._arrow(self._kind, self._store.bvar(0), self._apply("Nonempty", 1, 1))
        return self._inductive("Nonempty", 1, type_, "Nonempty.intro", made, 1)
