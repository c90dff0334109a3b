"""The constants that the kernel treats specially: those of logic, and those that it computes on number literals."""

from __future__ import annotations

import math
from collections.abc import Callable

from node.lean.check.second.checker import NAT_NAME, NAT_SUCC, NAT_ZERO, Checker
from node.lean.check.second.declarations import Constructor, Inductive, NotChecked, Quotient, Refused
from node.lean.check.second.terms import LAM, Expr

# --- The constants of logic that have a meaning of their own: quotients, Lean's three axioms, and what these rest ----
#
# A name proves nothing: each constant must have exactly the type that it must have, over the true `Eq`, `Iff` and
# `Nonempty`.


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


# --- Which constants the kernel computes on literals, and what their definitions must be for that --------------------
#
# A name proves nothing: somebody could declare `Nat.add` as multiplication. A function is computed only if equations
# hold by definitional equality that leave no other function on numerals. `S x` is `Nat.succ x`; the letters are
# variables; `if c then a else b` is `Bool.rec` on the Boolean `c`. Pocket Lean's definitions satisfy them all. Another
# library's functions without the equations are unfolded like any other definition, which is slower.


LARGEST_EXPONENT = 1 << 24
"""Powers and shifts are not computed beyond it, as in Lean's kernel."""

LARGEST_BITS = 1 << 23
"""No numeral gets more bits than that."""

EQUATIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "Nat.pred": (("Nat.pred 0", "0"), ("Nat.pred (S x)", "x")),
    "Nat.add": (("Nat.add x 0", "x"), ("Nat.add x (S y)", "S (Nat.add x y)")),
    "Nat.sub": (("Nat.sub x 0", "x"), ("Nat.sub x (S y)", "Nat.pred (Nat.sub x y)")),
    "Nat.mul": (("Nat.mul x 0", "0"), ("Nat.mul x (S y)", "Nat.add (Nat.mul x y) x")),
    "Nat.pow": (("Nat.pow x 0", "1"), ("Nat.pow x (S y)", "Nat.mul (Nat.pow x y) x")),
    "Nat.beq": (
        ("Nat.beq 0 0", "Bool.true"),
        ("Nat.beq 0 (S y)", "Bool.false"),
        ("Nat.beq (S x) 0", "Bool.false"),
        ("Nat.beq (S x) (S y)", "Nat.beq x y"),
    ),
    "Nat.ble": (
        ("Nat.ble 0 0", "Bool.true"),
        ("Nat.ble 0 (S y)", "Bool.true"),
        ("Nat.ble (S x) 0", "Bool.false"),
        ("Nat.ble (S x) (S y)", "Nat.ble x y"),
    ),
    # Repeated subtraction, with more fuel than steps.
    "Nat.div": (
        ("Nat.div x 0", "0"),
        ("Nat.div x (S y)", "Nat.div.go (S y) (S x) x"),
        ("Nat.div.go y 0 x", "0"),
        ("Nat.div.go y (S z) x", "if (Nat.ble y x) (S (Nat.div.go y z (Nat.sub x y))) 0"),
    ),
    "Nat.mod": (
        ("Nat.mod x 0", "x"),
        ("Nat.mod x (S y)", "Nat.mod.go (S y) (S x) x"),
        ("Nat.mod.go y 0 x", "x"),
        ("Nat.mod.go y (S z) x", "if (Nat.ble y x) (Nat.mod.go y z (Nat.sub x y)) x"),
    ),
    # Euclid's algorithm: the first number falls.
    "Nat.gcd": (
        ("Nat.gcd x y", "Nat.gcd.go (S x) x y"),
        ("Nat.gcd.go 0 x y", "y"),
        ("Nat.gcd.go (S z) 0 y", "y"),
        ("Nat.gcd.go (S z) (S x) y", "Nat.gcd.go z (Nat.mod y (S x)) (S x)"),
    ),
    "Nat.log2": (
        ("Nat.log2 x", "Nat.log2.go x x"),
        ("Nat.log2.go 0 x", "0"),
        ("Nat.log2.go (S z) x", "if (Nat.ble 2 x) (S (Nat.log2.go z (Nat.div x 2))) 0"),
    ),
    "Nat.shiftLeft": (("Nat.shiftLeft x 0", "x"), ("Nat.shiftLeft x (S y)", "Nat.shiftLeft (Nat.mul 2 x) y")),
    "Nat.shiftRight": (("Nat.shiftRight x 0", "x"), ("Nat.shiftRight x (S y)", "Nat.div (Nat.shiftRight x y) 2")),
}
"""Each function's equations may use those before it, if these are known. They determine it on all numbers."""

_DIGITS = {
    "Nat.land": "Nat.mul a b",
    "Nat.lor": "Nat.sub (Nat.add a b) (Nat.mul a b)",
    "Nat.xor": "Nat.mod (Nat.add a b) 2",
}
"""What each does with two binary digits."""

for _name, _digit in _DIGITS.items():
    # `go f z x y` has fuel z ≥ x, y, and combines binary digits from the lowest on.
    _go = f"Nat.digits.go (fun {_digit})"
    EQUATIONS[_name] = (
        (f"{_name} x y", f"{_go} (Nat.add x y) x y"),
        (f"{_go} 0 x y", "0"),
        (
            f"{_go} (S z) x y",
            f"Nat.add (Nat.mul 2 ({_go} z (Nat.div x 2) (Nat.div y 2))) ((fun {_digit}) (Nat.mod x 2) (Nat.mod y 2))",
        ),
    )


def _pow(x: int, y: int) -> int | None:
    return x**y if y <= LARGEST_EXPONENT and x.bit_length() * y <= LARGEST_BITS else None


def _shift_left(x: int, y: int) -> int | None:
    return x << y if y <= LARGEST_EXPONENT and x.bit_length() + y <= LARGEST_BITS else None


_COMPUTE_ONE: dict[str, Callable[[int], int]] = {
    "Nat.pred": lambda x: max(x - 1, 0),
    "Nat.log2": lambda x: x.bit_length() - 1 if x else 0,
}
_COMPUTE: dict[str, Callable[[int, int], int | bool | None]] = {
    "Nat.add": lambda x, y: x + y,
    "Nat.sub": lambda x, y: max(x - y, 0),
    "Nat.mul": lambda x, y: x * y if x.bit_length() + y.bit_length() <= LARGEST_BITS else None,
    "Nat.pow": _pow,
    "Nat.beq": lambda x, y: x == y,
    "Nat.ble": lambda x, y: x <= y,
    "Nat.div": lambda x, y: x // y if y else 0,
    "Nat.mod": lambda x, y: x % y if y else x,
    "Nat.gcd": math.gcd,
    "Nat.land": lambda x, y: x & y,
    "Nat.lor": lambda x, y: x | y,
    "Nat.xor": lambda x, y: x ^ y,
    "Nat.shiftLeft": _shift_left,
    "Nat.shiftRight": lambda x, y: x >> y,
}

TEXTS = ("String", "Char", "Char.ofNat", "List", "List.nil", "List.cons", "String.ofList")
"""The constants that a string literal stands for."""


def recognise(checker: Checker, names: list[str]) -> None:
    """Look at constants that were just declared. Changes what the checker computes."""
    if NAT_NAME in names and not checker.literals:
        checker.literals = _is_nat(checker)
        checker.forget_differences()
    if not checker.texts and any(name in TEXTS for name in names):
        checker.texts = _are_texts(checker)
    if not checker.literals or not any(name in EQUATIONS or name in ("Bool", NAT_NAME) for name in names):
        return
    # A function may come before one that its equations use, so all that are left are tried again.
    left = [name for name in EQUATIONS if name in checker.constants and name not in checker.known_functions]
    for name in left:
        if _holds(checker, name):
            if name in _COMPUTE:
                checker.computed[name] = _COMPUTE[name]
            else:
                checker.computed_one[name] = _COMPUTE_ONE[name]
            checker.forget_differences()


def _is_nat(checker: Checker) -> bool:
    """`Nat` has the constructors `Nat.zero : Nat` and `Nat.succ : Nat → Nat`, in this order, and is in `Type`."""
    store, constants = checker.store, checker.constants
    nat = store.const(NAT_NAME)
    inductive = constants[NAT_NAME]
    if type(inductive) is not Inductive or inductive.parameters or inductive.type is not store.sort(store.one):
        return False
    types = [constants[name].type for name in inductive.constructors]
    return inductive.constructors == (NAT_ZERO, NAT_SUCC) and types == [nat, store.pi(nat, nat)]


def _is_bool(checker: Checker) -> bool:
    """`Bool` has the constructors `Bool.false` and `Bool.true`, in this order, without fields, and is in `Type`."""
    store, constants = checker.store, checker.constants
    inductive = constants.get("Bool")
    if type(inductive) is not Inductive or inductive.parameters or inductive.type is not store.sort(store.one):
        return False
    types = [constants[name].type for name in inductive.constructors]
    return inductive.constructors == ("Bool.false", "Bool.true") and types == [store.const("Bool")] * 2


def _are_texts(checker: Checker) -> bool:
    """All constants are there that a string literal stands for, with the types that make it a `String`."""
    # 1. They are there, and the list's constructors are constructors.
    store, constants = checker.store, checker.constants
    if not checker.literals or any(name not in constants for name in TEXTS):
        return False
    for name in ("List.nil", "List.cons"):
        constant = constants[name]
        if type(constant) is not Constructor or len(constant.parameters) != 1:
            return False
    # 2. Their types.
    char, nil, cons = (
        store.const("Char"),
        store.const("List.nil", (store.zero,)),
        store.const("List.cons", (store.zero,)),
    )
    chars = store.app(store.const("List", (store.zero,)), char)
    wanted = {
        store.const("String"): store.sort(store.one),
        char: store.sort(store.one),
        store.const("Char.ofNat"): store.pi(store.const(NAT_NAME), char),
        chars: store.sort(store.one),
        store.app(nil, char): chars,
        store.app(cons, char): store.pi(char, store.pi(chars, chars)),
        store.const("String.ofList"): store.pi(chars, store.const("String")),
    }
    try:
        return all(checker.equal(checker.check(term), type_) for term, type_ in wanted.items())
    except Refused:
        return False


def _holds(checker: Checker, name: str) -> bool:
    """The equations of a function hold by definitional equality, and the functions in them are the true ones."""
    words = {
        word for sides in EQUATIONS[name] for side in sides for word in side.replace("(", " ").replace(")", " ").split()
    }
    if any(word in EQUATIONS and word not in checker.known_functions for word in words - {name}):
        return False
    if words & {"Bool.true", "Bool.false", "if"} and not _is_bool(checker):
        return False
    try:
        for left, right in EQUATIONS[name]:
            one, other = _Reader(checker, left).term(), _Reader(checker, right).term()
            # Only well-typed terms may be compared.
            if not checker.equal(checker.check(one), checker.check(other)) or not checker.equal(one, other):
                return False
    except (Refused, NotChecked):
        return False
    return True


class _Reader:
    """Reads a side of an equation."""

    def __init__(self, checker: Checker, text: str) -> None:
        self._store = checker.store
        self._nat = self._store.const(NAT_NAME)
        self._words = text.replace("(", " ( ").replace(")", " ) ").split()

    def term(self) -> Expr:
        """An application, to the end of the text or to a closing parenthesis."""
        store, words = self._store, self._words
        if words[0] == "fun":
            # A function of the two variables a and b.
            words.pop(0)
            variables = (self._variable("a"), self._variable("b"))
            return store.closed_over(LAM, variables, self.term())
        if words[0] == "if":
            words.pop(0)
            condition, then, otherwise = self._atom(), self._atom(), self._atom()
            motive = store.lam(store.const("Bool"), self._nat)
            return store.apps(store.const("Bool.rec", (store.one,)), (motive, otherwise, then, condition))
        result = self._atom()
        while words and words[0] != ")":
            result = store.app(result, self._atom())
        return result

    def _atom(self) -> Expr:
        word = self._words.pop(0)
        if word == "(":
            result = self.term()
            self._words.pop(0)
            return result
        if word == "S":
            return self._store.const(NAT_SUCC)
        if word.isdigit():
            return self._store.nat(int(word))
        return self._variable(word) if len(word) == 1 else self._store.const(word)

    def _variable(self, letter: str) -> Expr:
        return self._store.fvar(ord(letter), self._nat)
