"""Makes `.venv`, also with a system Python that is externally managed or that lacks ensurepip."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from scripts.setup import pip
from scripts.setup.logged import Say


class VenvError(Exception):
    """No virtual environment could be made; the message says what to install."""


def works(directory: Path) -> bool:
    """Whether the environment has a Python that runs and a pip that answers."""
    python = directory / "bin" / "python"
    if not python.exists():
        return False
    done = subprocess.run([python, "-I", "-c", "import pip, encodings"], capture_output=True, check=False)
    return done.returncode == 0


def ways(directory: Path, base: str) -> Iterator[list[list[str]]]:
    """Ways to make an environment with pip in it, best first; each is a list of commands."""
    target = str(directory)
    yield [[base, "-m", "venv", target]]
    # Debian and Ubuntu split ensurepip off; a pip of 22.3 or later can serve another environment than its own.
    yield [
        [base, "-m", "venv", "--without-pip", target],
        [base, "-m", "pip", "--python", f"{target}/bin/python", "install", "--quiet", "pip"],
    ]
    if uv := shutil.which("uv"):
        yield [[uv, "venv", "--seed", "--quiet", "--python", base, target]]
    yield [[base, "-m", "virtualenv", "--quiet", target]]


def make(directory: Path, say: Say) -> None:
    """Make the environment anew, by the first way that works. Raises VenvError."""
    base = pip.base_python()
    errors = []
    for commands in ways(directory, base):
        if directory.exists():
            shutil.rmtree(directory)
        error = _run_all(commands)
        if error is None and works(directory):
            return
        errors.append(f"    {' '.join(commands[-1])}: {error or 'made an environment without a working pip'}")
        say(f"`{' '.join(commands[0])}` did not work, trying another way")
    shutil.rmtree(directory, ignore_errors=True)
    raise VenvError(
        f"no virtual environment could be made with {base}. Tried:\n"
        + "\n".join(errors)
        + "\n  On Debian and Ubuntu: sudo apt install python3-venv. Without root: use a Python of conda, pyenv or uv "
        "(PYTHON=/path/to/python3 ./start ...), or put uv on PATH"
    )


def remove_torn_packages(directory: Path) -> list[str]:
    """Forget packages whose installation was interrupted, so that pip installs them again; returns their names.

    pip takes a package for installed when its METADATA is there, but writes RECORD last.
    """
    torn = []
    for info in directory.glob("lib/python3*/site-packages/*.dist-info"):
        if not (info / "RECORD").exists():
            shutil.rmtree(info)
            torn.append(info.name.removesuffix(".dist-info"))
    for rest in directory.glob("lib/python3*/site-packages/~*"):
        shutil.rmtree(rest, ignore_errors=True)  # the copy that pip keeps of a package while it replaces it
    return torn


def write_byte_code(directory: Path, python: Path) -> None:
    """Compile every package, on all cores: tens of seconds. Files that do not compile are left out."""
    packages = map(str, directory.glob("lib/python3*/site-packages"))
    command = [str(python), "-m", "compileall", "-qq", "-j", "0", *packages]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def _run_all(commands: list[list[str]]) -> str | None:
    """Run commands until one fails; its last line of output, or None when all went well."""
    for command in commands:
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        if done.returncode:
            output = (done.stderr + done.stdout).strip().splitlines()
            return output[-1].strip() if output else f"exit code {done.returncode}"
    return None
