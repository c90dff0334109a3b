"""Reads a Lake project with `lake env`, which prints Lake's environment variables for Lean as NAME=VALUE lines."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from node.lean.toolchain import elan
from node.lean.toolchain.asking import ask
from node.lean.toolchain.problems import LeanProblem

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
    places = os.pathsep.join([environ.get("PATH", os.defpath), str(elan.home(environ) / "bin")])
    program = shutil.which("lake", path=places)
    if program is None:
        raise LeanProblem(
            f"there is no `lake` on PATH or in {elan.home(environ) / 'bin'}; {INSTALL}, or name the folder of a Lean "
            "installation in [lean] toolchain"
        )
    return Path(program)


def check_installed(lake: Path, project: Path, environ: Mapping[str, str]) -> None:
    """Raises LeanProblem if the toolchain that the project is pinned to is not installed.

    Otherwise elan would download hundreds of MB while proofmesh starts. A `lake` that is not elan's needs no check,
    because it uses its own Lean.
    """
    pinned = elan.pinned(project)
    if pinned is None or not (lake.parent / "elan").exists():
        return
    name, file = pinned
    if not elan.is_name(name):
        raise LeanProblem(f"{file}: {name!r} is not a toolchain's name; use one such as leanprover/lean4:v4.20.0")
    if not elan.is_channel(name) and elan.folder(name, environ) is None:
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
