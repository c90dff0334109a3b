"""A list of flawed statements of public benchmarks, each with its source: false, vacuous, or not what was intended.

Some copies of a benchmark have corrected statements. So a flawed statement is recognised by its name and by a piece of
text that only the flawed version has. Results are reported with and without these statements.
"""

from __future__ import annotations

from dataclasses import dataclass

from common.lean import Theorem

_NUMINA = "https://huggingface.co/datasets/AI-MO/minif2f_test"
_DEEPSEEK = "https://github.com/deepseek-ai/DeepSeek-Prover-V1.5/issues/26"
_ROCQ = "https://github.com/LLM4Rocq/miniF2F-rocq/pull/5"
_SHARP = "https://huggingface.co/datasets/PAug/ProofNetSharp/discussions"
_VERIFIED = "https://github.com/marcusm117/ProofNet-Verified"

_ESCAPES = "the body of the big operator has no parentheses, so that its variable stands outside of it"


@dataclass(frozen=True)
class Flaw:
    """A flawed statement."""

    name: str
    sign: str
    """A piece of text that only the flawed version has, without white space and with `in` for `∈`."""
    reason: str
    source: str

    def found_in(self, theorem: Theorem) -> bool:
        """True when the theorem is the flawed version of the statement."""
        # Some copies put the book before a name: Artin_exercise_13_4_10.
        named = theorem.name == self.name or theorem.name.endswith(f"_{self.name}")
        return named and self.sign in _squeezed(theorem)


FLAWS: dict[str, tuple[Flaw, ...]] = {
    "minif2f": (
        Flaw(
            *("mathd_algebra_314", "(1/4)^(n+1)"),
            *("1 / 4 is a division of natural numbers: the statement says 0 = 0", _DEEPSEEK),
        ),
        Flaw(
            *("mathd_algebra_158", "range5,a+2*k)"),
            *(f"{_ESCAPES}: the hypotheses are contradictory", _DEEPSEEK),
        ),
        Flaw("mathd_algebra_342", "range5,a+k*d)", _ESCAPES, _DEEPSEEK),
        Flaw("amc12a_2021_p9", "range7,2^2^k+", _ESCAPES, _DEEPSEEK),
        Flaw("induction_pord1p1on2powklt5on2", "Icc1n,1+(1:ℝ)/2^k)", _ESCAPES, _DEEPSEEK),
        Flaw("induction_prod1p1onk3le3m1onn", "Icc1n,1+(1:ℝ)/k^3)", _ESCAPES, _DEEPSEEK),
        Flaw("mathd_numbertheory_343", "range6,2*k+1)", f"{_ESCAPES}: it is false", _NUMINA),
        Flaw("mathd_numbertheory_618", "(n:ℕ)(p:ℕ→ℕ)", "it is false for n = 0", _NUMINA),
        Flaw(
            *("aime_1994_p3", "(h0:fx+f(x-1)=x^2)"),
            *("the equation is assumed for one x in place of all, so that f 94 is not determined", _NUMINA),
        ),
        Flaw(
            *("amc12a_2020_p7", "(a(k^2))"),
            *("it sums a (k ^ 2), of which most is not known, where (a k) ^ 2 is meant", _NUMINA),
        ),
        Flaw(
            *("mathd_algebra_275", "((11:ℝ)^(1/4))^(3*x-3)"),
            *("the exponent 1 / 4 is a division of natural numbers, 0: the hypothesis is contradictory", _NUMINA),
        ),
        Flaw(
            *("algebra_cubrtrp1oncubrtreq3_rcubp1onrcubeq5778", "(r:ℝ)(h₀:r^((1:ℝ)/3)"),
            *("it is false for negative r, where Mathlib's real power is no root", _NUMINA),
        ),
        Flaw("algebra_ineq_nto1onlt2m1on", "(n:ℕ):(n:ℝ)^((1:ℝ)/n)<2-1/n", "it is false for n = 1", _ROCQ),
    ),
    "proofnet": (
        Flaw("exercise_13_4_10", "(h:∃r:ℕ,p=2^r+1)", "it is false for p = 2 = 2 ^ 0 + 1", _SHARP),
        Flaw("exercise_5_13", "{px:ℤ}(hp:Primep)", "primes of ℤ may be negative: it is false for p = -13", _SHARP),
        Flaw(
            *("exercise_18_4", "∃xyzw:ℤ,x^3+y^3=n"),
            *("cubes may be negative: it is false for 91 = 3 ^ 3 + 4 ^ 3 = 6 ^ 3 + (-5) ^ 3", _VERIFIED),
        ),
    ),
}
"""Flawed statements by data set (`node.bank.known`)."""

_SAME = {"minif2f-numina": "minif2f"}
"""Data sets that share statements with another one."""


def flaw_of(data_set: str, theorem: Theorem) -> str:
    """The known flaw of a data set's statement, with its source; empty if none is known."""
    flaws = FLAWS.get(_SAME.get(data_set, data_set), ())
    return next((f"{each.reason} ({each.source})" for each in flaws if each.found_in(theorem)), "")


def _squeezed(theorem: Theorem) -> str:
    return "".join(f"{theorem.binders} : {theorem.conclusion}".split()).replace("∈", "in")
