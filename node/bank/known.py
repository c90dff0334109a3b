"""A table of public data sets for evaluation and training: their sources, licences and formats. Only data.

A fact that a data set's card or repository does not state is left empty, never guessed. The statements belong to their
authors, so none is stored here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from common.lean import Theorem

MINIF2F_HEADER = """import Mathlib
import Aesop
set_option maxHeartbeats 400000
open BigOperators Real Nat Topology Rat"""
"""The header of miniF2F's and Lean-Workbook's statements whose rows have none."""


@dataclass(frozen=True)
class Hub:
    """A copy on the Hugging Face hub."""

    id: str
    files: str = ""
    """The file to read, if a repository has files of several forms."""


@dataclass(frozen=True)
class DataSet:
    """One data set."""

    name: str
    """Its name in commands."""
    title: str
    statements: int
    """Number of statements according to its authors."""
    splits: tuple[str, ...]
    """The bank's names of its splits. If there is only one, all rows belong to it, whatever split a copy names."""
    hub: Hub
    licence: str
    """The licence in its card or repository; empty if they state none."""
    source: str
    """The page with the licence and the fields."""
    paper: str
    files: tuple[str, ...] = ()
    """Names of local copies, in addition to `name`: files, or folders of files."""
    header: str = ""
    """The header of statements whose rows have none."""
    open_answers: bool = False
    """True when statements leave an answer open, with the answer in a comment (`node.bank.statements`)."""
    family: str = ""
    """The field of a row with the topic of its statement."""
    note: str = ""


_MINIF2F_PAPER = "https://arxiv.org/abs/2109.00110"
_FORMALMATH_PAPER = "https://arxiv.org/abs/2505.02735"

_ALL = (
    DataSet(
        name="minif2f",
        title="miniF2F: olympiad and school mathematics, as distributed with DeepSeek-Prover-V1.5",
        statements=488,
        splits=("valid", "test"),
        hub=Hub("Slim205/minif2f"),
        licence="MIT",
        source="https://github.com/deepseek-ai/DeepSeek-Prover-V1.5/tree/main/datasets",
        paper=_MINIF2F_PAPER,
        files=("miniF2F", "MiniF2F"),
        header=MINIF2F_HEADER,
        note="has flawed statements, which are marked",
    ),
    DataSet(
        name="minif2f-numina",
        title="miniF2F's test split with nine corrected statements",
        statements=244,
        splits=("test",),
        hub=Hub("AI-MO/minif2f_test"),
        licence="Apache-2.0",
        source="https://huggingface.co/datasets/AI-MO/minif2f_test",
        paper=_MINIF2F_PAPER,
        files=("minif2f_test",),
        header=MINIF2F_HEADER,
    ),
    DataSet(
        name="proofnet",
        title="ProofNet: undergraduate mathematics; the hub's copy is ProofNet#, which corrects statements",
        statements=371,
        splits=("valid", "test"),
        hub=Hub("PAug/ProofNetSharp"),
        licence="MIT",
        source="https://huggingface.co/datasets/PAug/ProofNetSharp",
        paper="https://arxiv.org/abs/2302.12433",
        files=("ProofNet", "ProofNetSharp"),
    ),
    DataSet(
        name="putnambench",
        title="PutnamBench: the Putnam competition",
        statements=672,
        splits=("test",),
        hub=Hub("amitayusht/PutnamBench"),
        licence="Apache-2.0",
        source="https://github.com/trishullab/PutnamBench",
        paper="https://arxiv.org/abs/2407.11214",
        files=("PutnamBench/lean4/src", "PutnamBench", "putnam_bench"),
        header="import Mathlib\nopen BigOperators",
        open_answers=True,
        note="answers that statements leave open are filled in from the comments",
    ),
    DataSet(
        name="proverbench",
        title="ProverBench: AIME and textbook problems",
        statements=325,
        splits=("test",),
        hub=Hub("deepseek-ai/DeepSeek-ProverBench"),
        licence="",
        source="https://huggingface.co/datasets/deepseek-ai/DeepSeek-ProverBench",
        paper="https://arxiv.org/abs/2504.21801",
        files=("ProverBench", "DeepSeek-ProverBench"),
        family="area",
    ),
    DataSet(
        name="formalmath",
        title="FormalMATH: school to undergraduate mathematics",
        statements=5560,
        splits=("test",),
        hub=Hub("SphereLab/FormalMATH-All"),
        licence="",
        source="https://github.com/Sphere-AI-Lab/FormalMATH-Bench",
        paper=_FORMALMATH_PAPER,
        files=("FormalMATH", "FormalMATH-All", "FormalMATH_all"),
        family="domain",
    ),
    DataSet(
        name="formalmath-lite",
        title="FormalMATH-Lite: a selection of FormalMATH",
        statements=425,
        splits=("test",),
        hub=Hub("SphereLab/FormalMATH-Lite"),
        licence="MIT",
        source="https://huggingface.co/datasets/SphereLab/FormalMATH-Lite",
        paper=_FORMALMATH_PAPER,
        files=("FormalMATH-Lite", "FormalMATH_lite"),
        family="domain",
    ),
    DataSet(
        name="lean-workbook",
        title="Lean-Workbook: competition problems, formalised by machine",
        statements=57231,
        splits=("train",),
        hub=Hub("internlm/Lean-Workbook", "lean_workbook.json"),
        licence="Apache-2.0",
        source="https://huggingface.co/datasets/internlm/Lean-Workbook",
        paper="https://arxiv.org/abs/2406.03847",
        files=("lean_workbook", "Lean-Workbook"),
        header=MINIF2F_HEADER,
    ),
    DataSet(
        name="numinamath-lean",
        title="NuminaMath-LEAN: competition problems, formalised by people and by machine",
        statements=104155,
        splits=("train",),
        hub=Hub("AI-MO/NuminaMath-LEAN"),
        licence="Apache-2.0",
        source="https://huggingface.co/datasets/AI-MO/NuminaMath-LEAN",
        paper="https://arxiv.org/abs/2504.11354",
        files=("NuminaMath-LEAN", "numinamath"),
        family="problem_type",
    ),
)

KNOWN: dict[str, DataSet] = {each.name: each for each in _ALL}
"""All data sets by name."""


def known(source: str) -> DataSet | None:
    """The data set with a name, a hub id or a local copy's name; None if it is unknown."""
    lower_name = source.lower()
    if lower_name in KNOWN:
        return KNOWN[lower_name]
    for each in _ALL:
        if lower_name == each.hub.id.lower():
            return each
    if "/" in source and not Path(source).exists():
        return None
    stem = Path(source).name.split(".")[0].lower()
    return next((each for each in _ALL if stem in _stems(each)), None)


def _stems(each: DataSet) -> set[str]:
    """Names of files and folders with a copy of a data set, in lower case and without endings."""
    return {each.name, *(name.rpartition("/")[2].lower() for name in each.files)} - {"src"}


# ----------------------------------------------------------------------------------------------------------------------
# A list of flawed statements of public benchmarks, each with its source: false, vacuous, or not what was intended.
#
# Some copies of a benchmark have corrected statements. So a flawed statement is recognised by its name and by a
# piece of text that only the flawed version has. Results are reported with and without these statements.

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
"""Flawed statements by data set."""

_SAME = {"minif2f-numina": "minif2f"}
"""Data sets that share statements with another one."""


def flaw_of(data_set: str, theorem: Theorem) -> str:
    """The known flaw of a data set's statement, with its source; empty if none is known."""
    flaws = FLAWS.get(_SAME.get(data_set, data_set), ())
    return next((f"{each.reason} ({each.source})" for each in flaws if each.found_in(theorem)), "")


def _squeezed(theorem: Theorem) -> str:
    return "".join(f"{theorem.binders} : {theorem.conclusion}".split()).replace("∈", "in")
