"""Chooses a build of torch: a CPU build where one can be had, the machine's own for GPUs."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

from scripts.setup import pip, uv
from scripts.setup.logged import Say

INDEX_VARIABLE = "PROOFMESH_TORCH_INDEX"
"""Address of PyTorch's own index of CPU wheels (its install page shows it, "Compute Platform: CPU")."""

SUPPORTED = ((2, 11), (2, 14))
"""From the first up to but not including the second: the range of pyproject.toml."""

LINK = "proofmesh-torch.pth"

_INSTALL = ["install", "--no-compile"]  # byte code is made on first use: all of it at once doubles the time

_LOOK = """
import json, pathlib, sys, torch
print(json.dumps({
    "version": torch.__version__, "cuda": torch.version.cuda or "", "python": sys.executable,
    "minor": "%d.%d" % sys.version_info[:2], "folder": str(pathlib.Path(torch.__file__).parents[1]),
}))
"""


def wanted(requirements: Path) -> str:
    """The line of a requirements file that says which torch is wanted (`torch==2.13.0`). Raises ValueError."""
    match = re.search(r"^torch\b.*$", requirements.read_text(), flags=re.MULTILINE)
    if match is None:
        raise ValueError(f"{requirements}: no line begins with `torch`")
    return match.group()


def pinned(requirements: Path) -> str:
    """The version of torch that a requirements file pins. Raises ValueError."""
    name, pin, version = wanted(requirements).partition("==")
    if name != "torch" or not pin:
        raise ValueError(f"{requirements}: no line `torch==VERSION`")
    return version


def install_cpu(python: Path, requirements: Path, log: Path, say: Say) -> None:
    """Install the pinned torch, as a CPU build if one can be had; the default build brings gigabytes of CUDA.

    A CPU build is asked for in PyTorch's own index (through uv), then in what pip is configured to search. An index
    that the user named stands in place of both. Raises PipError or UvError.
    """
    version = pinned(requirements)
    if pip.installed_version(python, "torch") in (f"{version}+cpu", version):
        return
    cpu_build = f"torch=={version}+cpu"
    if index := os.environ.get(INDEX_VARIABLE):
        say(f"torch {version}: asking the index that {INDEX_VARIABLE} names for the CPU build")
        pip.run(python, [*_INSTALL, "--extra-index-url", index, "--no-deps", cpu_build], log, say)
        return
    say(f"torch {version}: asking PyTorch's index for the CPU build, through uv, for {uv.REACH_SECONDS} s at most")
    try:
        uv.make_ready(python, log, say)
        uv.install_torch(python, uv.find_torch(python, f"torch=={version}", "cpu", log), "cpu", log, say)
        return
    except uv.OutOfReach as reason:
        say(f"  not there: {reason}")
    say(f"torch {version}: asking pip for the CPU build")
    try:
        pip.run(python, [*_INSTALL, "--no-deps", cpu_build], log, say)
        return
    except pip.NoSuchVersion:
        say(f"  not there: pip finds no CPU build for Python {pip.python_version(python)}")
    say(f"torch {version}: taking the default build, several gigabytes with CUDA.")
    say(f"  To avoid that: stop (Ctrl-C), set {INDEX_VARIABLE} to the address that PyTorch's install page")
    say("  shows for pip and CPU, and run the same command again")
    pip.run(python, [*_INSTALL, "-r", str(requirements)], log, say)


def prepare_gpu(venv: Path, python: Path, requirements: Path, log: Path, say: Say) -> None:
    """Give the environment a torch with CUDA; where that fails, pip installs one with the other requirements.

    One that this machine's Python has is used where it is: a `.pth` file names its folder, which comes after the
    environment's own packages, so that the pinned ones win. Else PyTorch's own index is asked (through uv) for the
    newest build that the machine's driver allows. Raises PipError or UvError.
    """
    link = site_packages(venv) / LINK
    link.unlink(missing_ok=True)
    installed = pip.installed_version(python, "torch")
    if installed.endswith("+cpu"):
        pip.run(python, ["uninstall", "--yes", "torch"], log, say)
    elif is_supported(installed):
        return
    found = find_cuda_torch(pip.python_version(python))
    if found is not None:
        say(f"using torch {found['version']} (CUDA {found['cuda']}) of {found['python']}")
        link.write_text(found["folder"] + "\n")
        return
    say(f"torch: asking PyTorch's index for a CUDA build, through uv, for {uv.REACH_SECONDS} s at most")
    try:
        uv.make_ready(python, log, say)
        version = uv.find_torch(python, wanted(requirements), "auto", log)
        if version.endswith("+cpu"):
            raise uv.OutOfReach("uv sees no NVIDIA driver here, and would take the CPU build")
        uv.install_torch(python, version, "auto", log, say)
    except uv.OutOfReach as reason:
        say(f"  not there: {reason}")
        say("torch: pip takes the default build, several gigabytes with CUDA")


def forget_gpu(venv: Path) -> None:
    """Undo `prepare_gpu`: the environment sees its own torch alone."""
    (site_packages(venv) / LINK).unlink(missing_ok=True)


def site_packages(venv: Path) -> Path:
    """The folder of an environment's packages."""
    return next(venv.glob("lib/python3*/site-packages"))


def find_cuda_torch(python_version: str) -> dict[str, str] | None:
    """A supported torch with CUDA in a Python of this machine of the same minor version: where and which."""
    minor = python_version.rpartition(".")[0]
    for candidate in dict.fromkeys([os.environ.get("PYTHON", ""), "python3", "python", pip.base_python()]):
        if not candidate:
            continue
        try:
            done = subprocess.run([candidate, "-c", _LOOK], capture_output=True, text=True, check=False)
        except OSError:
            continue
        if done.returncode:
            continue
        found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
        if found["minor"] == minor and found["cuda"] and is_supported(found["version"]):
            return found
    return None


def is_supported(version: str) -> bool:
    """Whether a version (`2.11.0+cu130`) is in the supported range."""
    match = re.match(r"(\d+)\.(\d+)", version)
    return match is not None and SUPPORTED[0] <= (int(match.group(1)), int(match.group(2))) < SUPPORTED[1]
