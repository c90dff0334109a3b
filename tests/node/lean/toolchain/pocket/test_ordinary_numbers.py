"""Ordinary files about numbers and linear arithmetic compile, and their proofs are whole."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

STANDARD = {"propext", "Quot.sound", "Classical.choice"}
FILES = sorted(
    file for kind in ("int", "nat", "omega") for file in (Path(__file__).parent / "ordinary").glob(f"{kind}_*.lean")
)
THEOREM = re.compile(r"^theorem ([^\s:({\[]+)", flags=re.MULTILINE)
SCOPE = re.compile(r"^(namespace|section|end) (\S+)$|^theorem ([^\s:({\[]+)", flags=re.MULTILINE)


def theorems(text: str) -> list[str]:
    """Full names of the theorems in a file whose namespaces and named sections are opened and closed one a line."""
    scope: list[str] = []
    names = []
    for keyword, name, theorem in SCOPE.findall(text):
        if keyword in ("namespace", "section"):
            scope.append(name if keyword == "namespace" else "")
        elif keyword == "end":
            scope.pop()
        else:
            names.append(".".join(part for part in [*scope, theorem] if part))
    return names


def test_there_are_files_of_every_kind() -> None:
    assert {file.name.partition("_")[0] for file in FILES} == {"int", "nat", "omega"}
    assert sum(file.read_text().count("\n") for file in FILES) >= 300


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_it_compiles_on_the_standard_axioms(file: Path, elaborate: Callable[[str], list[Any]]) -> None:
    text = file.read_text()
    names = theorems(text)
    assert len(names) == len(THEOREM.findall(text))
    messages = elaborate(text + "\n" + "\n".join(f"#print axioms {name}" for name in names))
    assert [message for message in messages if message.severity == "error"] == []
    assert not any("sorry" in message.text for message in messages)
    axioms = {name for message in messages for name in re.findall(r"depends on axioms: \[(.*)\]", message.text, re.S)}
    assert {name.strip() for group in axioms for name in group.split(",")} <= STANDARD


REFUSED = {
    "omega_integers_are_not_dense": ("example (x : Int) (h : 0 < x) (h' : x < 2) : x ≠ 1 := by omega", "omega"),
    "omega_real_shadow": ("example (x y : Int) (h : 0 < 2 * x - 3 * y) : x > y := by omega", "counterexample"),
    "omega_truncation": ("example (a b : Nat) : a - b + b = a := by omega", "counterexample"),
    "omega_product": ("example (a b : Nat) : a * b = b * a := by omega", "omega"),
    "omega_nothing": ("example (p q : Prop) (h : p) : q := by omega", "No usable constraints"),
    "omega_remainder": ("example (x : Int) : x % 2 = 1 ∨ x % 3 = 0 ∨ x % 3 = 1 := by omega", "omega"),
    "omega_atoms": ("example (f : Int → Int) (x y : Int) (h : x = y + 0) : f x = f (y + 1) := by omega", "omega"),
    "negative_quotient": ("example : (-7 : Int) / 2 = -3 := by decide", "decide"),
    "negative_remainder": ("example : (-7 : Int) % 2 = -1 := rfl", "rfl"),
    "truncating_quotient": ("example : Int.tdiv (-7) 2 = -4 := by decide", "decide"),
    "order": ("example : (-3 : Int) < -4 := by decide", "decide"),
    "sign_of_cast": ("example (n : Nat) : (n : Int) < 0 := by omega", "counterexample"),
    "cast_of_difference": ("example (m n : Nat) : ((m - n : Nat) : Int) = (m : Int) - n := by push_cast; rfl", "error"),
    "power": ("example : (-2 : Int) ^ 3 = 8 := by decide", "decide"),
    "divides": ("example : (4 : Int) ∣ -6 := by decide", "decide"),
    "overflow": ("example : (4 : Fin 5) + 1 = 5 - 1 := by decide", "decide"),
    "bound": ("example : Fin 3 := ⟨3, by decide⟩", "decide"),
    "redefined_integers": ("inductive Int where\n  | zero : Int", "already been declared"),
    "redefined_order": ("theorem Int.le_refl (a : Int) : a ≤ 0 := sorry", "already been declared"),
    "contradiction": ("theorem cheat : (1 : Int) = -1 := rfl", "rfl"),
}
"""Text that Lean must refuse, and a word of its message (`error`: any)."""


@pytest.fixture(scope="module")
def refused(elaborate_each: Callable[[list[str]], list[list[Any]]]) -> dict[str, list[Any]]:
    return dict(zip(REFUSED, elaborate_each([text for text, _ in REFUSED.values()]), strict=True))


@pytest.mark.parametrize("name", REFUSED)
def test_refuses(name: str, refused: dict[str, list[Any]]) -> None:
    errors = [message.text for message in refused[name] if message.severity == "error"]
    word = REFUSED[name][1]
    assert errors and (word == "error" or any(word in text for text in errors)), errors
