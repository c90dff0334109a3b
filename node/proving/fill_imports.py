"""Compiles the user's files that a file imports into a temporary folder, so that Lean finds them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from node.lean.check.files.compiling import Compiler
from node.lean.check.files.sources import SourceFile, in_order
from node.lean.gaps.holes.gaps import first_line_of
from node.lean.process.fresh import Limits
from node.lean.text.headers import imports
from node.lean.toolchain.lean_toolchain import LeanToolchain

STALE = "its build is older than its source: run `lake build`"


async def with_imports(
    group: Sequence[SourceFile], toolchain: LeanToolchain, folder: Path, limits: Limits
) -> tuple[LeanToolchain, dict[str, str]]:
    """A toolchain that finds the imports among the files of a group, and the problems of modules that cannot be
    imported.

    Modules that Lake has built are used, unless their source is newer.
    """
    local = {source.module: source for source in group}
    needed = _needed(group, local)
    problems: dict[str, str] = {}
    modules = folder / "modules"
    compiled = False
    for source, circle in in_order(group):
        if source.module not in needed:
            continue
        built = toolchain.compiled(source.module)
        broken = next((f"it imports {name}: {problems[name]}" for name in source.imports if name in problems), "")
        problem = source.problem or circle or broken
        if not problem and built is not None:
            fresh = source.path is None or source.path.stat().st_mtime <= built.stat().st_mtime
            problem = "" if fresh else STALE
        elif not problem:
            problem = await _compile(source, toolchain, folder, modules, limits)
            compiled = True
        if problem:
            problems[source.module] = problem
    if compiled:
        toolchain = replace(toolchain, environment=toolchain.with_modules([modules]))
    return toolchain, problems


def _needed(group: Sequence[SourceFile], local: Mapping[str, SourceFile]) -> set[str]:
    """The modules of a group that its requested files import, directly or indirectly."""
    waiting = [name for source in group if source.wanted for name in source.imports if name in local]
    needed: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting += [each for each in local[name].imports if each in local]
    return needed


def imported_texts(source: SourceFile, group: Sequence[SourceFile]) -> list[tuple[str, str]]:
    """The files of a group that this source imports, directly or indirectly: (module, text)."""
    local = {each.module: each for each in group}
    return [(name, local[name].text) for name in sorted(_needed([replace(source, wanted=True)], local))]


async def _compile(source: SourceFile, toolchain: LeanToolchain, folder: Path, modules: Path, limits: Limits) -> str:
    """Compile a file. Returns the problem; empty if there is none."""
    header = "" if imports(source.text) else toolchain.default_header
    text = f"{header}\n{source.text}" if header else source.text
    place = Path(tempfile.mkdtemp(dir=folder))
    try:
        compiled = await Compiler(toolchain, limits).compile(source.module, text, place, [modules], salvage=False)
        if compiled.olean is None:
            error = next((each for each in compiled.messages if each.severity == "error"), None)
            shift = text.count("\n") - source.text.count("\n")
            where = f"line {error.line - shift}: {first_line_of(error.text)}" if error else "Lean did not finish"
            return compiled.problem or f"{source.shown} does not compile: {where}"
        olean = modules.joinpath(*source.module.split(".")).with_suffix(".olean")
        olean.parent.mkdir(parents=True, exist_ok=True)
        compiled.olean.rename(olean)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return ""
