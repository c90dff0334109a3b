"""The generated syntax modules are what the generator makes of the installed wheel."""

import subprocess
import sys

import pytest

from scripts import pocket_syntax


@pytest.mark.lean
def test_the_checked_in_modules_are_as_generated() -> None:
    outcome = subprocess.run(
        [sys.executable, "-m", "scripts.pocket_syntax", "--check"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def test_symbols_are_read_as_lean_writes_them() -> None:
    assert pocket_syntax.demangle("l_Lean_Parser_Tactic_exact") == ("Lean", "Parser", "Tactic", "exact")
    assert pocket_syntax.demangle("l_Lean_term__Matches__") == ("Lean", "term_Matches_")
    assert pocket_syntax.demangle("l_term___u2227__") == ("term_∧_",)
    assert pocket_syntax.demangle("l_Nat_rec__on_x27") == ("Nat", "rec_on'")


def test_parsers_outside_the_promise_are_left_out() -> None:
    assert pocket_syntax.classify(("Lean", "Parser", "Tactic", "simp")) == "tactic"
    assert pocket_syntax.classify(("term_∧_",)) == "term"
    for name in (("Lean", "Parser", "Tactic", "grind"), ("Lean", "Parser", "Tactic", "bv_decide"), ("Std", "term_")):
        try:
            pocket_syntax.classify(name)
        except LookupError:
            continue
        raise AssertionError(name)
