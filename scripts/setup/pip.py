"""Runs pip, shows a few lines of its output, and turns its errors into advice."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from scripts.setup import logged
from scripts.setup.logged import Say

LARGE_MB = 8
"""Downloads of at least this size are announced, so that a slow network does not look like a hang."""

_DOWNLOAD = re.compile(r"^\s*Downloading (\S+) \(([\d.]+) (kB|MB|GB)")
_MEGABYTES = {"kB": 0.001, "MB": 1.0, "GB": 1000.0}

_ADVICE = (
    ("No space left on device", "the disk is full: free some space and run the same command again"),
    ("Disk quota exceeded", "the disk quota is used up: free some space and run the same command again"),
    ("Permission denied", "no permission to write: is the folder, or pip's cache in your home, owned by another user?"),
    (
        "CERTIFICATE_VERIFY_FAILED",
        "the package index's certificate is not trusted: behind a proxy that inspects traffic, set PIP_CERT",
    ),
    (
        r"NewConnectionError|NameResolutionError|Temporary failure in name resolution|Network is unreachable"
        r"|ConnectTimeoutError|Read timed out|Connection aborted|Failed to establish|ProxyError",
        "the package index cannot be reached: check the network (behind a proxy: HTTPS_PROXY; a mirror: pip's own "
        "configuration, `pip config set global.index-url ...`), then run the command again, which resumes",
    ),
    (
        "No matching distribution|Could not find a version",
        "the package index that pip uses does not have this version for this Python: is a private mirror configured "
        "(`pip config list`)? Otherwise update it, or use another Python from 3.11 to 3.13",
    ),
    (
        "ResolutionImpossible|conflicting dependencies",
        "no version that pip finds fits: does a constraint of yours (PIP_CONSTRAINT, or `constraint` in "
        "`pip config list`) rule out the version that is pinned here? Then lift it for this set-up",
    ),
    ("hash|HASH", "a download was damaged: run the same command again (`pip cache purge` if it comes again)"),
)


_NO_SUCH_VERSION = re.compile("No matching distribution|ResolutionImpossible|conflicting dependencies")
"""If the user constrains a package, pip reports a version that does not exist as a conflict with the constraint."""


class PipError(Exception):
    """pip failed. The message has its last lines and advice."""


class NoSuchVersion(PipError):
    """pip cannot find the version, or a constraint excludes it. There was no other error."""


def advice(output: str) -> str:
    """Advice for a failure of pip, from its output; empty if the error is unknown."""
    for pattern, text in _ADVICE:
        if re.search(pattern, output):
            return text
    return ""


def announcement(line: str) -> str | None:
    """The line to show to the user for a line of pip's output; None: show nothing."""
    match = _DOWNLOAD.match(line)
    if match and float(match.group(2)) * _MEGABYTES[match.group(3)] >= LARGE_MB:
        return f"downloading {match.group(1)} ({match.group(2)} {match.group(3)})"
    if line.startswith("Installing collected packages"):
        packages = line.count(",") + 1
        return f"installing {packages} package{'s' if packages > 1 else ''}"
    return None


def run(python: Path, arguments: Sequence[str], log: Path, say: Say) -> None:
    """Run `python -m pip ARGUMENTS`; its output goes to `log`, selected lines to `say`.

    Raises PipError; the subclass NoSuchVersion if pip reached its indexes and they do not have the version.
    """
    command = [str(python), "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments]
    exit_code, lines = logged.run(command, log, say=say, milestone=announcement)
    if exit_code:
        kind = NoSuchVersion if any(map(_NO_SUCH_VERSION.search, lines)) else PipError
        raise kind(_explain(lines, log))


def _explain(lines: Sequence[str], log: Path) -> str:
    useful_lines = [line for line in lines if line.strip() and not line.startswith("WARNING: Location")]
    text = "\n".join(f"    {line[:300]}" for line in useful_lines[-8:])
    hint = advice("\n".join(lines))
    return f"pip failed:\n{text}\n" + (f"  {hint}\n" if hint else "") + f"  (whole log: {log})"


def python_version(python: Path) -> str:
    """Version of an interpreter, or an empty string if it does not run."""
    try:
        completed = subprocess.run(
            [str(python), "-I", "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return completed.stdout.strip() if completed.returncode == 0 else ""


def installed_version(python: Path, package: str) -> str:
    """Version of a package in the environment of an interpreter, from its metadata; empty if it is not installed."""
    code = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"
    completed = subprocess.run([str(python), "-c", code, package], capture_output=True, text=True, check=False)
    return completed.stdout.strip() if completed.returncode == 0 else ""


def base_python() -> str:
    """The interpreter to create a virtual environment with. It is never inside a virtual environment itself."""
    return str(getattr(sys, "_base_executable", None) or sys.executable)
