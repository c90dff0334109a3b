"""Chooses a build of torch: the CPU build where an index has it, the machine's own for GPUs."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

from scripts.setup import pip
from scripts.setup.pip import Say

INDEX_VARIABLE = "PROOFMESH_TORCH_INDEX"
"""Address of PyTorch's own index of CPU wheels (its install page shows it, "Compute Platform: CPU")."""

SUPPORTED = ((2, 11), (2, 14))
"""From the first up to but not including the second: the range of pyproject.toml."""


LINK = "proofmesh-torch.pth"

_LOOK = """
import json, pathlib, sys, torch
print(json.dumps({
    "version": torch.__version__, "cuda": torch.version.cuda or "", "python": sys.executable,
    "minor": "%d.%d" % sys.version_info[:2], "folder": str(pathlib.Path(torch.__file__).parents[1]),
}))
"""


def pinned(requirements: Path) -> str:
    """The version of torch that a requirements file pins."""
    match = re.search(r"^torch==(\S+)$", requirements.read_text(), flags=re.MULTILINE)
    if match is None:
        raise ValueError(f"{requirements}: no line `torch==VERSION`")
    return match.group(1)


def index_arguments() -> list[str]:
    """pip's arguments for the index named by the environment variable."""
    index = os.environ.get(INDEX_VARIABLE)
    return ["--extra-index-url", index] if index else []


def install_cpu(python: Path, requirements: Path, log: Path, say: Say) -> None:
    """Install the CPU build of torch; without one in reach, the build that the index has, which is large.

    Raises PipError.
    """
    version = pinned(requirements)
    if _installed(python) in (f"{version}+cpu", version):
        return
    arguments = ["install", "--no-compile", *index_arguments()]
    try:
        pip.run(python, [*arguments, "--no-deps", f"torch=={version}+cpu"], log, say)
        return
    except pip.PipError as error:
        if "No matching distribution" not in str(error) or os.environ.get(INDEX_VARIABLE):
            raise
    say(f"no CPU build of torch {version} in reach of pip: taking the default build, several gigabytes with CUDA.")
    say(f"  To avoid that: stop (Ctrl-C), set {INDEX_VARIABLE} to the address that PyTorch's install page")
    say("  shows for pip and CPU, and run the same command again")
    pip.run(python, [*arguments, "-c", str(requirements), f"torch=={version}"], log, say)


def prepare_gpu(venv: Path, python: Path, log: Path, say: Say) -> None:
    """Let the environment see a torch with CUDA that this machine already has; without one pip will install it.

    A torch that is seen lives in another environment: a `.pth` file names its folder, which comes after the
    environment's own packages, so that the pinned ones win. Raises PipError.
    """
    if _installed(python).endswith("+cpu"):
        pip.run(python, ["uninstall", "--yes", "torch"], log, say)
    link = site_packages(venv) / LINK
    link.unlink(missing_ok=True)
    found = find_cuda_torch(pip.python_version(python))
    if found is None:
        say("this machine's Python has no torch with CUDA: pip installs one, several gigabytes")
    else:
        say(f"using torch {found['version']} (CUDA {found['cuda']}) of {found['python']}")
        link.write_text(found["folder"] + "\n")


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


def _installed(python: Path) -> str:
    """Version of torch in the environment, by its metadata; empty when there is none."""
    code = "import importlib.metadata as m; print(m.version('torch'))"
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""
