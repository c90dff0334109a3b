"""Chooses and installs a build of torch: a CPU build if one is available, or one with CUDA for GPUs."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from scripts.setup import pip
from scripts.setup.pip import Say

# ----------------------------------------------------------------------------------------------------------------------
# Installs torch from PyTorch's own index with uv, which knows the address and the build that fits this machine.

REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements" / "uv.txt"

REACH_SECONDS = 5
"""Seconds until an index that does not respond counts as unreachable, so that a closed network does not delay
set-up."""

_WOULD_INSTALL = re.compile(r"^ \+ torch==(\S+)$", re.MULTILINE)


class UvError(Exception):
    """An installation by uv failed. The message has its last lines."""


class OutOfReach(Exception):
    """uv is not available, or does not find the build. The message is the reason in one line."""


def uv_version() -> str:
    """The pinned version of uv."""
    return REQUIREMENTS.read_text().rpartition("==")[2].strip()


def make_ready(python: Path, log: Path, say: Say) -> None:
    """Install uv into the environment of `python`, unless the pinned version is installed. Raises OutOfReach."""
    if pip.installed_version(python, "uv") == uv_version():
        return
    try:
        pip.run_pip(python, ["install", "--no-compile", "--no-deps", "-r", str(REQUIREMENTS)], log, say)
    except pip.PipError as error:
        raise OutOfReach(f"pip could not install uv (see {log})") from error


def find_torch(python: Path, requirement: str, backend: str, log: Path) -> str:
    """The version of torch (`2.13.0+cpu`) that uv would install for a requirement. Raises OutOfReach.

    `backend` is `cpu`, or `auto` for the newest CUDA that the machine's driver supports.
    """
    command = _uv_install(python, backend, ["--dry-run", requirement])
    limits = {"UV_HTTP_TIMEOUT": str(REACH_SECONDS), "UV_HTTP_RETRIES": "0"}
    try:
        exit_code, lines = pip.run_logged(command, log, environment=limits, seconds=REACH_SECONDS)
    except TimeoutError as error:
        raise OutOfReach(f"no answer in {REACH_SECONDS} s") from error
    if exit_code:
        raise OutOfReach(_uv_reason(lines))
    match = _WOULD_INSTALL.search("\n".join(lines))
    if match is None:
        raise OutOfReach("uv does not say which build it would install")
    return match.group(1)


def install_torch(python: Path, version: str, backend: str, log: Path, say: Say) -> None:
    """Install a build from `find_torch`, without its dependencies, which pip installs. Raises UvError."""
    exit_code, lines = pip.run_logged(
        _uv_install(python, backend, [f"torch=={version}"]), log, say=say, milestone=_uv_announcement
    )
    if exit_code:
        text = "\n".join(f"    {line[:300]}" for line in lines[-8:])
        raise UvError(f"uv failed:\n{text}\n  run the same command again  (whole log: {log})")


def _uv_install(python: Path, backend: str, arguments: Sequence[str]) -> list[str]:
    target = ["--python", str(python), "--no-deps", f"--torch-backend={backend}"]
    return [str(python), "-m", "uv", "pip", "install", "--no-progress", *target, *arguments]


def _uv_announcement(line: str) -> str | None:
    return f"d{line.rstrip()[1:]}" if line.startswith("Downloading ") else None


def _uv_reason(lines: Sequence[str]) -> str:
    """The innermost cause of uv's error. uv prints the chain of causes, the outermost first."""
    useful_lines = [line.strip() for line in lines if line.strip()]
    causes = [line.partition(":")[2].strip() for line in useful_lines if line.lower().startswith("cause")]
    return (causes or useful_lines or ["uv gives no reason"])[-1][:200]


# ----------------------------------------------------------------------------------------------------------------------
# Chooses and installs a build of torch: a CPU build if one is available, or one with CUDA for GPUs.

INDEX_VARIABLE = "PROOFMESH_TORCH_INDEX"
"""Environment variable with the address of PyTorch's index of CPU wheels. PyTorch's install page shows this address for
"Compute Platform: CPU"."""

SUPPORTED = ((2, 11), (2, 14))
"""Supported versions: from the first, and less than the second; as in pyproject.toml."""

LINK = "proofmesh-torch.pth"

_INSTALL = ["install", "--no-compile"]  # byte code is compiled on first use; compiling all of it now doubles the time

_TORCH_FACTS = """
import json, pathlib, sys, torch
print(json.dumps({
    "version": torch.__version__, "cuda": torch.version.cuda or "", "python": sys.executable,
    "minor": "%d.%d" % sys.version_info[:2], "folder": str(pathlib.Path(torch.__file__).parents[1]),
}))
"""


def torch_requirement(requirements: Path) -> str:
    """The line of a requirements file about torch (`torch==2.13.0`). Raises ValueError."""
    match = re.search(r"^torch\b.*$", requirements.read_text(), flags=re.MULTILINE)
    if match is None:
        raise ValueError(f"{requirements}: no line begins with `torch`")
    return match.group()


def pinned(requirements: Path) -> str:
    """The version of torch that a requirements file pins. Raises ValueError."""
    name, pin, version = torch_requirement(requirements).partition("==")
    if name != "torch" or not pin:
        raise ValueError(f"{requirements}: no line `torch==VERSION`")
    return version


def install_cpu(python: Path, requirements: Path, log: Path, say: Say) -> None:
    """Install the pinned torch, as a CPU build if one is available: the default build needs gigabytes for CUDA.

    A CPU build is searched in PyTorch's own index (with uv), then in pip's configured indexes. An index that the user
    names replaces both. Raises PipError or UvError.
    """
    version = pinned(requirements)
    if pip.installed_version(python, "torch") in (f"{version}+cpu", version):
        return
    cpu_build = f"torch=={version}+cpu"
    if index := os.environ.get(INDEX_VARIABLE):
        say(f"torch {version}: looking for the CPU build in the index of {INDEX_VARIABLE}")
        pip.run_pip(python, [*_INSTALL, "--extra-index-url", index, "--no-deps", cpu_build], log, say)
        return
    say(f"torch {version}: looking for the CPU build in PyTorch's index with uv, for at most {REACH_SECONDS} s")
    try:
        make_ready(python, log, say)
        install_torch(python, find_torch(python, f"torch=={version}", "cpu", log), "cpu", log, say)
        return
    except OutOfReach as reason:
        say(f"  not available: {reason}")
    say(f"torch {version}: looking for the CPU build with pip")
    try:
        pip.run_pip(python, [*_INSTALL, "--no-deps", cpu_build], log, say)
        return
    except pip.NoSuchVersion:
        say(f"  not available: pip finds no CPU build for Python {pip.python_version(python)}")
    say(f"torch {version}: installing the default build, several gigabytes with CUDA.")
    say(f"  To avoid that: stop (Ctrl-C), set {INDEX_VARIABLE} to the address that PyTorch's install page")
    say("  shows for pip and CPU, and run the same command again")
    pip.run_pip(python, [*_INSTALL, "-r", str(requirements)], log, say)


def prepare_gpu(venv: Path, python: Path, requirements: Path, log: Path, say: Say) -> None:
    """Give the environment a torch with CUDA. If this fails, pip installs one with the other requirements.

    If this machine's Python has a suitable torch, it is used without copying: a `.pth` file adds its folder after the
    environment's own packages, so that pinned packages take precedence. Otherwise uv looks in PyTorch's index for the
    newest build that the machine's driver supports. Raises PipError or UvError.
    """
    link = site_packages(venv) / LINK
    link.unlink(missing_ok=True)
    installed = pip.installed_version(python, "torch")
    if installed.endswith("+cpu"):
        pip.run_pip(python, ["uninstall", "--yes", "torch"], log, say)
    elif is_supported(installed):
        return
    existing = find_cuda_torch(pip.python_version(python))
    if existing is not None:
        say(f"using torch {existing['version']} (CUDA {existing['cuda']}) of {existing['python']}")
        link.write_text(existing["folder"] + "\n")
        return
    say(f"torch: looking for a CUDA build in PyTorch's index with uv, for at most {REACH_SECONDS} s")
    try:
        make_ready(python, log, say)
        version = find_torch(python, torch_requirement(requirements), "auto", log)
        if version.endswith("+cpu"):
            raise OutOfReach("uv finds no NVIDIA driver here, and would install the CPU build")
        install_torch(python, version, "auto", log, say)
    except OutOfReach as reason:
        say(f"  not available: {reason}")
        say("torch: pip installs the default build, several gigabytes with CUDA")


def forget_gpu(venv: Path) -> None:
    """Undo `prepare_gpu`, so that the environment sees only its own torch."""
    (site_packages(venv) / LINK).unlink(missing_ok=True)


def site_packages(venv: Path) -> Path:
    """The folder of an environment's packages."""
    return next(venv.glob("lib/python3*/site-packages"))


def find_cuda_torch(python_version: str) -> dict[str, str] | None:
    """Facts of a supported torch with CUDA in a Python of this machine with the same minor version; None: none."""
    minor = python_version.rpartition(".")[0]
    for candidate in dict.fromkeys([os.environ.get("PYTHON", ""), "python3", "python", pip.base_python()]):
        if not candidate:
            continue
        try:
            completed = subprocess.run([candidate, "-c", _TORCH_FACTS], capture_output=True, text=True, check=False)
        except OSError:
            continue
        if completed.returncode:
            continue
        facts: dict[str, str] = json.loads(completed.stdout.splitlines()[-1])
        if facts["minor"] == minor and facts["cuda"] and is_supported(facts["version"]):
            return facts
    return None


def is_supported(version: str) -> bool:
    """Whether a version (`2.11.0+cu130`) is in the supported range."""
    match = re.match(r"(\d+)\.(\d+)", version)
    return match is not None and SUPPORTED[0] <= (int(match.group(1)), int(match.group(2))) < SUPPORTED[1]
