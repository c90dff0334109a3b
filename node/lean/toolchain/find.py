"""From [lean] to a Lean that can be started: where it is, its environment, its header. Lean itself elaborates nothing.

Asks lake, elan and lean, which takes from milliseconds to seconds: call it in a thread.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from common.lean_settings import POCKET, LeanSettings
from node.lean.text.headers import imports
from node.lean.text.rules import header_problem
from node.lean.toolchain import elan, lake
from node.lean.toolchain.asking import ask, without_toolchain
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.toolchain.options import project_options
from node.lean.toolchain.problems import LeanProblem

KEPT = ("HOME", "PATH", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH")
"""Of our environment, what Lean gets: code that runs while it elaborates could read the rest, keys among it."""

NO_LAKE = os.sep + os.path.join("nonexistent", "lake")  # noqa: PTH118 - a name for Lean, not a path of ours
"""A worker asks $LAKE, or the `lake` beside Lean, for the search path of every document (Lean's SetupFile.lean), unless
there is none: LEAN_PATH has it already, and a confined process may start no other."""

_VERSION = re.compile(r"version ([^,)\s]+)")


def find(settings: LeanSettings, environ: Mapping[str, str] | None = None) -> LeanToolchain:
    """The Lean that the settings mean. Raises LeanProblem."""
    environ = without_toolchain(os.environ if environ is None else environ)
    header = _header(settings)
    modules = _module_folders(settings.modules)
    if settings.project:
        return _of_project(settings, environ, header, modules)
    if settings.toolchain in ("", POCKET):
        return _pocket(settings, header, modules)
    command, name = _lean(settings.toolchain, environ)
    prefix, version = _ask_lean(command, environ)
    lake.check_modules(settings.imports, [*modules, prefix / "lib" / "lean"], [], None)
    return LeanToolchain(
        (str(prefix / "bin" / "lean"),),
        _environment(environ, modules),
        header,
        name=name,
        version=version,
    )


def _of_project(
    settings: LeanSettings, environ: Mapping[str, str], header: str, modules: Sequence[Path]
) -> LeanToolchain:
    project = lake.project_folder(settings.project)
    program = _lake(settings, project, environ)
    found = lake.lake_environment(program, project, environ)
    prefix, version = _ask_lean(found.lean, environ)
    _check_version(project, version, found.lean)
    lake.check_built(project, found, prefix)
    path = (*found.path, *modules)
    lake.check_modules(settings.imports, [*path, prefix / "lib" / "lean"], [*found.sources, project], project)
    libraries = {"LD_LIBRARY_PATH": found.libraries} if found.libraries else {}
    options = project_options(program, project, found, settings.imports, environ)
    return LeanToolchain(
        (str(found.lean), *options.arguments),
        {**_environment(environ, path), **libraries},
        header,
        name=wanted[0] if (wanted := elan.wanted(project)) else str(found.lean),
        version=version,
        project=str(project),
        notes=options.notes,
    )


def _lake(settings: LeanSettings, project: Path, environ: Mapping[str, str]) -> Path:
    """The `lake` to ask about a project: the one that was named with its toolchain, or whichever is there."""
    if not settings.toolchain:
        found = lake.find_lake(environ)
        lake.check_installed(found, project, environ)
        return found
    if settings.toolchain == POCKET:
        raise LeanProblem(
            f"[lean] toolchain = {POCKET!r} with a project: pocket Lean has no `lake`. Leave toolchain out to use the "
            "project's own; modules that pocket Lean has compiled are named in [lean] modules"
        )
    wanted = elan.wanted(project)
    if wanted and elan.is_name(settings.toolchain) and elan.full_name(settings.toolchain) != elan.full_name(wanted[0]):
        raise LeanProblem(
            f"the project {project} is for the toolchain {wanted[0]} ({wanted[1]}), and [lean] toolchain says "
            f"{settings.toolchain}: leave that out to use the project's own"
        )
    lean, _ = _lean(settings.toolchain, environ)
    found = _ask_lean(lean, environ)[0] / "bin" / "lake"
    if not found.is_file():
        raise LeanProblem(f"the Lean installation of {lean} has no `lake`, which is needed for a project: {found}")
    return found


def _check_version(project: Path, version: str, lean: Path) -> None:
    """Whether this Lean is the one that the project's file wants: it could not read what another has compiled."""
    wanted = elan.wanted(project)
    if wanted and elan.release(wanted[0]) and elan.release(wanted[0]) != version:
        raise LeanProblem(
            f"the project {project} is for {wanted[0]} ({wanted[1]}), but {lean} is Lean {version}. With elan's `lake` "
            "first on PATH the right one is taken; or name its installation in [lean] toolchain"
        )


def _pocket(settings: LeanSettings, header: str, modules: Sequence[Path]) -> LeanToolchain:
    from node.lean.toolchain.pocket.build import PocketBuildError

    try:
        pocket = LeanToolchain.pocket()
    except PocketBuildError as error:
        raise LeanProblem(str(error)) from error
    path = [Path(each) for each in pocket.environment["LEAN_PATH"].split(os.pathsep)]
    lake.check_modules(settings.imports, [*path, *modules], [], None)
    environment = pocket.with_modules(modules)
    _, version = _version([*pocket.command], environment)
    return LeanToolchain(
        pocket.command,
        environment,
        header,
        name="pocket Lean",
        version=version,
    )


def _lean(toolchain: str, environ: Mapping[str, str]) -> tuple[Path, str]:
    """The `lean` of a toolchain, and what the toolchain is called. Raises LeanProblem."""
    place = Path(toolchain).expanduser()
    if place.is_absolute() or toolchain.startswith(".") or place.exists():
        lean = place if place.is_file() else place / "bin" / "lean"
        if not lean.is_file():
            raise LeanProblem(
                f"[lean] toolchain = {toolchain!r}: there is no {lean}. Name the folder of a Lean installation, "
                f"elan's name of one (leanprover/lean4:v4.20.0), or {POCKET}"
            )
        return lean.absolute(), str(lean.absolute())
    if not elan.is_name(toolchain):
        raise LeanProblem(
            f"[lean] toolchain = {toolchain!r} is neither the folder of a Lean installation, nor a name as elan has "
            f"them (leanprover/lean4:v4.20.0), nor {POCKET}"
        )
    folder = elan.folder(toolchain, environ)
    if folder is not None:
        return folder / "bin" / "lean", toolchain
    if elan.is_channel(toolchain):
        return _of_channel(toolchain, environ), toolchain
    program = shutil.which(toolchain, path=environ.get("PATH"))
    if program is None:
        raise LeanProblem(
            f"[lean] toolchain = {toolchain!r} is not installed (looked in {elan.home(environ) / 'toolchains'}): run "
            f"`elan toolchain install {toolchain}`; if there is no elan, {lake.INSTALL}"
        )
    return Path(program), program


def _of_channel(channel: str, environ: Mapping[str, str]) -> Path:
    """The `lean` of elan's latest release of a channel, which elan alone knows (and fetches). Raises LeanProblem."""
    places = os.pathsep.join([environ.get("PATH", os.defpath), str(elan.home(environ) / "bin")])
    program = shutil.which("elan", path=places)
    if program is None:
        raise LeanProblem(f"[lean] toolchain = {channel!r}: only elan knows which Lean that is: {lake.INSTALL}")
    code, output, errors = ask([program, "run", channel, "lean", "--print-prefix"], environ)
    lean = Path(output.strip()) / "bin" / "lean"
    if code != 0 or not lean.is_file():
        raise LeanProblem(f"`elan run {channel} lean --print-prefix` fails: {(errors or output).strip()[-400:]}")
    return lean


def _ask_lean(lean: Path, environ: Mapping[str, str]) -> tuple[Path, str]:
    """Where this Lean is installed, and its version. Raises LeanProblem."""
    code, output, errors = ask([str(lean), "--print-prefix"], environ)
    if code != 0:
        raise LeanProblem(f"{lean} --print-prefix fails: {(errors or output).strip()[-400:]}")
    prefix = Path(output.strip())
    real = prefix / "bin" / "lean"  # behind elan's `lean`, which would look for a toolchain at each start
    return _version([str(real if real.is_file() else lean)], environ, prefix)


def _version(command: Sequence[str], environ: Mapping[str, str], prefix: Path = Path()) -> tuple[Path, str]:
    code, output, errors = ask([*command, "--version"], environ)
    match = _VERSION.search(output)
    if code != 0 or match is None:
        raise LeanProblem(f"{command[0]} is no Lean: --version says {(output or errors).strip()[-200:]!r}")
    return prefix, match.group(1)


def _header(settings: LeanSettings) -> str:
    """The configured header. Raises LeanProblem."""
    header = settings.header()
    if problem := header_problem(header):
        raise LeanProblem(f"[lean] imports, opens, options: {problem}")
    assert len(imports(header)) == len(settings.imports)
    return header


def _module_folders(folders: Sequence[str]) -> list[Path]:
    """Folders of compiled modules. Raises LeanProblem for one that is not there, or has none."""
    found = [Path(each).expanduser().absolute() for each in folders]
    for each in found:
        if not each.is_dir():
            raise LeanProblem(f"[lean] modules: there is no folder {each}")
        if not lake.has_modules(each):
            raise LeanProblem(
                f"[lean] modules: there is no .olean file in {each}. `lean -o NAME.olean NAME.lean` compiles a module"
            )
    return found


def _environment(environ: Mapping[str, str], path: Sequence[Path]) -> dict[str, str]:
    """All that Lean gets."""
    kept = {name: environ[name] for name in KEPT if name in environ}
    return {**kept, "LEAN_PATH": os.pathsep.join(map(str, path)), "LEAN_BACKTRACE": "0", "LAKE": NO_LAKE}
