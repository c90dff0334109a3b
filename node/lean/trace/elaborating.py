"""Runs Lean over one file, as it is, and reads the info trees that it prints."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from common.process import kill_group, spawn_child
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.trace.infotree import Info, parse
from node.lean.trace.theorems import FileMessage
from node.lean.worker.process import resident_mb

_TRACE = "[Elab.info]"

WATCH_SECONDS = 0.2
"""Between two looks at a process's memory and output."""

SHOW_ALL = "-Dtrace.Elab.info=true"
"""The option under which Lean prints the info tree of every command."""

ERROR_CHARACTERS = 400
"""Of what Lean says on standard error, in the message of a failure."""


class TraceFailed(RuntimeError):
    """Lean could not go through the file; the message says why."""


@dataclass(frozen=True)
class TraceLimits:
    """Limits for Lean on one file."""

    seconds: float = 600.0
    output_mb: int = 2048
    """Info trees are large: about 7 KB for a line of tactics."""
    memory_mb: int = 8192
    """Resident memory at which Lean is killed: Mathlib's modules take 2 to 6 GB."""


@dataclass
class ElaboratedFile:
    """What Lean said of a file."""

    trees: list[Info] = field(default_factory=list)
    messages: list[FileMessage] = field(default_factory=list)


async def elaborate(
    text: str, toolchain: LeanToolchain, folder: Path, limits: TraceLimits, options: tuple[str, ...] = ()
) -> ElaboratedFile:
    """Elaborate a file's text in a fresh process, in the folder that its project has. Raises TraceFailed."""
    with tempfile.TemporaryDirectory(prefix="proofmesh-trace-") as scratch:
        path, output, errors = (Path(scratch) / name for name in ("Traced.lean", "output", "errors"))
        path.write_text(text, encoding="utf-8")
        code = await _run(path, output, errors, toolchain, folder, limits, options)
        said = ElaboratedFile()
        for row in _rows(output):
            _take(said, row)
        if code not in (0, 1) or (code == 1 and not any(message.severity == "error" for message in said.messages)):
            told = errors.read_text(encoding="utf-8", errors="replace").strip()[-ERROR_CHARACTERS:]
            raise TraceFailed(f"Lean ended with code {code}{': ' + told if told else ''}")
        return said


async def _run(
    path: Path,
    output: Path,
    errors: Path,
    toolchain: LeanToolchain,
    folder: Path,
    limits: TraceLimits,
    options: tuple[str, ...],
) -> int:
    """Lean's exit code. Raises TraceFailed."""
    arguments = ["--json", "-Dlinter.all=false", "-DmaxErrors=1000000", *options, str(path)]
    with output.open("wb") as out, errors.open("wb") as err:
        process = await spawn_child(
            [*toolchain.command, *arguments],
            env=toolchain.environment,
            cwd=folder,
            keeper=toolchain.protections.keeper(),
            stdout=out,
            stderr=err,
        )
        try:
            async with asyncio.timeout(limits.seconds):
                return await _watched(process, output, limits)
        except TimeoutError:
            raise TraceFailed(f"not done after {limits.seconds:g} s") from None
        finally:
            await kill_group(process, grace=0)


async def _watched(process: asyncio.subprocess.Process, output: Path, limits: TraceLimits) -> int:
    """Wait for the end of a process that stays within its limits. Raises TraceFailed."""
    ended = asyncio.ensure_future(process.wait())
    try:
        while not (await asyncio.wait({ended}, timeout=WATCH_SECONDS))[0]:
            if output.stat().st_size > limits.output_mb << 20:
                raise TraceFailed(f"its info trees take more than {limits.output_mb} MB")
            if resident_mb(process.pid) > limits.memory_mb:
                raise TraceFailed(f"Lean took more than {limits.memory_mb} MB of memory")
        return ended.result()
    finally:
        ended.cancel()


def _rows(output: Path) -> Iterator[dict[str, Any]]:
    with output.open("rb") as lines:
        for line in lines:
            if line.startswith(b"{"):
                try:
                    yield msgspec.json.decode(line)
                except msgspec.DecodeError as error:
                    raise TraceFailed(f"Lean wrote what is no JSON: {error}") from error


def _take(said: ElaboratedFile, row: dict[str, Any]) -> None:
    data = str(row.get("data", ""))
    if data.startswith(_TRACE):
        said.trees += parse(data[len(_TRACE) :])
    else:
        line = (row.get("pos") or {}).get("line", 0)
        said.messages.append(FileMessage(str(row.get("severity", "")), data, int(line)))
