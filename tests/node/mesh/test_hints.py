"""Hints behind Lean's messages: what belongs to Mathlib, and what is Lean 3."""

import pytest

from node.command.hints import unnoticed, with_hint


@pytest.mark.parametrize(
    ("message", "text", "says"),
    [
        ("unexpected identifier; expected command", "lemma b : 1 = 1 := rfl", "write `theorem`"),
        ("unexpected identifier; expected 'def' or 'theorem'", "@[simp] private lemma b : P := h", "write `theorem`"),
        (
            "unknown tactic",
            "theorem a (x y : Nat) : x + y = y + x := by\n  ring",
            "`ring` needs Mathlib: --lean.project",
        ),
        ("<input>:2:3: unknown tactic", "theorem a : P := by norm_num", "`norm_num` needs Mathlib"),
        ("Unknown identifier `ℕ`\n\nNote: more", "theorem a (x : ℕ) : x = x", "Lean's own name is `Nat`"),
        ("Unknown identifier `ℝ`", "theorem a (x : ℝ) : x = x", "`ℝ` needs Mathlib: --lean.project"),
        ("Unknown identifier `begin`", "theorem a : P :=\nbegin\n  split\nend", "Lean 3"),
        ("failed to synthesize instance", "theorem a (n : nat) : n + 0 = n :=\nbegin\n  simp,\nend", "Lean 3"),
        ("unknown module prefix 'data'", "import data.nat.basic", "Lean 3"),
    ],
)
def test_a_message_about_what_lean_lacks_says_what_to_do(message: str, text: str, says: str) -> None:
    first = with_hint(message, text).split("\n")[0]
    assert first.startswith(message.split("\n")[0] + "; ") and says in first
    assert with_hint(message, text).endswith(message.partition("\n")[2])


def test_a_letter_for_numbers_that_nothing_declares_is_noticed() -> None:
    said = unnoticed("-- ℚ\n\ntheorem a (x : ℝ) : x = x := rfl\n")
    assert said.startswith("line 3: nothing here declares `ℝ`") and "--lean.project" in said
    for text in (
        "import Mathlib\ntheorem a (x : ℝ) : x = x := rfl",
        'notation "ℕ" => Nat\ntheorem a (x : ℕ) : x = x := rfl',
        "def ℕ := Nat\ntheorem a (x : ℕ) : x = x := rfl",
        "theorem a {ℕ : Type} (x : ℕ) : x = x := rfl",
        "theorem «ℕ» : 1 = 1 := rfl",
    ):
        assert unnoticed(text) == ""
