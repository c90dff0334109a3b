"""Creates `.venv`, also with a system Python that is externally managed or lacks ensurepip."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from scripts.setup import pip
from scripts.setup.logged import Say


class VenvError(Exception):
    """No virtual environment could be created. The message says what to install."""


def works(directory: Path) -> bool:
    """Whether the environment has a working Python and pip."""
    python = directory / "bin" / "python"
    if not python.exists():
        return False
    completed = subprocess.run([python, "-I", "-c", "import pip, encodings"], capture_output=True, check=False)
    return completed.returncode == 0


def ways(directory: Path, base: str) -> Iterator[list[list[str]]]:
    """Ways to create an environment with pip, best first. Each is a list of commands."""
    target = str(directory)
    yield [[base, "-m", "venv", target]]
    # Debian and Ubuntu package ensurepip separately. pip 22.3 and later can install into another environment.
    yield [
        [base, "-m", "venv", "--without-pip", target],
        [base, "-m", "pip", "--python", f"{target}/bin/python", "install", "--quiet", "pip"],
    ]
    if uv := shutil.which("uv"):
        yield [[uv, "venv", "--seed", "--quiet", "--python", base, target]]
    yield [[base, "-m", "virtualenv", "--quiet", target]]


def make(directory: Path, say: Say) -> None:
    """Create the environment again, in the first way that works. Raises VenvError."""
    base = pip.base_python()
    errors = []
    for commands in ways(directory, base):
        if directory.exists():
            shutil.rmtree(directory)
        error = _run_all(commands)
        if error is None and works(directory):
            return
        errors.append(f"    {' '.join(commands[-1])}: {error or 'created an environment without a working pip'}")
        say(f"`{' '.join(commands[0])}` failed, trying another way")
    shutil.rmtree(directory, ignore_errors=True)
    raise VenvError(
        f"no virtual environment could be created with {base}. Tried:\n"
        + "\n".join(errors)
        + "\n  On Debian and Ubuntu: sudo apt install python3-venv. Without root: use a Python of conda, pyenv or uv "
        "(PYTHON=/path/to/python3 ./start ...), or put uv on PATH"
    )


def remove_torn_packages(directory: Path) -> list[str]:
    """Delete the metadata of packages whose installation was interrupted, so that pip installs them again. Returns
    their names.

    For pip a package with METADATA is installed, but it writes RECORD last.
    """
    torn = []
    for info in directory.glob("lib/python3*/site-packages/*.dist-info"):
        if not (info / "RECORD").exists():
            shutil.rmtree(info)
            torn.append(info.name.removesuffix(".dist-info"))
    for backup in directory.glob("lib/python3*/site-packages/~*"):
        shutil.rmtree(backup, ignore_errors=True)  # pip's backup of a package while it replaces it
    return torn


def write_byte_code(directory: Path, python: Path) -> None:
    """Compile the byte code of all packages on all cores, in tens of seconds. Files that do not compile are skipped."""
    packages = map(str, directory.glob("lib/python3*/site-packages"))
    command = [str(python), "-m", "compileall", "-qq", "-j", "0", *packages]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def _run_all(commands: list[list[str]]) -> str | None:
    """Run commands until one fails. Returns its last line of output, or None if all succeed."""
    for command in commands:
        try:
            completed = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        if completed.returncode:
            output = (completed.stderr + completed.stdout).strip().splitlines()
            return output[-1].strip() if output else f"exit code {completed.returncode}"
    return None
