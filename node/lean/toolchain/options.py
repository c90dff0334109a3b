"""Finds the options with which a Lake project elaborates its files, so that tactics and proofs run with the same ones.

- `lake setup-file` prints, as JSON, the `leanOptions` (and `moreServerOptions`) of a file's package and library. Lean's
  server runs it for each file that it opens. The key is `options` since 4.22, and `setupOptions` before.
- `lake setup-file` does not print `moreLeanArgs`. They are read from lakefile.toml; `lake translate-config` makes one
  from a lakefile.lean.

A Lake that is too old for one of these commands is not an error: `notes` lists the options that are unknown.
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
