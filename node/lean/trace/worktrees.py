"""Asks git about a folder: its commit, its remote, and the files that differ from the commit."""

from __future__ import annotations

import subprocess
from pathlib import Path

from common.output.command import UserError

LAKE_FILES = ("lakefile.toml", "lakefile.lean")

OF_LEAN = ("*.lean", "lakefile.toml", "lean-toolchain", "lake-manifest.json")
"""Files that determine the result of a trace."""


class NoSource(UserError, ValueError):
    """A given path or URL leads to no Lean files. The message says why, and what to do."""


def git(folder: Path, *arguments: str) -> str:
    """The output of git; empty if there is no git or no repository."""
    try:
        result = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            check=False,
        )
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return ""
    return result.stdout.strip("\n") if result.returncode == 0 else ""


def commit_of(folder: Path) -> str:
    """The checked-out commit; empty for a folder without a repository."""
    return git(folder, "rev-parse", "HEAD")


def changed(folder: Path) -> list[str]:
    """Files below the folder that matter to Lean and differ from the commit, including new ones, as git's paths."""
    lines = git(folder, "status", "--porcelain", "--untracked-files=all", "--", *OF_LEAN).splitlines()
    return [line[3:] for line in lines]
