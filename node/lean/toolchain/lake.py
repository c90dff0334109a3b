"""What Lake says about a project: `lake env` prints the variables in which it would run Lean, as NAME=VALUE lines."""

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
    """A project as Lake sees it."""

    lean: Path
    """The `lean` that builds it."""
    path: tuple[Path, ...]
    """Where compiled modules lie (LEAN_PATH): the project's own, and those of its dependencies."""
    sources: tuple[Path, ...]
    """Where their sources lie (LEAN_SRC_PATH)."""
    libraries: str
    """LD_LIBRARY_PATH: native libraries that modules may need."""


def project_folder(text: str) -> Path:
    """The project's folder. Raises LeanProblem when it is none."""
    folder = Path(text).expanduser().absolute()
    if not folder.is_dir():
        raise LeanProblem(f"[lean] project = {text!r}: there is no folder {folder}")
    if not any((folder / name).is_file() for name in CONFIGURATIONS):
        raise LeanProblem(
            f"{folder} is no Lake project: it has neither {' nor '.join(CONFIGURATIONS)}. Name the folder that has "
            "one. For modules that were compiled without Lake, name their folder in [lean] modules instead"
        )
    return folder


def find_lake(environ: Mapping[str, str]) -> Path:
    """`lake` on PATH, or elan's. Raises LeanProblem."""
    places = os.pathsep.join([environ.get("PATH", os.defpath), str(elan.home(environ) / "bin")])
    program = shutil.which("lake", path=places)
    if program is None:
        raise LeanProblem(
            f"no `lake` is to be found, on PATH or in {elan.home(environ) / 'bin'}: {INSTALL}, or name the folder of a "
            "Lean installation in [lean] toolchain"
        )
    return Path(program)


def check_installed(lake: Path, project: Path, environ: Mapping[str, str]) -> None:
    """Whether the toolchain that the project wants is there. Raises LeanProblem.

    elan would fetch it, hundreds of MB, in the middle of our start; and other `lake`s would take what they have.
    """
    pinned = elan.pinned(project)
    if pinned is None or not (lake.parent / "elan").exists():
        return
    name, file = pinned
    if not elan.is_name(name):
        raise LeanProblem(f"{file} names no toolchain: {name!r}; write one, such as leanprover/lean4:v4.20.0")
    if not elan.is_channel(name) and elan.folder(name, environ) is None:
        raise LeanProblem(
            f"{file} wants the toolchain {name}, which is not installed: run `elan toolchain install {name}`, then "
            f"`lake build` in {project}"
        )


def lake_environment(lake: Path, project: Path, environ: Mapping[str, str]) -> LakeEnvironment:
    """Ask Lake. Raises LeanProblem."""
    code, output, errors = ask([str(lake), "env"], environ, folder=project)
    variables = {match[1]: match[2] for line in output.splitlines() if (match := _VARIABLE.fullmatch(line))}
    if code != 0 or not variables:
        problem = (errors or output).strip()[-600:] or f"it ended with code {code}"
        raise LeanProblem(
            f"`lake env` fails in {project}: {problem}\nRun it there by hand; `lake update` fetches what a project "
            "needs, `lake build` compiles it"
        )
    lean = next((path for path in _leans(variables) if path.is_file()), None)
    if lean is None:
        raise LeanProblem(f"`lake env` in {project} names no Lean that is there (LEAN, LEAN_SYSROOT): {INSTALL}")
    return LakeEnvironment(
        lean=lean,
        path=_folders(variables.get("LEAN_PATH", ""), project),
        sources=_folders(variables.get("LEAN_SRC_PATH", ""), project),
        libraries=variables.get("LD_LIBRARY_PATH", ""),
    )


def _leans(variables: Mapping[str, str]) -> Iterable[Path]:
    """Where Lean may be, by what Lake said: LEAN is it, but older ones name only its toolchain."""
    if variables.get("LEAN"):
        yield Path(variables["LEAN"])
    if variables.get("LEAN_SYSROOT"):
        yield Path(variables["LEAN_SYSROOT"]) / "bin" / "lean"


def _folders(path: str, project: Path) -> tuple[Path, ...]:
    """A search path's folders. Some versions of Lake name them relative to the project."""
    return tuple(Path(os.path.normpath(project / entry)) for entry in path.split(os.pathsep) if entry)


def check_built(project: Path, lake_environment: LakeEnvironment, prefix: Path) -> None:
    """Whether anything of the project has been compiled. Raises LeanProblem."""
    own = [each for each in lake_environment.path if not each.is_relative_to(prefix)]
    if own and not any(has_modules(each) for each in own):
        raise LeanProblem(
            f"the project {project} is not built: there is no .olean file in {', '.join(map(str, own))}. Run "
            "`lake build` there (and before it, where Mathlib is needed, `lake exe cache get`)"
        )


def has_modules(folder: Path) -> bool:
    """Whether there is a compiled module below a folder."""
    return next(folder.rglob("*.olean"), None) is not None


def check_modules(modules: Sequence[str], path: Sequence[Path], sources: Sequence[Path], project: Path | None) -> None:
    """Whether modules that are to be imported are compiled. Raises LeanProblem for the first that is not."""
    for module in modules:
        place = Path(*module.replace("«", "").replace("»", "").split("."))
        if any((folder / place).with_suffix(".olean").is_file() for folder in path):
            continue
        source = next((file for each in sources if (file := (each / place).with_suffix(".lean")).is_file()), None)
        if source is not None:
            raise LeanProblem(
                f"[lean] imports: the module {module} is not built: there is {source}, but no .olean file of it. Run "
                f"`lake build {module}` in {project} (for Mathlib's, `lake exe cache get`)"
            )
        where = f"the project {project}, its dependencies" if project else "[lean] modules"
        searched = ", ".join(map(str, path)) or "no folder at all"
        raise LeanProblem(
            f"[lean] imports: there is no module {module} in {where} and Lean itself: looked in {searched}"
        )
