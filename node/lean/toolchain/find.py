"""Finds the Lean that the section [lean] configures: its command, its environment, its header.

`find` runs lake, elan and lean, which takes from milliseconds to seconds: call it in a thread. It elaborates nothing.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from common.lean_settings import POCKET, LeanSettings
from common.life.waiting import together
from node.lean.process.protections import detect
from node.lean.text.headers import imports
from node.lean.text.rules import header_problem
from node.lean.toolchain import elan, lake
from node.lean.toolchain.asking import ask, without_toolchain
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.toolchain.options import project_options
from node.lean.toolchain.problems import LeanProblem

PASSED_ON = ("HOME", "PATH", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH")
"""The only variables that Lean inherits from us: code that runs during elaboration could read keys in the others."""

NO_LAKE = os.sep + os.path.join("nonexistent", "lake")  # noqa: PTH118 - a name for Lean, not a path of ours
"""A path without a program, for $LAKE. A worker runs $LAKE, or else the `lake` next to Lean, to get the search path of
each document (Lean's SetupFile.lean). LEAN_PATH has that path already, and a confined process may not start `lake`."""

_VERSION = re.compile(r"version ([^,)\s]+)")


async def confined_toolchain(settings: LeanSettings) -> LeanToolchain:
    """The Lean toolchain of these settings, with all protections that this system supports. Raises LeanProblem."""
    # Concurrently, because both wait for processes.
    toolchain, protections = await together(asyncio.to_thread(find, settings), detect())
    return await toolchain.confined_by(protections)


def find(settings: LeanSettings, environ: Mapping[str, str] | None = None) -> LeanToolchain:
    """The Lean that the settings name. Raises LeanProblem."""
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
        reads=(str(prefix),),
    )


def _of_project(
    settings: LeanSettings, environ: Mapping[str, str], header: str, modules: Sequence[Path]
) -> LeanToolchain:
    """The Lean of a Lake project, with the project's modules and options."""
    project = lake.project_folder(settings.project)
    program = _lake(settings, project, environ)
    lake_environment = lake.lake_environment(program, project, environ)
    lean = lake_environment.lean
    prefix, version = _ask_lean(lean, environ)
    _check_version(project, version, lean)
    lake.check_built(project, lake_environment, prefix)
    path = (*lake_environment.path, *modules)
    sources = [*lake_environment.sources, project]
    lake.check_modules(settings.imports, [*path, prefix / "lib" / "lean"], sources, project)
    libraries = {"LD_LIBRARY_PATH": lake_environment.libraries} if lake_environment.libraries else {}
    options = project_options(program, project, lake_environment, settings.imports, environ)
    return LeanToolchain(
        (str(lean), *options.arguments),
        {**_environment(environ, path), **libraries},
        header,
        name=pinned[0] if (pinned := elan.pinned(project)) else str(lean),
        version=version,
        project=str(project),
        reads=(str(prefix), *map(str, lake_environment.sources)),
        notes=options.notes,
    )


def _lake(settings: LeanSettings, project: Path, environ: Mapping[str, str]) -> Path:
    """The `lake` for a project: that of the configured toolchain, otherwise the one on PATH. Raises LeanProblem."""
    if not settings.toolchain:
        program = lake.find_lake(environ)
        lake.check_installed(program, project, environ)
        return program
    if settings.toolchain == POCKET:
        raise LeanProblem(
            f"[lean] toolchain = {POCKET!r} with a project: pocket Lean has no `lake`; remove toolchain to use the "
            "project's own, or name folders of modules that pocket Lean has compiled in [lean] modules"
        )
    pinned = elan.pinned(project)
    if pinned and elan.is_name(settings.toolchain) and elan.full_name(settings.toolchain) != elan.full_name(pinned[0]):
        raise LeanProblem(
            f"[lean] toolchain = {settings.toolchain!r}: the project {project} is pinned to {pinned[0]} ({pinned[1]}); "
            "remove toolchain to use the project's own"
        )
    lean, _ = _lean(settings.toolchain, environ)
    program = _ask_lean(lean, environ)[0] / "bin" / "lake"
    if not program.is_file():
        raise LeanProblem(
            f"[lean] toolchain = {settings.toolchain!r} has no `lake`, which a project needs: no such file {program}; "
            "name a complete installation, or remove toolchain to use the project's own"
        )
    return program


def _check_version(project: Path, version: str, lean: Path) -> None:
    """Raises LeanProblem if the project is pinned to another version: Lean reads only its own compiled modules."""
    pinned = elan.pinned(project)
    if pinned and elan.release(pinned[0]) and elan.release(pinned[0]) != version:
        raise LeanProblem(
            f"the project {project} is pinned to {pinned[0]} ({pinned[1]}), but {lean} is Lean {version}; put elan's "
            f"`lake` first on PATH, or name an installation of {pinned[0]} in [lean] toolchain"
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
        kernel=pocket.kernel,
        reads=pocket.reads,
    )


def _lean(toolchain: str, environ: Mapping[str, str]) -> tuple[Path, str]:
    """The `lean` of a toolchain, and the toolchain's name. Raises LeanProblem."""
    place = Path(toolchain).expanduser()
    if place.is_absolute() or toolchain.startswith(".") or place.exists():
        lean = place if place.is_file() else place / "bin" / "lean"
        if not lean.is_file():
            raise LeanProblem(
                f"[lean] toolchain = {toolchain!r}: there is no {lean}; use the folder of a Lean installation, "
                f"a toolchain's name in elan (leanprover/lean4:v4.20.0), or {POCKET}"
            )
        return lean.absolute(), str(lean.absolute())
    if not elan.is_name(toolchain):
        raise LeanProblem(
            f"[lean] toolchain = {toolchain!r} is neither a folder nor a toolchain's name; use the folder of a Lean "
            f"installation, a toolchain's name in elan (leanprover/lean4:v4.20.0), or {POCKET}"
        )
    folder = elan.folder(toolchain, environ)
    if folder is not None:
        return folder / "bin" / "lean", toolchain
    if elan.is_channel(toolchain):
        return _of_channel(toolchain, environ), toolchain
    program = shutil.which(toolchain, path=environ.get("PATH"))
    if program is None:
        raise LeanProblem(
            f"[lean] toolchain = {toolchain!r} is not installed in {elan.home(environ) / 'toolchains'}; run "
            f"`elan toolchain install {toolchain}`, or without elan, {lake.INSTALL}"
        )
    return Path(program), program


def _of_channel(channel: str, environ: Mapping[str, str]) -> Path:
    """The `lean` of a channel's latest release, which elan looks up and downloads. Raises LeanProblem."""
    places = os.pathsep.join([environ.get("PATH", os.defpath), str(elan.home(environ) / "bin")])
    program = shutil.which("elan", path=places)
    if program is None:
        raise LeanProblem(
            f"[lean] toolchain = {channel!r} needs elan, which is not on PATH or in {elan.home(environ) / 'bin'}; "
            f"{lake.INSTALL}"
        )
    code, output, errors = ask([program, "run", channel, "lean", "--print-prefix"], environ)
    lean = Path(output.strip()) / "bin" / "lean"
    if code != 0 or not lean.is_file():
        raise LeanProblem(f"`elan run {channel} lean --print-prefix` failed: {(errors or output).strip()[-400:]}")
    return lean


def _ask_lean(lean: Path, environ: Mapping[str, str]) -> tuple[Path, str]:
    """Where this Lean is installed, and its version. Raises LeanProblem."""
    code, output, errors = ask([str(lean), "--print-prefix"], environ)
    if code != 0:
        raise LeanProblem(f"`{lean} --print-prefix` failed: {(errors or output).strip()[-400:]}")
    prefix = Path(output.strip())
    real = prefix / "bin" / "lean"  # not elan's `lean`, a wrapper that looks for a toolchain at each start
    return _version([str(real if real.is_file() else lean)], environ, prefix)


def _version(command: Sequence[str], environ: Mapping[str, str], prefix: Path = Path()) -> tuple[Path, str]:
    code, output, errors = ask([*command, "--version"], environ)
    match = _VERSION.search(output)
    if code != 0 or match is None:
        raise LeanProblem(
            f"{command[0]} is not Lean: `--version` prints {(output or errors).strip()[-200:]!r}; check "
            "[lean] toolchain"
        )
    return prefix, match.group(1)


def _header(settings: LeanSettings) -> str:
    """The configured header. Raises LeanProblem."""
    header = settings.header()
    if problem := header_problem(header):
        raise LeanProblem(f"[lean] imports, opens, options: {problem}")
    assert len(imports(header)) == len(settings.imports)
    return header


def _module_folders(folders: Sequence[str]) -> list[Path]:
    """Folders of compiled modules. Raises LeanProblem for a folder that does not exist or has no modules."""
    paths = [Path(each).expanduser().absolute() for each in folders]
    for each in paths:
        if not each.is_dir():
            raise LeanProblem(f"[lean] modules: there is no folder {each}; check the path")
        if not lake.has_modules(each):
            raise LeanProblem(
                f"[lean] modules: there is no .olean file in {each}; compile a module with "
                "`lean -o NAME.olean NAME.lean`"
            )
    return paths


def _environment(environ: Mapping[str, str], path: Sequence[Path]) -> dict[str, str]:
    """All variables that Lean gets."""
    passed_on = {name: environ[name] for name in PASSED_ON if name in environ}
    return {**passed_on, "LEAN_PATH": os.pathsep.join(map(str, path)), "LEAN_BACKTRACE": "0", "LAKE": NO_LAKE}
