"""The library: every tactic that pocket Lean promises, the functions that the kernel computes natively, axioms, and the
generated syntax. Files as people write them are verified in tests/node/lean/files/test_ordinary_files.py."""

import math
import operator
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from data.generators import pocket_syntax
from node.lean.toolchain.pocket import build

FOLDER = Path(__file__).parent


MODULE = pytest.param("module\n@[expose] public section\n", marks=pytest.mark.slow, id="module")
"""Tactics in modules of the default tests are in tests/node/lean/files/test_modules.py."""


@pytest.mark.parametrize("start", [pytest.param("", id="file"), MODULE])
def test_it_accepts_a_proof_by_each_tactic(elaborate: Callable[[str], list[Any]], start: str) -> None:
    messages = elaborate(start + (FOLDER / "accepted.lean").read_text())
    assert [each for each in messages if each.severity == "error" or "sorry" in each.text] == []


def test_it_refuses_what_is_wrong_in_leans_words(elaborate_each: Callable[[list[str]], list[list[Any]]]) -> None:
    """Texts of `refused.lean` stand behind lines `--- NAME: WORD`, with part of Lean's message (`error`: any)."""
    _, *parts = re.split(r"^--- (.*): (.*)\n", (FOLDER / "refused.lean").read_text(), flags=re.MULTILINE)
    for name, word, messages in zip(parts[::3], parts[1::3], elaborate_each(parts[2::3]), strict=True):
        errors = [each.text for each in messages if each.severity == "error"]
        assert errors and (word == "error" or any(word in text for text in errors)), (name, errors)


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


Each = Callable[[list[str]], list[list[Any]]]

FUNCTIONS: dict[str, Callable[..., int | bool]] = {
    **{"add": operator.add, "mul": operator.mul, "gcd": math.gcd, "beq": operator.eq, "ble": operator.le},
    **{"land": operator.and_, "lor": operator.or_, "xor": operator.xor, "pow": operator.pow},
    **{"shiftLeft": operator.lshift, "shiftRight": operator.rshift, "sub": lambda n, m: max(n - m, 0)},
    **{"div": lambda n, m: n // m if m else 0, "mod": lambda n, m: n % m if m else n},
    **{"log2": lambda n: max(n.bit_length() - 1, 0), "pred": lambda n: max(n - 1, 0), "succ": lambda n: n + 1},
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


def test_native_functions_agree_with_python_and_their_equations_and_no_other_result_does(elaborate_each: Each) -> None:
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


STANDARD = {"propext", "Quot.sound", "Classical.choice"}
DECLARATION = re.compile(
    r"^(?:@\[[^\]]*\]\s*)*(?P<modifiers>(?:protected |private |noncomputable |scoped )*)"
    r"(?:theorem|def|abbrev|instance|axiom|class inductive|inductive|structure|class) (?P<name>[^\s(){}\[\]:]+)"
)


def declared_names() -> list[str]:
    """Full names of what a line of the library's sources begins to declare (not the instances without a name)."""
    names: list[str] = []
    for file in build.module_files(build.SOURCES).values():
        if file.stem in ("Syntax", "Unexpanders"):  # generated: parsers and printers, no theorems
            continue
        namespaces: list[str] = []
        for line in file.read_text().splitlines():
            if opened := re.match(r"namespace (\S+)", line):
                namespaces.append(opened[1])
            elif closed := re.match(r"end (\S+)", line):
                if namespaces and namespaces[-1] == closed[1]:
                    namespaces.pop()
            elif declared := DECLARATION.match(line):
                name = declared["name"].removesuffix(".")
                names.append(name.removeprefix("_root_.") if "_root_." in name else ".".join([*namespaces, name]))
    return names


def test_every_declaration_rests_on_the_three_standard_axioms(elaborate: Callable[[str], list[Any]]) -> None:
    names = [name for name in declared_names() if not name.startswith("lc") and name != "sorryAx"]
    messages = elaborate("\n".join(f"#print axioms {name}" for name in names))
    assert [message.text for message in messages if message.severity == "error"] == []
    used: set[str] = set()
    for message in messages:
        if listed := re.search(r"depends on axioms: \[(.*)\]", message.text, flags=re.DOTALL):
            used |= {name.strip() for name in listed[1].split(",")}
    assert len(messages) == len(names) > 1000
    assert used == STANDARD


def test_the_library_declares_no_other_axiom() -> None:
    text = "\n".join(file.read_text() for file in build.module_files(build.SOURCES).values())
    axioms = re.findall(r"^(unsafe )?axiom (\S+)", text, flags=re.MULTILINE)
    assert {name for unsafe, name in axioms if not unsafe} == {"propext", "Quot.sound", "Classical.choice", "sorryAx"}
    assert "sorry" not in re.sub(r"sorryAx|lean_sorry|/--.*?-/", "", text, flags=re.DOTALL)


@pytest.mark.lean
def test_the_checked_in_modules_are_as_generated() -> None:
    command = [sys.executable, "-m", "data.generators.pocket_syntax", "--check"]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def test_parsers_outside_the_promise_are_left_out() -> None:
    assert pocket_syntax.classify(("Lean", "Parser", "Tactic", "simp")) == "tactic"
    assert pocket_syntax.classify(("term_∧_",)) == "term"
    for name in (("Lean", "Parser", "Tactic", "grind"), ("Lean", "Parser", "Tactic", "bv_decide"), ("Std", "term_")):
        with pytest.raises(LookupError):
            pocket_syntax.classify(name)
