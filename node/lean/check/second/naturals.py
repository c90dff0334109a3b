"""Which constants the kernel computes on literals, and what their definitions must be for that.

A name proves nothing: somebody could declare `Nat.add` as multiplication. A function is computed only if equations hold
by definitional equality that leave no other function on numerals. `S x` is `Nat.succ x`; the letters are variables;
`if c then a else b` is `Bool.rec` on the Boolean `c`. Pocket Lean's definitions satisfy them all. Another library's
functions without the equations are unfolded like any other definition, which is slower.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from node.lean.check.second.checker import NAT_NAME, NAT_SUCC, NAT_ZERO, Checker
from node.lean.check.second.declarations import Constructor, Inductive, NotChecked, Refused
from node.lean.check.second.terms import LAM, Expr

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
