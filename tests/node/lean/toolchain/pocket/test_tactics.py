"""Every tactic that pocket Lean promises: proofs that it accepts, what it must refuse, also about numbers and texts.
Files as people write them are verified in tests/node/lean/files/test_ordinary_files.py."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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
