"""Git repositories for tests."""

import subprocess
from collections.abc import Mapping
from pathlib import Path


def git(folder: Path, *arguments: str) -> str:
    """What git answers."""
    who = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", "-C", str(folder), *who, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def repository(folder: Path, files: Mapping[str, str]) -> Path:
    """A new repository with one commit."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    commit(folder, files)
    return folder


def commit(folder: Path, files: Mapping[str, str] | None = None) -> str:
    """The newest commit; with `files`, after one that has them."""
    for name, text in (files or {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    if files:
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--message", "files")
    return git(folder, "rev-parse", "HEAD")
