"""Files as people write them, one for each subject, compile without an error and rest on no other axiom."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.lean

FILES = sorted((Path(__file__).parent / "ordinary").glob("*.lean"))

NOT_THERE = {
    "elab": 'elab "magic" : tactic => do\n  return',
    "run_cmd": "run_cmd return",
    "import_lean": "import Lean",
    "io": 'def main : IO Unit := IO.println "hello"',
    "float": "#eval (1.5 : Float)",
}
"""What needs Lean's own library, or is left out: Lean says so, and nothing else happens."""


def test_there_are_files_enough_to_speak_of_ordinary() -> None:
    assert len(FILES) >= 8
    assert sum(file.read_text().count("\n") for file in FILES) >= 500


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_an_ordinary_file_compiles(file: Path, elaborate: Callable[[str], list[Any]]) -> None:
    messages = elaborate(file.read_text())
    assert [f"{file.name}:{m.line}: {m.text}" for m in messages if m.severity == "error"] == []
    assert not [m for m in messages if "sorry" in m.text]


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
