"""The user's lake and elan: toolchains, a project's environment, the commits of its packages."""

from __future__ import annotations

import contextlib
import math
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from node.lean.toolchain.lean_toolchain import LeanProblem

# --- Runs the user's lake, elan or lean and returns their output -----------------------------------------------------


ASK_SECONDS = 120.0
"""`lake env` takes seconds where it has to read a large workspace for the first time."""

TOOLCHAIN_VARIABLES = frozenset(
    {"ELAN_TOOLCHAIN", "LAKE", "LAKE_HOME", "LAKE_OVERRIDE_LEAN", "LEAN", "LEAN_AR", "LEAN_CC"}
    | {"LEAN_GITHASH", "LEAN_PATH", "LEAN_SRC_PATH", "LEAN_SYSROOT"}
)
"""Variables that `lake env` sets. If proofmesh was started in `lake env`, they would select that project's toolchain.
Lake itself unsets the same ones."""

CREDENTIALS = "PROOFMESH_NATS_"
"""Prefix of the variables with the broker's user and password: other programs could read and print them."""


def without_toolchain(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without the variables of another toolchain and without credentials."""
    return {
        name: value
        for name, value in environ.items()
        if name not in TOOLCHAIN_VARIABLES and not name.startswith(CREDENTIALS)
    }


_deadline: ContextVar[float] = ContextVar("deadline", default=math.inf)


@contextlib.contextmanager
def asking_for(seconds: float) -> Iterator[None]:
    """In the block, all questions together may take this long, for a caller that has to answer itself in time. Holds
    in threads that get this context (`asyncio.to_thread`)."""
    token = _deadline.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _deadline.reset(token)


def ask(command: Sequence[str], environ: Mapping[str, str], folder: Path | None = None) -> tuple[int, str, str]:
    """Exit code, output and errors of a program. Raises LeanProblem if it does not start or exceeds ASK_SECONDS, or the
    time of `asking_for`."""
    seconds = max(0.1, min(ASK_SECONDS, _deadline.get() - time.monotonic()))
    try:
        completed = subprocess.run(
            command,
            env=dict(environ),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        where = f" in {folder}" if folder else ""
        raise LeanProblem(
            f"`{' '.join(command)}`{where} did not finish in {seconds:.0f} s; run it by hand to see why"
        ) from None
    except OSError as error:
        raise LeanProblem(f"cannot run {command[0]}: {error.strerror}; check PATH and [lean] toolchain") from error
    return completed.returncode, completed.stdout, completed.stderr


# --- elan's toolchains: their names, their folders, and the toolchain that a project is pinned to --------------------
#
# A toolchain is a folder of $ELAN_HOME/toolchains with the toolchain's name. The rules are those of elan's source
# (`lookup_toolchain_desc`, `Toolchain::from`, `find_override_from_dir_walk`). elan itself only runs to look up the
# latest release of a channel such as `stable`.


FILE = "lean-toolchain"
"""A file of a project. Its first line names the project's toolchain."""

CHANNELS = ("stable", "beta", "nightly")
"""Names of release channels. elan looks up their latest release."""

_NAME = re.compile(r"(?:(?P<origin>[\w-]+/[\w-]+):)?(?P<release>[\w.-]+)")
_RELEASE = re.compile(r"v?(\d+\.\d+\.\d+(?:-rc\d+)?)")


def is_toolchain_name(text: str) -> bool:
    """True for a name that elan accepts: `leanprover/lean4:v4.20.0`, `v4.20.0`, `stable`, `my-toolchain`."""
    return _NAME.fullmatch(text) is not None


def is_channel(name: str) -> bool:
    """True for the name of a release channel, with or without an origin."""
    match = _NAME.fullmatch(name)
    return match is not None and match["release"] in CHANNELS


def full_name(name: str) -> str:
    """The name with its origin and a leading `v`: `4.20.0` becomes `leanprover/lean4:v4.20.0`."""
    match = _NAME.fullmatch(name.strip())
    if match is None:
        return name.strip()
    origin, release = match["origin"] or "leanprover/lean4", match["release"]
    if release.startswith("nightly") and not origin.endswith("-nightly"):
        origin += "-nightly"
    return f"{origin}:{'v' if release[0].isdigit() else ''}{release}"


def release(name: str) -> str:
    """The Lean version in a toolchain's name, for example `4.20.0`; empty for nightly and local toolchains."""
    match = _RELEASE.fullmatch(full_name(name).rpartition(":")[2])
    return match.group(1) if match else ""


def elan_home(environ: Mapping[str, str]) -> Path:
    """elan's folder: $ELAN_HOME, or ~/.elan."""
    configured = environ.get("ELAN_HOME")
    return Path(configured) if configured else Path(environ.get("HOME") or Path.home()) / ".elan"


def toolchain_folder(name: str, environ: Mapping[str, str]) -> Path | None:
    """The folder of an installed toolchain; None if it is not installed. A linked one of the same name comes first."""
    for each in (name.strip(), full_name(name)):
        candidate = elan_home(environ) / "toolchains" / each.replace("/", "--").replace(":", "---")
        if (candidate / "bin" / "lean").is_file():
            return candidate
    return None


def pinned_toolchain(project: Path) -> tuple[str, Path] | None:
    """The toolchain that a project is pinned to, and the `lean-toolchain` file, in its folder or a folder above."""
    for each in (project, *project.parents):
        file = each / FILE
        if file.is_file():
            lines = file.read_text(encoding="utf-8", errors="replace").split("\n")
            return lines[0].strip(), file
    return None


# --- Reads a Lake project with `lake env`, which prints Lake's environment variables for Lean as NAME=VALUE lines ----


CONFIGURATIONS = ("lakefile.toml", "lakefile.lean")

INSTALL = "install elan (https://lean-lang.org/install), which brings `lean` and `lake`"

_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)")


@dataclass(frozen=True)
class LakeEnvironment:
    """The toolchain and folders of a Lake project."""

    lean: Path
    """The `lean` that builds it."""
    path: tuple[Path, ...]
    """Folders of compiled modules (LEAN_PATH), of the project and its dependencies."""
    sources: tuple[Path, ...]
    """Folders of their sources (LEAN_SRC_PATH)."""
    libraries: str
    """LD_LIBRARY_PATH: native libraries that modules may need."""


def project_folder(text: str) -> Path:
    """The project's folder. Raises LeanProblem if it is not a Lake project."""
    folder = Path(text).expanduser().absolute()
    if not folder.is_dir():
        raise LeanProblem(f"[lean] project = {text!r}: there is no folder {folder}; check the path")
    if not any((folder / name).is_file() for name in CONFIGURATIONS):
        raise LeanProblem(
            f"[lean] project = {text!r}: {folder} is not a Lake project: it has neither "
            f"{' nor '.join(CONFIGURATIONS)}; use a folder with one of them, or name a folder of modules compiled "
            "without Lake in [lean] modules"
        )
    return folder


def find_lake(environ: Mapping[str, str]) -> Path:
    """`lake` on PATH, or elan's. Raises LeanProblem."""
    places = os.pathsep.join([environ.get("PATH", os.defpath), str(elan_home(environ) / "bin")])
    program = shutil.which("lake", path=places)
    if program is None:
        raise LeanProblem(
            f"there is no `lake` on PATH or in {elan_home(environ) / 'bin'}; {INSTALL}, or name the folder of a Lean "
            "installation in [lean] toolchain"
        )
    return Path(program)


def check_installed(lake: Path, project: Path, environ: Mapping[str, str]) -> None:
    """Raises LeanProblem if the toolchain that the project is pinned to is not installed.

    Otherwise elan would download hundreds of MB while proofmesh starts. A `lake` that is not elan's needs no check,
    because it uses its own Lean.
    """
    pinned = pinned_toolchain(project)
    if pinned is None or not (lake.parent / "elan").exists():
        return
    name, file = pinned
    if not is_toolchain_name(name):
        raise LeanProblem(f"{file}: {name!r} is not a toolchain's name; use one such as leanprover/lean4:v4.20.0")
    if not is_channel(name) and toolchain_folder(name, environ) is None:
        raise LeanProblem(
            f"{file}: the toolchain {name!r} is not installed; run `elan toolchain install {name}`, then `lake build` "
            f"in {project}"
        )


def lake_environment(lake: Path, project: Path, environ: Mapping[str, str]) -> LakeEnvironment:
    """Run `lake env` in a project and read its output. Raises LeanProblem."""
    code, output, errors = ask([str(lake), "env"], environ, folder=project)
    variables = {match[1]: match[2] for line in output.splitlines() if (match := _VARIABLE.fullmatch(line))}
    if code != 0 or not variables:
        problem = (errors or output).strip()[-600:] or f"exit code {code}"
        raise LeanProblem(
            f"`lake env` failed in {project}: {problem}\nRun it there by hand; `lake update` downloads the project's "
            "dependencies, `lake build` compiles it"
        )
    lean = next((path for path in _leans(variables) if path.is_file()), None)
    if lean is None:
        raise LeanProblem(f"`lake env` in {project}: neither LEAN nor LEAN_SYSROOT names an installed Lean; {INSTALL}")
    return LakeEnvironment(
        lean=lean,
        path=_folders(variables.get("LEAN_PATH", ""), project),
        sources=_folders(variables.get("LEAN_SRC_PATH", ""), project),
        libraries=variables.get("LD_LIBRARY_PATH", ""),
    )


def _leans(variables: Mapping[str, str]) -> Iterable[Path]:
    """Candidates for Lean's path: LEAN, which older versions of Lake do not set, and LEAN_SYSROOT's `lean`."""
    if variables.get("LEAN"):
        yield Path(variables["LEAN"])
    if variables.get("LEAN_SYSROOT"):
        yield Path(variables["LEAN_SYSROOT"]) / "bin" / "lean"


def _folders(path: str, project: Path) -> tuple[Path, ...]:
    """The folders of a search path. Some versions of Lake write them relative to the project."""
    return tuple(Path(os.path.normpath(project / entry)) for entry in path.split(os.pathsep) if entry)


def check_built(project: Path, lake_environment: LakeEnvironment, prefix: Path) -> None:
    """Raises LeanProblem if nothing of the project has been compiled."""
    folders = [each for each in lake_environment.path if not each.is_relative_to(prefix)]
    if folders and not any(has_modules(each) for each in folders):
        raise LeanProblem(
            f"the project {project} is not built: there is no .olean file in {', '.join(map(str, folders))}; run "
            "`lake build` in the project (with Mathlib, first `lake exe cache get`)"
        )


def has_modules(folder: Path) -> bool:
    """True when there is a compiled module below a folder."""
    return next(folder.rglob("*.olean"), None) is not None


def check_modules(modules: Sequence[str], path: Sequence[Path], sources: Sequence[Path], project: Path | None) -> None:
    """Raises LeanProblem for the first of `modules` that is not compiled."""
    for module in modules:
        place = Path(*module.replace("«", "").replace("»", "").split("."))
        if any((folder / place).with_suffix(".olean").is_file() for folder in path):
            continue
        source = next((file for each in sources if (file := (each / place).with_suffix(".lean")).is_file()), None)
        if source is not None:
            raise LeanProblem(
                f"[lean] imports: the module {module} is not built: {source} has no .olean file; run "
                f"`lake build {module}` in {project} (for a module of Mathlib, `lake exe cache get`)"
            )
        where = f"the project {project}, its dependencies" if project else "[lean] modules"
        searched = ", ".join(map(str, path)) or "no folder at all"
        raise LeanProblem(
            f"[lean] imports: there is no module {module} in {where} or Lean itself (folders: {searched}); check its "
            "name"
        )
