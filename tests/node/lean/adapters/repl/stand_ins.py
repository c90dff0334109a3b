"""Folders that clients take for a REPL built by Lake; they start ours."""

from __future__ import annotations

from pathlib import Path

import psutil

from node.command.cli import main


def install(folder: Path, *flags: str) -> Path:
    """Write a stand-in with the documented command; returns its `lake`."""
    assert main(["repl", "--install-stand-in", str(folder), *flags]) == 0
    return folder / "bin" / "lake"


def kill_lean_below(pid: int) -> int:
    """Kill, with the signal that nobody can catch, what a REPL has started; returns how many processes."""
    below = psutil.Process(pid).children(recursive=True)
    for process in below:
        process.kill()
    psutil.wait_procs(below, timeout=30)
    return len(below)
