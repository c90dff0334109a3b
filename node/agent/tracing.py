"""The first stage: traces a repository, for theorems with their difficulty, and files with their steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from common.life import faults
from common.sizing import read_machine
from node.agent.curriculum import difficulty
from node.agent.errors import AgentError
from node.agent.records import FileRow, TheoremRow
from node.agent.settings import AgentSettings
from node.agent.sources import Source, digest_of
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.trace.elaborating import TraceLimits
from node.lean.trace.formats.writing import write
from node.lean.trace.infotree import Position
from node.lean.trace.records import TracedBlock, TracedFile, TracedTheorem
from node.lean.trace.session import Work, plan, run_all
from node.lean.trace.tracing import Tracer

JOB_MB = 3000
"""Assumed memory of each job: Lean with a large library."""

STEPS = "steps.jsonl"
"""File with all atomic steps of the repository, as `proofmesh trace` writes it."""


@dataclass(frozen=True)
class Traced:
    """The result of tracing a repository."""

    files: list[FileRow]
    theorems: list[TheoremRow]
    seconds: float


def trace(
    source: Source,
    toolchain: LeanToolchain,
    settings: AgentSettings,
    folder: Path,
    heard: Callable[[TracedFile], None],
) -> Traced:
    """Traces a repository. Files that are traced already are skipped. `heard` is called with each file.

    Raises AgentError if no file can be traced.
    """
    started = time.monotonic()
    group = source.group
    limits = TraceLimits(seconds=settings.file_seconds, memory_mb=settings.memory_mb)
    tracer = Tracer(toolchain, Path(toolchain.project or group.root), limits, settings.split)
    works = plan(group, tracer, folder)
    files: list[FileRow] = []
    theorems: list[TheoremRow] = []

    def report(work: Work, traced: TracedFile, earlier: bool) -> None:
        faults.reach("agent:traced-file")
        files.append(FileRow(work.name, digest_of(work.file.read_bytes()), traced.error))
        theorems.extend(_rows(work.name, traced))
        heard(traced)

    run_all(works, settings.trace_jobs or _jobs(), report)
    if all(each.error for each in files):
        build = f"; run `lake build` in {group.root} first" if group.lake else ""
        raise AgentError(f"no file can be traced: {files[0].path}: {files[0].error.splitlines()[0]}{build}")
    write(works, folder, ["proofmesh"])
    files.sort(key=lambda each: each.path)
    theorems.sort(key=lambda each: (each.path, each.line))
    return Traced(files, theorems, time.monotonic() - started)


def _rows(path: str, traced: TracedFile) -> Iterator[TheoremRow]:
    for theorem in traced.theorems:
        steps = sum(len(block.steps) for block in theorem.blocks)
        yield TheoremRow(
            path,
            theorem.start[0],
            theorem.name or theorem.kind,
            theorem.kind,
            theorem.statement,
            _proof(theorem),
            steps,
            difficulty(steps) if steps and not theorem.error else None,
            theorem.error.strip().split("\n")[0],
        )


def _proof(theorem: TracedTheorem) -> str:
    """The tactics as written, without those inside other tactics, whose text includes them."""
    return "\n".join(line for block in theorem.blocks for line in _outermost(block))


def _outermost(block: TracedBlock) -> Iterator[str]:
    end: Position | None = None
    for tactic in block.tactics:
        if end is None or tactic.start >= end:
            end = tactic.end
            yield tactic.tactic


def _jobs() -> int:
    machine = read_machine()
    return max(1, min(machine.cores, machine.memory_mb // JOB_MB))
