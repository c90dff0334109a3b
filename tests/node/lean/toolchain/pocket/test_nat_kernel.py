"""The functions on numbers that the kernel computes natively: against Python's integers and their own definitions."""

import math
import random
from collections.abc import Callable, Iterator
from typing import Any

Each = Callable[[list[str]], list[list[Any]]]

FUNCTIONS: dict[str, Callable[..., int | bool]] = {
    "add": lambda n, m: n + m,
    "sub": lambda n, m: max(n - m, 0),
    "mul": lambda n, m: n * m,
    "div": lambda n, m: n // m if m else 0,
    "mod": lambda n, m: n % m if m else n,
    "gcd": math.gcd,
    "beq": lambda n, m: n == m,
    "ble": lambda n, m: n <= m,
    "land": lambda n, m: n & m,
    "lor": lambda n, m: n | m,
    "xor": lambda n, m: n ^ m,
    "pow": lambda n, m: n**m,
    "shiftLeft": lambda n, m: n << m,
    "shiftRight": lambda n, m: n >> m,
    "log2": lambda n: max(n.bit_length() - 1, 0),
    "pred": lambda n: max(n - 1, 0),
    "succ": lambda n: n + 1,
}
SMALL_EXPONENT = ("pow", "shiftLeft", "shiftRight")
UNARY = ("log2", "pred", "succ")

# Zero and one, the words of a machine and their neighbours, and numbers of many words.
EDGES = [0, 1, 2, 3, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**64 + 1, 10**40]


def arguments(name: str, chance: random.Random, edges: list[int], count: int, bits: int) -> Iterator[tuple[int, ...]]:
    """All edge cases, then `count` random arguments of up to `bits` bits."""
    exponents = [0, 1, 2, 5, 31, 63, 64, 65]
    for n in edges:
        if name in UNARY:
            yield (n,)
            continue
        for m in exponents if name in SMALL_EXPONENT else edges:
            yield n, m
    for _ in range(count):
        n = chance.getrandbits(chance.randint(1, bits))
        m = chance.randint(0, 20) if name in SMALL_EXPONENT else chance.getrandbits(chance.randint(1, bits))
        yield (n,) if name in UNARY else (n, m)


def literal(value: int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def wrong(value: int | bool) -> int | bool:
    return not value if isinstance(value, bool) else value + 1


RECURSION = """
example (n m : Nat) : Nat.add n 0 = n ∧ Nat.add n (m + 1) = Nat.add n m + 1 := ⟨rfl, rfl⟩
example (n m : Nat) : Nat.mul n 0 = 0 ∧ Nat.mul n (m + 1) = Nat.mul n m + n := ⟨rfl, rfl⟩
example (n m : Nat) : Nat.pow n 0 = 1 ∧ Nat.pow n (m + 1) = Nat.pow n m * n := ⟨rfl, rfl⟩
example (n m : Nat) : Nat.sub n 0 = n ∧ Nat.sub n (m + 1) = Nat.pred (Nat.sub n m) := ⟨rfl, rfl⟩
example (n m : Nat) : Nat.beq (n + 1) (m + 1) = Nat.beq n m ∧ Nat.ble (n + 1) (m + 1) = Nat.ble n m := ⟨rfl, rfl⟩
example (n m : Nat) : (Nat.beq n m = true ↔ n = m) ∧ (Nat.ble n m = true ↔ n ≤ m) := by simp
example (n m : Nat) (h : 0 < m) : m * (n / m) + n % m = n ∧ n % m < m := ⟨Nat.div_add_mod n m, Nat.mod_lt n h⟩
example (n : Nat) : n / 0 = 0 ∧ n % 0 = n := ⟨rfl, rfl⟩
example (m n : Nat) : Nat.gcd m n = Nat.gcd (n % m) m ∧ Nat.gcd 0 n = n := ⟨Nat.gcd_rec m n, rfl⟩
example (m n k : Nat) : k ∣ Nat.gcd m n ↔ k ∣ m ∧ k ∣ n := Nat.dvd_gcd_iff
example (n m : Nat) : Nat.shiftLeft n m = n * 2 ^ m ∧ Nat.shiftRight n m = n / 2 ^ m :=
  ⟨Nat.shiftLeft_eq_mul_pow n m, Nat.shiftRight_eq_div_pow n m⟩
"""


def test_native_functions_agree_with_python_and_their_equations_and_no_other_result_is_accepted(
    elaborate_each: Each,
) -> None:
    chance, right, other = random.Random(2), [RECURSION], list[str]()
    for name, function in FUNCTIONS.items():
        cases = [*arguments(name, chance, EDGES[::2], 20, 200)]
        for group in [cases[start : start + 25] for start in range(0, len(cases), 25)]:
            calls = ", ".join(f"Nat.{name} {' '.join(map(str, values))}" for values in group)
            right.append(f"example : [{calls}] = [{', '.join(literal(function(*values)) for values in group)}] := rfl")
        for values in chance.sample([*arguments(name, chance, EDGES, 40, 200)], 8):
            call = f"Nat.{name} {' '.join(map(str, values))}"
            other.append(f"example : {call} = {literal(wrong(function(*values)))} := rfl")
    outcomes = dict(zip(right + other, elaborate_each(right + other), strict=True))
    assert {text: outcomes[text] for text in right if outcomes[text]} == {}
    assert [text for text in other if not outcomes[text]] == []
