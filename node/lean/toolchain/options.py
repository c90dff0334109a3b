"""With which options a Lake project elaborates its files: what is tried and verified for it gets the same.

- `lake setup-file` is what Lean's server asks about every file that is opened: it prints, as JSON, the `leanOptions`
  (and `moreServerOptions`) of the file's package and library. Since 4.22 under `options`, before under `setupOptions`.
- `moreLeanArgs` it leaves out: they stand in lakefile.toml, as which `lake translate-config` writes a lakefile.lean.

A Lake that is too old for one of these is no error: `notes` says what could not be found out.
"""

from __future__ import annotations

import json
import re
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from node.lean.text.rules import switches_checks_off
from node.lean.toolchain.asking import ask
from node.lean.toolchain.lake import LakeEnvironment
from node.lean.toolchain.problems import LeanProblem

NO_IMPORTS = '{"imports":[],"isModule":false}'
"""A header for `setup-file`: with the file's own, Lake would first see to all that it imports. (Before 4.22 these were
names of modules, and one that is none was ignored.)"""

_NAME = re.compile(r"[\w.«»'!?-]+")

_LINTER = re.compile(r"(?:weak\.)?linter\..*")
"""Linters say nothing about proofs, and take time."""


@dataclass(frozen=True)
class ProjectOptions:
    """What Lean is to be started with."""

    arguments: tuple[str, ...] = ()
    """`-DNAME=VALUE`, each option once."""
    notes: tuple[str, ...] = ()
    """What was left out or is not known: for the log."""


def project_options(
    lake: Path, project: Path, lake_environment: LakeEnvironment, imports: Sequence[str], environ: Mapping[str, str]
) -> ProjectOptions:
    """Ask Lake about a file of the project: that of the first of `imports` which is the project's own, or any."""
    module, file = own_file(project, lake_environment, imports)
    notes: list[str] = []
    options = _asked(lake, project, file, environ, notes)
    config = _configuration(lake, project, environ, notes)
    parts = [config, *_libraries(config, module)]
    if options is None:
        options = {}
        for part in parts:
            options |= flat(part.get("leanOptions", {}))
    for part in parts:
        options |= _of_arguments(part.get("moreLeanArgs", []), notes)
    return ProjectOptions(tuple(_kept(options, notes)), tuple(notes))


def own_file(project: Path, lake_environment: LakeEnvironment, imports: Sequence[str]) -> tuple[str, Path]:
    """A module of the project itself, and its source; a file that is not there when it has none."""
    for module in (*imports, *_built(project, lake_environment)):
        for folder in lake_environment.sources:
            file = (folder / Path(*module.split("."))).with_suffix(".lean")
            if file.is_file() and _is_own(file, project):
                return module, file
    return "", project / "Proofmesh.lean"


def _built(project: Path, lake_environment: LakeEnvironment) -> Iterable[str]:
    """Modules at the top of the project's own compiled ones."""
    for folder in lake_environment.path:
        if folder.is_relative_to(project) and "packages" not in folder.relative_to(project).parts:
            yield from sorted(each.stem for each in folder.glob("*.olean"))
            yield from sorted(f"{each.parent.name}.{each.stem}" for each in folder.glob("*/*.olean"))


def _is_own(file: Path, project: Path) -> bool:
    """Whether a source is the project's, and not of a package that lies in its folder."""
    return file.is_relative_to(project) and ".lake" not in file.relative_to(project).parts


def _asked(
    lake: Path, project: Path, file: Path, environ: Mapping[str, str], notes: list[str]
) -> dict[str, Any] | None:
    """What `lake setup-file` says; none when it cannot."""
    try:
        # It must build nothing: that is for the user to start.
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
        notes.append(f"`lake setup-file` does not say with which options {project} is elaborated: {problem}")
        return None
    return options


def _configuration(lake: Path, project: Path, environ: Mapping[str, str], notes: list[str]) -> dict[str, Any]:
    """The project's configuration as lakefile.toml has it; empty when it is not to be had."""
    try:
        if (project / "lakefile.lean").is_file():  # Lake takes it where there are both
            with tempfile.TemporaryDirectory(prefix="proofmesh-lake-") as folder:
                copy = Path(folder) / "lakefile.toml"
                code, output, errors = ask([str(lake), "translate-config", "toml", str(copy)], environ, project)
                if code != 0:
                    raise LeanProblem((errors or output).strip()[-200:] or f"code {code}")
                return tomllib.loads(copy.read_text(encoding="utf-8"))
        return tomllib.loads((project / "lakefile.toml").read_text(encoding="utf-8"))
    except (LeanProblem, OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        notes.append(f"moreLeanArgs of {project} are not known: {error}")
        return {}


def _libraries(config: Mapping[str, Any], module: str) -> list[dict[str, Any]]:
    """The libraries of a configuration that a module belongs to, by their roots."""
    libraries = [each for each in config.get("lean_lib", []) if isinstance(each, dict)]
    roots = [each.get("roots") or [each.get("name", "")] for each in libraries]
    return [
        library
        for library, names in zip(libraries, roots, strict=True)
        if any(module == name or module.startswith(f"{name}.") for name in names)
    ]


def flat(table: Mapping[str, Any], outer: str = "") -> dict[str, Any]:
    """Options of a TOML table by their dotted names: `pp.unicode.fun = true` is a table in a table."""
    options: dict[str, Any] = {}
    for name, value in table.items():
        options |= flat(value, f"{outer}{name}.") if isinstance(value, Mapping) else {f"{outer}{name}": value}
    return options


def _of_arguments(arguments: Sequence[str], notes: list[str]) -> dict[str, Any]:
    """The options among Lean's arguments: `-DNAME=VALUE`, or `-D` and that behind it."""
    options: dict[str, Any] = {}
    rest = iter(arguments)
    for argument in rest:
        pair = next(rest, "") if argument == "-D" else argument.removeprefix("-D")
        name, is_option, value = pair.partition("=")
        if is_option and argument.startswith("-D"):
            options[name.strip()] = value.strip()
        else:
            notes.append(f"of the project's moreLeanArgs, {argument} is not taken over: only options (-D) are")
    return options


def _kept(options: Mapping[str, Any], notes: list[str]) -> Iterable[str]:
    """Arguments for options that may count."""
    for name, value in options.items():
        plain = name.removeprefix("weak.")
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if switches_checks_off(plain):
            notes.append(f"the project's option {plain} is not taken over: it could switch a check off")
        elif not _LINTER.fullmatch(name) and _NAME.fullmatch(name) and text.isprintable():
            yield f"-D{name}={text}"
