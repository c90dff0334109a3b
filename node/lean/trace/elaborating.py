"""Runs Lean on one unchanged file, and reads the info trees that it prints."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from node.lean.process.child import ConfinedChild
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.trace.infotree import Info, parse
from node.lean.trace.theorems import FileMessage

_TRACE = "[Elab.info]"

OUTPUT_SECONDS = 0.2
"""Interval for checking the size of a process's output."""

SHOW_ALL = "-Dtrace.Elab.info=true"
"""The option that makes Lean print the info tree of every command."""

ERROR_CHARACTERS = 400
"""Most characters of Lean's standard error in the message of a failure."""


class TraceFailed(RuntimeError):
    """Lean could not process the file. The message says why."""


@dataclass(frozen=True)
class TraceLimits:
    """Limits for Lean on one file."""

    seconds: float = 600.0
    output_mb: int = 2048
    """Limit of the output. Info trees are large: about 7 KB for a line of tactics."""
    memory_mb: int = 8192
    """Limit of Lean's private memory. Compiled modules do not count (Mathlib's are 2 to 6 GB)."""


@dataclass
class ElaboratedFile:
    """Lean's info trees and messages on a file."""

    trees: list[Info] = field(default_factory=list)
    messages: list[FileMessage] = field(default_factory=list)


async def elaborate(
    text: str, toolchain: LeanToolchain, folder: Path, limits: TraceLimits, options: tuple[str, ...] = ()
) -> ElaboratedFile:
    """Elaborate a file's text in a fresh process, in its project's folder. Raises TraceFailed."""
    with tempfile.TemporaryDirectory(prefix="proofmesh-trace-") as scratch:
        path, output, errors = (Path(scratch) / name for name in ("Traced.lean", "output", "errors"))
        path.write_text(text, encoding="utf-8")
        code = await _run(path, output, errors, toolchain, folder, limits, options)
        elaborated = ElaboratedFile()
        for row in _rows(output):
            _take(elaborated, row)
        if code not in (0, 1) or (
            code == 1 and not any(message.severity == "error" for message in elaborated.messages)
        ):
            problem = errors.read_text(encoding="utf-8", errors="replace").strip()[-ERROR_CHARACTERS:]
            raise TraceFailed(f"Lean ended with code {code}{': ' + problem if problem else ''}")
        return elaborated


async def _run(
    path: Path,
    output: Path,
    errors: Path,
    toolchain: LeanToolchain,
    folder: Path,
    limits: TraceLimits,
    options: tuple[str, ...],
) -> int:
    """Run Lean and return its exit code. Raises TraceFailed."""
    arguments = ["--json", "-Dlinter.all=false", "-DmaxErrors=1000000", *options, str(path)]
    with output.open("wb") as out, errors.open("wb") as err:
        child = await ConfinedChild.start(
            [*toolchain.command, *arguments],
            environment=toolchain.environment,
            keeper=toolchain.keeper((), [path]),
            folder=folder,
            memory_mb=limits.memory_mb,
            stdout=out,
            stderr=err,
        )
        try:
            async with child.guard, asyncio.timeout(limits.seconds):
                code = await _wait(child.process, output, limits.output_mb)
        except TimeoutError:
            raise TraceFailed(f"Lean did not finish within {limits.seconds:g} s") from None
        finally:
            await child.kill()
        if child.guard.exceeded:
            raise TraceFailed(f"Lean took more than {limits.memory_mb} MB of memory")
        return code


async def _wait(process: asyncio.subprocess.Process, output: Path, output_mb: int) -> int:
    """Wait for a process to end. Raises TraceFailed if its output exceeds the limit."""
    ended = asyncio.ensure_future(process.wait())
    try:
        while not (await asyncio.wait({ended}, timeout=OUTPUT_SECONDS))[0]:
            if output.stat().st_size > output_mb << 20:
                raise TraceFailed(f"Lean printed more than {output_mb} MB of info trees")
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
                    raise TraceFailed(f"Lean printed invalid JSON: {error}") from error


def _take(elaborated: ElaboratedFile, row: dict[str, Any]) -> None:
    data = str(row.get("data", ""))
    if data.startswith(_TRACE):
        elaborated.trees += parse(data[len(_TRACE) :])
    else:
        line = (row.get("pos") or {}).get("line", 0)
        elaborated.messages.append(FileMessage(str(row.get("severity", "")), data, int(line)))
