"""Ordinary Lean, a file for each subject, is accepted and traced completely."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from node.command import trace
from node.lean.check.files.sources import collect
from node.lean.check.files.verifier import FileVerifier
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.commands import Called

pytestmark = [pytest.mark.lean, pytest.mark.timeout(600)]

ORDINARY = sorted((Path(__file__).parents[1] / "toolchain" / "pocket" / "ordinary").glob("*.lean"))
SAMPLE = [file for file in ORDINARY if file.stem == "Notation"]


MODULE = "module @[expose] public section "
"""Put before a text, it makes it a module that hides nothing but what is private. No line moves."""


@pytest.mark.parametrize("start", ["", MODULE], ids=["file", "module"])
@pytest.mark.parametrize("files", [SAMPLE, pytest.param(ORDINARY, marks=pytest.mark.slow)], ids=["some", "all"])
async def test_every_theorem_of_the_ordinary_files_is_accepted(files: Sequence[Path], start: str) -> None:
    if start:  # in this one, a public statement unfolds what is private
        files = [each for each in files if each.stem != "Sections"]
    verifier = FileVerifier(await LeanToolchain.pocket().confined(), at_once=2, seconds=120, memory_mb=2048)
    try:
        sources = [replace(each, text=start + each.text) for group in collect(files) for each in group]
        reports = [judged.report async for judged in verifier.verify(sources)]
    finally:
        verifier.close()
    verdicts = [(report.file, each.line, each.reason) for report in reports for each in report.declarations]
    assert not [each for each in verdicts if each[2]] and not any(report.problem for report in reports)
    assert len(reports) == len(files) and len(verdicts) >= 9 * len(files)


@pytest.mark.slow
def test_every_ordinary_file_is_traced_whole(called: Called, tmp_path: Path) -> None:
    answer = called(trace.main, ORDINARY[0].parent, "--out", tmp_path / "out")
    assert answer.code == 0 and f"{len(ORDINARY)} files (0 of an earlier run, 0 failed); " in answer.out, answer
    assert "(0 that Lean does not accept)" in answer.out
