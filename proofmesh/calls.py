"""What the calls of a session do: the commands `prove`, `verify`, `fill` and `trace` with results in place of output.

Keyword arguments become the settings of the command of the same name, with the names, types, defaults and limits of its
flags.
"""

from __future__ import annotations

import asyncio
import dataclasses
import difflib
import os
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from common.config import ConfigError, convert, load, load_lean, table_of
from common.output.command import UserError
from node.command.projects import lean_for
from node.command.proofs.prove import ProveSettings, budget_of, check, opened_prover, proving_of, with_first
from node.proving import answers
from node.proving.answers import Answer, prove_rows, rows_of
from node.proving.prover import TheoremProver
from node.proving.rows import Row
from node.proving.settings import ProvingSettings
from node.proving.statements import read_file, read_target
from proofmesh.engine import Engine
from proofmesh.results import FilledFile, FilledGap, Fills, Traces, Verification

if TYPE_CHECKING:
    from node.lean.gaps.gap import Gap
    from node.lean.trace.records import TracedFile
    from node.lean.trace.session import Work
    from node.proving.fill import FilledFile as DoneFile, GapResult


# --- keyword arguments and settings -----------------------------------------------------------------------------------


T = TypeVar("T")


def settings_of(default: T, given: Mapping[str, Any], where: str) -> T:
    """The default settings, updated with the given ones.

    A section of the settings (`lean`, `proving`) can be given as an object, as a mapping, or by the names of its fields
    if these are flags without a prefix. `where` names the call in messages. Raises ConfigError.
    """
    # 1. The names that may be given: those of settings, and those of the fields of their sections.
    kind = cast(Any, type(default))
    names = {field.name: field.name for field in dataclasses.fields(kind)}
    parts = [name for name in names if name not in PREFIXED and dataclasses.is_dataclass(getattr(default, name))]
    inner = {field.name: part for part in parts for field in dataclasses.fields(getattr(default, part))}
    # 2. What is given goes over the defaults; a mapping changes only its own keys.
    table: dict[str, Any] = _table(default)
    for key, value in given.items():
        if key in names:
            old = table.get(key)
            new = _plain(value)
            table[key] = old | new if isinstance(old, dict) and isinstance(new, dict) else new
        elif key in inner:
            table[inner[key]][key] = _plain(value)
        else:
            close = difflib.get_close_matches(key, [*names, *inner], 1)
            hint = f"; did you mean `{close[0]}`?" if close else f"; there are {', '.join([*names, *inner])}"
            raise ConfigError(f"{where}: no setting `{key}`{hint}")
    # 3. Values are checked as those of a configuration file are.
    return cast(T, convert(kind, table, f"{where}:"))


PREFIXED = ("lean",)
"""Sections whose flags have the section's name as prefix: `--lean.project`."""


def _table(settings: Any) -> dict[str, Any]:
    """The settings as builtins, including None values, which `table_of` leaves out."""
    table: dict[str, Any] = msgspec.to_builtins(settings, enc_hook=str)
    return table


def _plain(value: Any) -> Any:
    """A value in the form that a configuration file has."""
    if isinstance(value, os.PathLike):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return table_of(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value


def path_list(paths: str | os.PathLike[str] | tuple[Any, ...] | list[Any]) -> list[str]:
    """One or several paths as texts."""
    several = paths if isinstance(paths, (list, tuple)) else [paths]
    return [str(path) if isinstance(path, Path) else os.fspath(path) for path in several]


# --- prove ------------------------------------------------------------------------------------------------------------


async def prove(
    engine: Engine, given: Mapping[str, Any], target: tuple[str, ...], note: Callable[[str], None]
) -> Answer:
    """The answer to one target. Raises errors that `proofmesh.errors.public_errors` converts."""
    settings = _settings({**given, "target": target}, "prove")
    parsed = await asyncio.to_thread(read_target, settings.target, settings.context)
    if settings.disprove and not parsed.negations:
        raise UserError(f"{parsed.where}: the goal of a `sorry` within a proof has no negation; leave out disprove")
    if settings.explain is not None:
        return await _explained(settings, parsed, note)
    prover, _ = await _prover(engine, settings, parsed.file)
    return await answers.answer(prover, parsed, budget_of(settings), disprove=settings.disprove)


async def prove_many(
    engine: Engine, given: Mapping[str, Any], statements: Iterable[str | Mapping[str, str]] | str | PathLike[str]
) -> AsyncGenerator[Answer]:
    """The answer to each statement, as it comes. Raises errors that `proofmesh.errors.public_errors` converts."""
    named = isinstance(statements, (str, PathLike))
    settings = _settings({**given, "from_": str(statements) if named else "given"}, "prove_many")
    above = read_file(settings.context) if settings.context else None
    rows = rows_of(settings.from_) if isinstance(statements, (str, PathLike)) else _rows(statements)
    first = await anext(rows, None)  # read before Lean starts, to report a bad file at once
    if first is None:
        return
    prover, at_once = await _prover(engine, settings, settings.context)
    # Closed also when the caller stops reading: searches that still run end with it.
    proved = prove_rows(
        prover,
        with_first(first, rows),
        budget_of(settings),
        at_once=settings.jobs or at_once,
        disprove=settings.disprove,
        above=above,
    )
    async with aclosing(proved):
        async for each in proved:
            yield each


def _settings(given: Mapping[str, Any], where: str) -> ProveSettings:
    """The settings of the command `prove`. Raises ConfigError, UserError, BadPolicy."""
    file = Path(given["config"]) if given.get("config") else None
    default = ProveSettings(target=(), proving=load(ProvingSettings, file, "prove"), lean=load_lean(file), config=file)
    settings = settings_of(default, given, where)
    check(settings)
    return settings


async def _prover(engine: Engine, settings: ProveSettings, file: Path | None) -> tuple[TheoremProver, int]:
    if settings.url:
        return await engine.mesh_prover(settings.url, settings.run, proving_of(settings))
    return await engine.prover(lean_for(settings.lean, [file] if file else []), proving_of(settings))


async def _explained(settings: ProveSettings, target: Any, note: Callable[[str], None]) -> Answer:
    """The answer, with the search recorded in a file. It needs a separate prover, which records every step."""
    from node.proving.explain import SearchRecorder

    assert settings.explain is not None
    recorder = SearchRecorder()
    async with opened_prover(settings, target.file, note, recorder) as (prover, _):
        answer = await answers.answer(prover, target, budget_of(settings), disprove=settings.disprove)
    try:
        recorder.write(settings.explain, answer)
    except OSError as error:
        raise UserError(f"explain: {settings.explain}: cannot be written: {error.strerror}") from error
    return answer


async def _rows(statements: Iterable[str | Mapping[str, str]]) -> AsyncGenerator[Row]:
    for number, each in enumerate(statements, 1):
        if isinstance(each, str):
            yield Row("", each)
        elif isinstance(each.get("statement"), str):
            yield Row(str(each.get("name") or ""), each["statement"])
        else:
            yield Row(f"row {number}", problem=f"row {number}: no `statement`; add it as a text")


# --- verify -----------------------------------------------------------------------------------------------------------


TEXT = "text"
"""Name of a text without a file in verdicts."""


async def verify(engine: Engine, given: Mapping[str, Any], paths: tuple[Any, ...], text: str) -> Verification:
    """The verdicts on files, or on a text. Raises errors that `proofmesh.errors.public_errors` converts."""
    from node.command.proofs.verdicts import Verdicts, reference_of, toolchain_of, verify_all
    from node.command.proofs.verify import VerifySettings
    from node.lean.check.files.sources import collect, from_text

    if bool(paths) == bool(text):
        raise ConfigError("verify: name files and folders, or give `text`, not both")
    # 1. Settings, like those of the command.
    file = Path(given["config"]) if given.get("config") else None
    default = VerifySettings(paths=(), lean=load_lean(file), config=file)
    settings = settings_of(default, {**given, "paths": path_list(paths)}, "verify")
    # 2. Lean. Finding it starts processes, so that it happens beside the event loop.
    toolchain = await asyncio.to_thread(toolchain_of, settings)
    if settings.sandbox:
        toolchain = await toolchain.confined()
    reference = await asyncio.to_thread(reference_of, settings.against)
    at_once = settings.jobs or len(os.sched_getaffinity(0))
    # 3. The verdicts. The session keeps the verifier for the next call.
    verifier = await engine.verifier(toolchain, at_once, settings.seconds, settings.memory_mb)
    project = Path(toolchain.project) if toolchain.project else None
    groups = [[from_text(text, TEXT)]] if text else collect(settings.paths, project)
    verdicts = Verdicts(strict=settings.strict)
    shown = ", ".join(map(str, settings.paths))
    await verify_all(verifier, groups, reference, verdicts, everything=settings.all, shown=shown)
    return Verification(tuple(verdicts.rows), tuple(verdicts.notes))


# --- fill -------------------------------------------------------------------------------------------------------------


async def fill(engine: Engine, given: Mapping[str, Any], paths: tuple[Any, ...], note: Callable[[str], None]) -> Fills:
    """Fills gaps and returns their results. Raises errors that `proofmesh.errors.public_errors` converts."""
    from node.command.proofs.fill import FillSettings, work_of
    from node.lean.toolchain.find import find
    from node.proving.fill_run import FillRun

    if not paths:
        raise ConfigError("fill: no paths; name files or folders")
    # 1. Settings, like those of the command.
    file = Path(given["config"]) if given.get("config") else None
    default = FillSettings(paths=(), proving=load(ProvingSettings, file, "prove"), lean=load_lean(file), config=file)
    settings = settings_of(default, {**given, "paths": path_list(paths)}, "fill")
    lean = lean_for(settings.lean, settings.paths)
    work = replace(work_of(settings), lean=lean)
    # 2. The session's workers are shared unless the call asks for its own, or for those of a mesh.
    toolchain = await engine.toolchain(lean) if settings.sandbox else await asyncio.to_thread(find, lean)
    collector = _Collector(note)
    async with AsyncExitStack() as stack:
        shared = None if settings.url or settings.jobs else lambda each: engine.borrowed(lean, settings.proving, each)
        await FillRun(work, toolchain, collector, asyncio.Event(), stack, prover=shared).all()
    # 3. A name that matches nothing is a mistake, not an empty result.
    if settings.only and not any(each.gaps for each in collector.files):
        raise ConfigError(f"fill: only={settings.only!r} matches no `sorry` in {', '.join(map(str, settings.paths))}")
    return Fills(tuple(collector.files), tuple(collector.notes))


@dataclass
class _Collector:
    """A `FillListener` that collects results and notes."""

    say: Callable[[str], None]
    files: list[FilledFile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        self.notes.append(text)
        self.say(text)

    def nothing(self, shown: str) -> None:
        self.files.append(FilledFile(shown))

    def unreadable(self, shown: str, problem: str) -> None:
        self.files.append(FilledFile(shown, problem=problem))

    def opened(self, shown: str, gaps: int) -> None:
        self.say(f"{shown}: {gaps} gap{'s' * (gaps != 1)}")

    def began(self, gap: Gap) -> None:
        """Ignored."""

    def ended(self, result: GapResult) -> None:
        self.say(f"line {result.gap.line}: {result.gap.name}: {result.state}")

    def verifying(self, proofs: int) -> None:
        """Ignored."""

    def add(self, shown: str, done: DoneFile, diff: str, written: bool, problem: str, seconds: float) -> None:
        gaps = tuple(_gap(shown, each) for each in done.results)
        self.files.append(FilledFile(shown, gaps, diff, written, problem))


def _gap(shown: str, result: GapResult) -> FilledGap:
    gap = result.gap
    return FilledGap(
        shown,
        gap.line,
        gap.column,
        gap.name,
        gap.goal,
        str(result.state),
        "\n".join(result.script),
        result.reason,
        result.by,
        result.axioms,
        round(result.seconds, 3),
    )


# --- trace ------------------------------------------------------------------------------------------------------------


def trace(given: Mapping[str, Any], paths: tuple[Any, ...], *, processes: bool) -> Traces:
    """Traces files. Raises errors that `proofmesh.errors.public_errors` converts."""
    from node.command.trace import TraceSettings, formats_of, jobs_of, warnings_of, works_of
    from node.lean.trace.formats import write
    from node.lean.trace.session import run_all

    if not paths:
        raise ConfigError("trace: no paths; name files, folders or projects")
    settings = settings_of(TraceSettings(paths=[]), {**given, "paths": path_list(paths)}, "trace")
    works = works_of(settings)
    problems: dict[str, str] = {}

    def record(work: Work, traced: TracedFile, earlier: bool) -> None:
        if traced.error:
            problems[work.name] = traced.error

    run_all(works, jobs_of(settings), record, fresh=settings.fresh, threads=not processes)
    written = tuple(write(works, settings.out, formats_of(settings)))
    return Traces(settings.out, written, problems, tuple(warnings_of(works)), tuple(works))
