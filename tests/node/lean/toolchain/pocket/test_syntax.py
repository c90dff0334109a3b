"""The generated syntax modules are what the generator makes of the installed wheel."""

import subprocess
import sys

import pytest

from data.generators import pocket_syntax


@pytest.mark.lean
def test_the_checked_in_modules_are_as_generated() -> None:
    outcome = subprocess.run(
        [sys.executable, "-m", "data.generators.pocket_syntax", "--check"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def test_parsers_outside_the_promise_are_left_out() -> None:
    assert pocket_syntax.classify(("Lean", "Parser", "Tactic", "simp")) == "tactic"
    assert pocket_syntax.classify(("term_∧_",)) == "term"
    for name in (("Lean", "Parser", "Tactic", "grind"), ("Lean", "Parser", "Tactic", "bv_decide"), ("Std", "term_")):
        try:
            pocket_syntax.classify(name)
        except LookupError:
            continue
        raise AssertionError(name)
