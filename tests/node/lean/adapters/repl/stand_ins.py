"""Folders that clients take for a REPL built by Lake; they start ours."""

from pathlib import Path

from node.command.cli import main


def install(folder: Path, *flags: str) -> Path:
    """Write a stand-in with the documented command; returns its `lake`."""
    assert main(["repl", "--install-stand-in", str(folder), *flags]) == 0
    return folder / "bin" / "lake"
