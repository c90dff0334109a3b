"""`proofmesh stp prepare [SOURCE...] --out FOLDER`: prepares the initial data of self-play, without a broker or Lean.

    stp prepare                                    the bank of this repository
    stp prepare kfdong/STP_Lean_SFT lean-workbook  proofs and the conjecturer's examples; statements to prove
    stp prepare trace/ --test minif2f              proofs of a project (`proofmesh trace`); test statements

Exit codes: 0 the data is ready; 2 a source cannot be used, or statements or proofs are missing.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from common.limits import Natural, Positive, Share
from common.output.command import Exit, command, refuse
from common.output.visible import say

if TYPE_CHECKING:
    from node.stp.data.initial import Manifest
    from node.stp.data.sources import Found

PROG = "proofmesh stp prepare"

SHOWN = 5
"""Maximum unreadable rows on the terminal; a file in the folder has all of them."""


@dataclass
class PrepareSettings:
    """Prepare the initial data of self-play."""

    sources: Annotated[list[str], tyro.conf.Positional] = field(default_factory=lambda: ["bank"])
    """Sources of data. `bank`, or a bank's folder: its warm-start proofs, its `train` statements to prove, and its
    other statements for evaluation. A folder that `proofmesh trace` has written: the proofs of a project, and with
    `--context` its theorems as statements to prove. kfdong/STP_Lean_SFT, kfdong/STP_Lean_0320, or files in their
    format: proofs and the conjecturer's examples. A known data set such as lean-workbook (`proofmesh bank list`),
    another Hugging Face id, or files: statements to prove."""

    out: Path = Path("stp-data")
    """Output folder."""

    test: list[str] = field(default_factory=list)
    """Sources whose statements are all test statements. Equal statements are removed from the training data."""

    lemmas: list[str] = field(default_factory=list)
    """More lemmas that proofs may invoke: `pocket` (pocket Lean's core library), a trace, a .lean file, or rows
    {"name", "statement"}."""

    pairs: Positive = 1
    """Maximum pairs per lemma in which a theorem is the harder one; the easier one's proof invokes the same lemma."""

    empty_lemma: Share = 0.5
    """Probability that a theorem is also the harder one of a pair without a lemma."""

    rows: Natural = 0
    """Maximum rows to read from each data set; 0: all."""

    data: list[Path] = field(default_factory=list)
    """Folders with local copies of data sets, in addition to $PROOFMESH_DATA."""

    seed: Natural = 0
    """Seed of the random choice of pairs."""


def main_prepare(argv: Sequence[str]) -> int:
    """The command; returns its exit code."""
    run = partial(_prepare, line=shlex.join([*PROG.split(), *argv]))
    return command(PrepareSettings, argv, run, prog=PROG, description=__doc__)


def _prepare(settings: PrepareSettings, line: str) -> int:
    """`line`: the command line, which the folder keeps. Raises StpError, BankError."""
    from node.bank.bank import BankError
    from node.stp.data.initial import prepare
    from node.stp.data.lemmas import Library
    from node.stp.data.sources import read

    try:
        library = Library([])
        for source in settings.lemmas:
            library = library.joined(Library.of(source))
        contents = [read(source, test=True, data=settings.data, most=settings.rows) for source in settings.test]
        contents += [read(source, data=settings.data, most=settings.rows) for source in settings.sources]
        manifest = prepare(
            contents,
            settings.out,
            library=library,
            pairs_each=settings.pairs,
            empty=settings.empty_lemma,
            seed=settings.seed,
            command=line,
        )
    except (BankError, OSError) as error:
        return refuse(PROG, error)
    _print_summary(settings.out, contents, manifest)
    return Exit.DONE


def _print_summary(out: Path, sources: Sequence[Found], manifest: Manifest) -> None:
    from node.stp.data.initial import PASSED_OVER

    problems = [problem for each in sources for problem in each.problems]
    for problem in problems[:SHOWN]:
        say(f"passed over: {problem}", file=sys.stderr)
    if len(problems) > SHOWN:
        say(f"... and {len(problems) - SHOWN} more rows, in {out / PASSED_OVER}", file=sys.stderr)
    counts = manifest.counts
    say(f"{out}: {counts['train']} statements to be proved, {counts['valid'] + counts['test']} to be measured on,")
    with_lemma = counts["proofs with a lemma"]
    say(f"  {counts['proofs']} proofs, {with_lemma} of which invoke one of {counts['lemmas']} lemmas,")
    say(f"  {counts['conjectures']} examples for the conjecturer")
    for reason, number in manifest.left_out.items():
        say(f"  left out: {number} {reason}")
