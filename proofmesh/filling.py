"""`fill` in a session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from common.config import ConfigError, load, load_lean
from node.command.projects import lean_for
from node.command.proofs.fill import FillSettings, work_of
from node.lean.gaps.gap import Gap
from node.lean.toolchain.find import find
from node.proving.fill import FilledFile as DoneFile
from node.proving.fill import GapResult
from node.proving.fill_run import FillRun
from node.proving.settings import ProvingSettings
from proofmesh.engine import Engine
from proofmesh.results import FilledFile, FilledGap, Fills
from proofmesh.settings import path_list, settings_of


async def fill(engine: Engine, given: Mapping[str, Any], paths: tuple[Any, ...], note: Callable[[str], None]) -> Fills:
    """Fills gaps and returns their results. Raises errors that `proofmesh.errors.public_errors` converts."""
    if not paths:
        raise ConfigError("fill: no paths; name files or folders")
    file = Path(given["config"]) if given.get("config") else None
    default = FillSettings(paths=(), proving=load(ProvingSettings, file, "prove"), lean=load_lean(file), config=file)
    settings = settings_of(default, {**given, "paths": path_list(paths)}, "fill")
    lean = lean_for(settings.lean, settings.paths)
    work = replace(work_of(settings), lean=lean)
    toolchain = await engine.toolchain(lean) if settings.sandbox else await asyncio.to_thread(find, lean)
    collector = _Collector(note)
    async with AsyncExitStack() as stack:
        shared = None if settings.url or settings.jobs else lambda each: engine.borrowed(lean, settings.proving, each)
        await FillRun(work, toolchain, collector, asyncio.Event(), stack, prover=shared).all()
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
