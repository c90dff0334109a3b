"""A table of public data sets for evaluation and training: their sources, licences and formats. Only data.

A fact that a data set's card or repository does not state is left empty, never guessed. The statements belong to their
authors, so none is stored here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

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
    """True when statements leave an answer open, with the answer in a comment (`node.bank.answers`)."""
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
