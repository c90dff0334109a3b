"""Finds the Lean that the section [lean] configures: its command, its environment, its header.

`find` runs lake, elan and lean, which takes from milliseconds to seconds: call it in a thread. It elaborates nothing.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from common.life.waiting import together
from common.settings import POCKET, LeanSettings
from node.lean.process.protections import detect
from node.lean.text.rules import header_problem, switches_checks_off
from node.lean.text.statement import imports
from node.lean.toolchain import lake
from node.lean.toolchain.lake import LakeEnvironment, ask, without_toolchain
from node.lean.toolchain.lean_toolchain import LeanProblem, LeanToolchain

# --- Finds the options with which a Lake project elaborates its files, so that tactics and proofs run with the -------
#
# - `lake setup-file` prints, as JSON, the `leanOptions` (and `moreServerOptions`) of a file's package and library.
# Lean's
#   server runs it for each file that it opens. The key is `options` since 4.22, and `setupOptions` before.
# - `lake setup-file` does not print `moreLeanArgs`. They are read from lakefile.toml; `lake translate-config` makes
# one
#   from a lakefile.lean.
#
# A Lake that is too old for one of these commands is not an error: `notes` lists the options that are unknown.


NO_IMPORTS = '{"imports":[],"isModule":false}'
"""An empty header for `setup-file`, so that Lake does not check or build the imports of the file. (Before 4.22 this
argument was a list of module names, and Lake ignored text that was not a name.)"""

_NAME = re.compile(r"[\w.«»'!?-]+")

_LINTER = re.compile(r"(?:weak\.)?linter\..*")
"""Linters are left out: they do not affect proofs, and take time."""


@dataclass(frozen=True)
class ProjectOptions:
    """The options of a project, as arguments for Lean."""

    arguments: tuple[str, ...] = ()
    """`-DNAME=VALUE`, each option once."""
    notes: tuple[str, ...] = ()
    """Options that are left out or unknown, for the log."""


def project_options(
    lake: Path, project: Path, lake_environment: LakeEnvironment, imports: Sequence[str], environ: Mapping[str, str]
) -> ProjectOptions:
    """The options of one file of the project: the first of `imports` that is in the project, otherwise any module."""
    module, file = own_file(project, lake_environment, imports)
    notes: list[str] = []
    options = _of_setup_file(lake, project, file, environ, notes)
    config = _configuration(lake, project, environ, notes)
    parts = [config, *_libraries(config, module)]
    if options is None:  # a Lake without a working `setup-file`: lakefile.toml has the same options
        options = {}
        for part in parts:
            options |= flat(part.get("leanOptions", {}))
    for part in parts:
        options |= _of_arguments(part.get("moreLeanArgs", []), notes)
    return ProjectOptions(tuple(_arguments(options, notes)), tuple(notes))


def own_file(project: Path, lake_environment: LakeEnvironment, imports: Sequence[str]) -> tuple[str, Path]:
    """A module of the project itself, and its source. Without one: an empty name, and a file that need not exist."""
    for module in (*imports, *_built(project, lake_environment)):
        for folder in lake_environment.sources:
            file = (folder / Path(*module.split("."))).with_suffix(".lean")
            if file.is_file() and _is_own(file, project):
                return module, file
    return "", project / "Proofmesh.lean"


def _built(project: Path, lake_environment: LakeEnvironment) -> Iterable[str]:
    """Compiled modules of the project, of the first two levels."""
    for folder in lake_environment.path:
        if folder.is_relative_to(project) and "packages" not in folder.relative_to(project).parts:
            yield from sorted(each.stem for each in folder.glob("*.olean"))
            yield from sorted(f"{each.parent.name}.{each.stem}" for each in folder.glob("*/*.olean"))


def _is_own(file: Path, project: Path) -> bool:
    """True for a source of the project itself, False for one of a package in the project's .lake folder."""
    return file.is_relative_to(project) and ".lake" not in file.relative_to(project).parts


def _of_setup_file(
    lake: Path, project: Path, file: Path, environ: Mapping[str, str], notes: list[str]
) -> dict[str, Any] | None:
    """The options that `lake setup-file` prints; None if it fails."""
    try:
        # Without --no-build Lake could start a long build, which only the user should start.
        code, output, errors = ask([str(lake), "setup-file", str(file), NO_IMPORTS, "--no-build"], environ, project)
    except LeanProblem as error:
        code, output, errors = 1, "", str(error)
    try:
        answer = json.loads(output.strip().split("\n")[-1]) if code == 0 else None
    except json.JSONDecodeError:
        answer = None
    options = (answer.get("options") or answer.get("setupOptions") or {}) if isinstance(answer, dict) else None
    if not isinstance(options, dict):
        problem = (errors or output).strip()[-200:] or f"code {code}"
        notes.append(f"{project}: `lake setup-file` does not print the project's options: {problem}")
        return None
    return options


def _configuration(lake: Path, project: Path, environ: Mapping[str, str], notes: list[str]) -> dict[str, Any]:
    """The project's configuration in the form of lakefile.toml; empty if it cannot be read."""
    try:
        if (project / "lakefile.lean").is_file():  # if a project has both files, Lake uses this one
            with tempfile.TemporaryDirectory(prefix="proofmesh-lake-") as folder:
                copy = Path(folder) / "lakefile.toml"
                code, output, errors = ask([str(lake), "translate-config", "toml", str(copy)], environ, project)
                if code != 0:
                    raise LeanProblem((errors or output).strip()[-200:] or f"code {code}")
                return tomllib.loads(copy.read_text(encoding="utf-8"))
        return tomllib.loads((project / "lakefile.toml").read_text(encoding="utf-8"))
    except (LeanProblem, OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        notes.append(f"{project}: cannot read moreLeanArgs: {error}")
        return {}


def _libraries(config: Mapping[str, Any], module: str) -> list[dict[str, Any]]:
    """The libraries of a configuration that contain a module, according to their roots."""
    libraries = [each for each in config.get("lean_lib", []) if isinstance(each, dict)]
    roots = [each.get("roots") or [each.get("name", "")] for each in libraries]
    return [
        library
        for library, names in zip(libraries, roots, strict=True)
        if any(module == name or module.startswith(f"{name}.") for name in names)
    ]


def flat(table: Mapping[str, Any], outer: str = "") -> dict[str, Any]:
    """The options of a TOML table by dotted name: TOML reads `pp.unicode.fun = true` as nested tables."""
    options: dict[str, Any] = {}
    for name, value in table.items():
        options |= flat(value, f"{outer}{name}.") if isinstance(value, Mapping) else {f"{outer}{name}": value}
    return options


def _of_arguments(arguments: Sequence[str], notes: list[str]) -> dict[str, Any]:
    """The options among Lean's arguments: `-DNAME=VALUE`, or `-D` followed by `NAME=VALUE`."""
    options: dict[str, Any] = {}
    remaining = iter(arguments)
    for argument in remaining:
        pair = next(remaining, "") if argument == "-D" else argument.removeprefix("-D")
        name, is_option, value = pair.partition("=")
        if is_option and argument.startswith("-D"):
            options[name.strip()] = value.strip()
        else:
            notes.append(f"moreLeanArgs of the project: {argument} is not used, because it is not an option (-D)")
    return options


def _arguments(options: Mapping[str, Any], notes: list[str]) -> Iterable[str]:
    """Arguments for the options, without linters, malformed ones, and those that could switch a check off."""
    for name, value in options.items():
        plain = name.removeprefix("weak.")
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if switches_checks_off(plain):
            notes.append(f"the project's option {plain} is not used, because it could switch a check off")
        elif not _LINTER.fullmatch(name) and _NAME.fullmatch(name) and text.isprintable():
            yield f"-D{name}={text}"


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
    if settings.is_pocket:
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
        name=pinned[0] if (pinned := lake.pinned_toolchain(project)) else str(lean),
        version=version,
        project=str(project),
        reads=(str(prefix), *map(str, lake_environment.sources)),
        notes=options.notes,
    )


def _lake(settings: LeanSettings, project: Path, environ: Mapping[str, str]) -> Path:
    """The `lake` for a project: that of the configured toolchain, otherwise the one on PATH. Raises LeanProblem."""
    # 1. Nothing is configured: the project's own, through elan.
    if not settings.toolchain:
        program = lake.find_lake(environ)
        lake.check_installed(program, project, environ)
        return program
    if settings.toolchain == POCKET:
        raise LeanProblem(
            f"[lean] toolchain = {POCKET!r} with a project: pocket Lean has no `lake`; remove toolchain to use the "
            "project's own, or name folders of modules that pocket Lean has compiled in [lean] modules"
        )
    # 2. A configured toolchain must be the one that the project is pinned to, or its compiled modules do not load.
    pinned = lake.pinned_toolchain(project)
    if (
        pinned
        and lake.is_toolchain_name(settings.toolchain)
        and lake.full_name(settings.toolchain) != lake.full_name(pinned[0])
    ):
        raise LeanProblem(
            f"[lean] toolchain = {settings.toolchain!r}: the project {project} is pinned to {pinned[0]} ({pinned[1]}); "
            "remove toolchain to use the project's own"
        )
    # 3. The `lake` beside that toolchain's `lean`.
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
    pinned = lake.pinned_toolchain(project)
    if pinned and lake.release(pinned[0]) and lake.release(pinned[0]) != version:
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
    return replace(pocket, environment=environment, default_header=header, name="pocket Lean")


def _lean(toolchain: str, environ: Mapping[str, str]) -> tuple[Path, str]:
    """The `lean` of a toolchain, and the toolchain's name. Raises LeanProblem."""
    # 1. A path: of a `lean`, or of an installation.
    place = Path(toolchain).expanduser()
    if place.is_absolute() or toolchain.startswith(".") or place.exists():
        lean = place if place.is_file() else place / "bin" / "lean"
        if not lean.is_file():
            raise LeanProblem(
                f"[lean] toolchain = {toolchain!r}: there is no {lean}; use the folder of a Lean installation, "
                f"a toolchain's name in elan (leanprover/lean4:v4.20.0), or {POCKET}"
            )
        return lean.absolute(), str(lean.absolute())
    # 2. A name in elan: an installed toolchain, or a channel such as `stable`.
    if not lake.is_toolchain_name(toolchain):
        raise LeanProblem(
            f"[lean] toolchain = {toolchain!r} is neither a folder nor a toolchain's name; use the folder of a Lean "
            f"installation, a toolchain's name in elan (leanprover/lean4:v4.20.0), or {POCKET}"
        )
    folder = lake.toolchain_folder(toolchain, environ)
    if folder is not None:
        return folder / "bin" / "lean", toolchain
    if lake.is_channel(toolchain):
        return _of_channel(toolchain, environ), toolchain
    # 3. A program on PATH, for installations without elan.
    program = shutil.which(toolchain, path=environ.get("PATH"))
    if program is None:
        raise LeanProblem(
            f"[lean] toolchain = {toolchain!r} is not installed in {lake.elan_home(environ) / 'toolchains'}; run "
            f"`elan toolchain install {toolchain}`, or without elan, {lake.INSTALL}"
        )
    return Path(program), program


def _of_channel(channel: str, environ: Mapping[str, str]) -> Path:
    """The `lean` of a channel's latest release, which elan looks up and downloads. Raises LeanProblem."""
    places = os.pathsep.join([environ.get("PATH", os.defpath), str(lake.elan_home(environ) / "bin")])
    program = shutil.which("elan", path=places)
    if program is None:
        raise LeanProblem(
            f"[lean] toolchain = {channel!r} needs elan, which is not on PATH or in {lake.elan_home(environ) / 'bin'}; "
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
    command = str(real if real.is_file() else lean)
    code, output, errors = ask([command, "--version"], environ)
    match = _VERSION.search(output)
    if code != 0 or match is None:
        raise LeanProblem(
            f"{command} is not Lean: `--version` prints {(output or errors).strip()[-200:]!r}; check [lean] toolchain"
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
