"""The compiler's errors in the form of Goedel-Prover-V2; expected: what `get_error_str` of its src/utils.py writes."""

import pytest
from hypothesis import given, settings, strategies as st

from node.llm.outputs import CodeError, marked_errors

CODE = "theorem t : p := by\n  intro x\n  have h : q := by\n    simp\n    ring\n  exact h\n  done"


LONG = "\n".join(["by", *[f"  line{number}" for number in range(1, 12)]])


@pytest.mark.parametrize(
    ("code", "error", "marked"),
    [
        pytest.param(
            CODE,
            CodeError(6, 2, "type mismatch", 6, 9),
            "  intro x\n  have h : q := by\n    simp\n    ring\n  <error>exact h</error>\n  done\n",
            id="in one line",
        ),
        pytest.param(
            CODE,
            CodeError(3, 16, "unsolved goals", 5, 8),
            "theorem t : p := by\n  intro x\n  have h : q := <error>by\n    simp\n    ring</error>\n  exact h\n",
            id="over several lines",
        ),
        pytest.param(
            LONG,
            CodeError(1, 0, "no", 12, 8),
            "<error>by\n  line1\n  line2\n  line3\n  line4\n  line5\n\n  ... --[Truncated]-- ...\n  line11</error>\n",
            id="long, shortened",
        ),
    ],
)
def test_an_error_is_marked_at_its_place(code: str, error: CodeError, marked: str):
    assert marked_errors(code, [error]) == (
        f"\nError 1:\n\nCorresponding Code:\n```lean4\n{marked}\n```\n\nError Message: {error.message}\n"
    )


def test_an_error_without_an_end_goes_to_the_end_of_its_line():
    assert "\n  <error>intro x</error>\n  have" in marked_errors(CODE, [CodeError(2, 2, "no")])


def test_the_ninth_error_is_only_counted():
    text = marked_errors(CODE, [CodeError(1, 0, f"number {number}") for number in range(10)])
    assert text.endswith("\nError Message: number 7\n\n... [Omitted 2 more errors] ...\n")


@settings(max_examples=50, deadline=None)
@given(st.text(), st.integers(), st.integers(), st.none() | st.integers(), st.integers())
def test_places_outside_the_code_do_no_harm(code, line, column, end_line, end_column):
    assert "<error>" in marked_errors(code, [CodeError(line, column, "no", end_line, end_column)])
