"""Cheats against a reference: each compiles in plain Lean, none is accepted, and its honest twin is."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from node.lean.files.sources import SourceFile, in_order
from node.lean.files.verifier import FileVerifier
from node.lean.process.fresh import Limits, run_fresh
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.lean.files.cheat_files import Reference, Submission, read

pytestmark = pytest.mark.lean

FEWEST = 150
AT_ONCE = 2


async def plain(toolchain: LeanToolchain, files: Sequence[SourceFile], folder: Path) -> str:
    """What plain Lean has against a submission: its errors, and its warnings of `sorry`."""
    folder.mkdir(parents=True)
    environment = toolchain.with_modules([folder])
    for source, problem in in_order(files):
        if problem:
            return problem
        file = folder.joinpath(*source.module.split(".")).with_suffix(".lean")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source.text)
        command = [*toolchain.command, "--json", f"--root={folder}", "-o", str(file.with_suffix(".olean")), str(file)]
        finished = await run_fresh(command, environment=environment, folder=folder, limits=Limits())
        for line in finished.output.splitlines():
            row = json.loads(line)
            if row["severity"] == "error" or "declaration uses" in row["data"]:
                return str(row["data"])
        if finished.code:
            return f"Lean ended with code {finished.code}: {finished.errors}"
    return ""


async def outcomes(reference: Reference, verifier: FileVerifier) -> list[tuple[Submission, bool, str]]:
    """Of each submission against a reference, whether it is accepted, and why not."""
    found = []
    compared = verifier.compare_many([each.files for each in reference.submissions], reference.files)
    async for problems, verdicts, _ in compared:
        reasons = [f"{each.file}: {each.problem}" for each in problems]
        reasons += [f"{each.name}: {each.reason}" for each in verdicts if each.reason]
        submission = reference.submissions[len(found)]
        found.append((submission, bool(verdicts) and not reasons, "; ".join(reasons)))
    return found


@pytest.mark.timeout(600)
async def test_no_cheat_is_accepted_and_every_honest_twin_is(tmp_path):
    references = read()
    toolchain = await LeanToolchain.pocket().confined()
    verifier = FileVerifier(toolchain, at_once=AT_ONCE, seconds=60, memory_mb=2048)
    gate = asyncio.Semaphore(AT_ONCE)

    async def compiles(reference: Reference, submission: Submission) -> str:
        async with gate:
            folder = tmp_path / f"{references.index(reference)}-{submission.name}"
            problem = await plain(toolchain, submission.files, folder)
            shutil.rmtree(folder)
            return problem

    wrong, cheats, refused = [], 0, 0
    try:
        for reference in references:
            names: dict[str, list[str]] = {"cheat": [], "honest": [], "refused": []}
            for submission, accepted, reason in await outcomes(reference, verifier):
                names[submission.kind].append(submission.name)
                where = f"{reference.family}: {submission.kind} {submission.name}"
                if accepted is not (submission.kind == "honest"):
                    wrong.append(f"{where} is {'accepted' if accepted else f'not accepted: {reason}'}")
            dirty = {
                each.name: problem
                for each, problem in zip(
                    reference.submissions,
                    await asyncio.gather(
                        *(
                            compiles(reference, each) if each.kind == "cheat" else _none()
                            for each in reference.submissions
                        )
                    ),
                    strict=True,
                )
                if problem
            }
            wrong += [f"{reference.family}: plain Lean refuses {name}: {problem}" for name, problem in dirty.items()]
            assert names["cheat"] == names["honest"], f"{reference.family}: a cheat without its twin"
            cheats += len(names["cheat"]) - len(dirty)
            refused += len(names["refused"])
    finally:
        verifier.close()
    print(f"{cheats} cheats that plain Lean compiles, {refused} that it refuses")
    assert not wrong, "\n".join(wrong)
    assert cheats >= FEWEST


async def _none() -> str:
    return ""
