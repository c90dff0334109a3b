"""Creates a checker of snippets from its limits."""

from __future__ import annotations

from dataclasses import replace

from node.lean.gaps.holes.elaborator import ReplOptions
from node.lean.snippets.checker import SnippetChecker
from node.lean.snippets.file_judge import FileJudge
from node.lean.toolchain.lean_toolchain import LeanToolchain

HEARTBEATS = 200_000
"""Lean's own default of `maxHeartbeats`, for which most Lean code was written."""


def make_checker(
    toolchain: LeanToolchain,
    *,
    workers: int,
    queue: int,
    heartbeats: int,
    memory_mb: int,
    header_seconds: float,
    verify_seconds: float,
) -> SnippetChecker:
    """A checker whose verdicts come from fresh processes. For the parameters see `node.serve.settings`."""
    # The same limit for workers and verification: a snippet that elaborates in one must elaborate in the other.
    toolchain = replace(toolchain, command=(*toolchain.command, f"-DmaxHeartbeats={heartbeats}"))
    options = ReplOptions(heartbeats=heartbeats, memory_mb=memory_mb, start_seconds=header_seconds)
    judge = FileJudge(toolchain, at_once=workers, seconds=verify_seconds, memory_mb=memory_mb)
    return SnippetChecker(toolchain, options, judge, workers=workers, queue=queue)
