"""Files as people write them, one for each subject, compile without an error and rest on no other axiom."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.lean

FILES = sorted((Path(__file__).parent / "ordinary").glob("*.lean"))
NUMBERS = [file for file in FILES if file.name.startswith(("int_", "nat_", "omega_"))]
"""About numbers and linear arithmetic: of these the axioms are asked, too."""
EVERY = 3
"""The default tests compile one file of so many; the slow tests compile all."""

STANDARD = {"propext", "Quot.sound", "Classical.choice"}
THEOREM = re.compile(r"^theorem ([^\s:({\[]+)", flags=re.MULTILINE)
SCOPE = re.compile(r"^(namespace|section|end) (\S+)$|^theorem ([^\s:({\[]+)", flags=re.MULTILINE)

NOT_THERE = {
    "elab": 'elab "magic" : tactic => do\n  return',
    "run_cmd": "run_cmd return",
    "import_lean": "import Lean",
    "io": 'def main : IO Unit := IO.println "hello"',
    "float": "#eval (1.5 : Float)",
}
"""What needs Lean's own library, or is left out: Lean says so, and nothing else happens."""


def test_there_are_files_enough_to_speak_of_ordinary() -> None:
    assert len(FILES) - len(NUMBERS) >= 8
    assert sum(file.read_text().count("\n") for file in FILES) >= 800
    assert {file.name.partition("_")[0] for file in NUMBERS} == {"int", "nat", "omega"}


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


def some(files: list[Path]) -> list[object]:
    """The files, most of them marked as slow."""
    return [
        pytest.param(file, id=file.stem, marks=[pytest.mark.slow] if at % EVERY else [])
        for at, file in enumerate(files)
    ]


@pytest.mark.parametrize("file", some([file for file in FILES if file not in NUMBERS]))
def test_an_ordinary_file_compiles(file: Path, elaborate: Callable[[str], list[Any]]) -> None:
    messages = elaborate(file.read_text())
    assert [f"{file.name}:{m.line}: {m.text}" for m in messages if m.severity == "error"] == []
    assert not [m for m in messages if "sorry" in m.text]


@pytest.mark.parametrize("file", some(NUMBERS))
def test_a_file_about_numbers_compiles_on_the_standard_axioms(
    file: Path, elaborate: Callable[[str], list[Any]]
) -> None:
    text = file.read_text()
    names = theorems(text)
    assert len(names) == len(THEOREM.findall(text))
    messages = elaborate(text + "\n" + "\n".join(f"#print axioms {name}" for name in names))
    assert [message for message in messages if message.severity == "error"] == []
    assert not any("sorry" in message.text for message in messages)
    axioms = {name for message in messages for name in re.findall(r"depends on axioms: \[(.*)\]", message.text, re.S)}
    assert {name.strip() for group in axioms for name in group.split(",")} <= STANDARD


@pytest.mark.parametrize("subject", NOT_THERE)
def test_what_is_not_there_is_an_error_in_leans_words(subject: str, elaborate: Callable[[str], list[Any]]) -> None:
    errors = [m for m in elaborate(NOT_THERE[subject]) if m.severity == "error"]
    assert errors


def test_a_definition_with_sorry_gives_its_warning_alone(elaborate: Callable[[str], list[Any]]) -> None:
    messages = elaborate("def unfinished (n : Nat) : Nat := sorry\n")
    assert [(m.severity, "sorry" in m.text) for m in messages] == [("warning", True)]


def test_string_literals_are_lists_of_characters_to_the_kernel(elaborate: Callable[[str], list[Any]]) -> None:
    """Conversion of literals by the kernel, decoding, and the simp procedures for strings agree."""
    texts = ["", "a", "é", "∀", "😀", "a\\nb", "\\u0000", "ß∈𝔸"]
    lines = [f'example : String.ofList "{text}".toList = "{text}" := by decide +kernel' for text in texts]
    lines += [f'example : "{text}" ++ "x" ≠ "{text}" := by decide' for text in texts]
    lines += [f'example (h : "{text}" = "{text}y") : False := by simp at h' for text in texts]
    lines += [f'example : "{text}" = "{text}z" := by first | rfl | decide | simp' for text in texts]
    messages = elaborate("\n".join(lines))
    wrong = range(3 * len(texts) + 1, 4 * len(texts) + 1)
    assert {m.line for m in messages if m.severity == "error"} == set(wrong)


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


def test_wrong_statements_about_numbers_are_refused(elaborate_each: Callable[[list[str]], list[list[Any]]]) -> None:
    outcomes = elaborate_each([text for text, _ in REFUSED.values()])
    for (name, (_, word)), messages in zip(REFUSED.items(), outcomes, strict=True):
        errors = [message.text for message in messages if message.severity == "error"]
        assert errors and (word == "error" or any(word in text for text in errors)), (name, errors)
