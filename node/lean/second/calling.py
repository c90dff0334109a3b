"""Has the second kernel check theorems of compiled modules, in a process with limits. For other folders."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from node.lean.olean.region import BadOlean
from node.lean.process.fresh import Limits, OutOfLimits, run_fresh
from node.lean.second.export import Library
from node.lean.second.logic import LEAN_AXIOMS

MEMORY_MB = 4096

_ROOT = Path(__file__).parents[3]
_SPARE_SECONDS = 15.0
"""For the start of the process, and for reading the file."""


@dataclass(frozen=True)
class SecondOpinion:
    """What the second kernel found out. Constants of trusted modules are in none of the lists."""

    checked: frozenset[str] = frozenset()
    refused: Mapping[str, str] = field(default_factory=dict)
    """The reason by name: these break a rule of the type theory."""
    not_checked: Mapping[str, str] = field(default_factory=dict)
    """The reason by name: these may be right or wrong."""
    axioms: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The axioms that each checked constant uses, directly or not."""
    seconds: float = 0.0

    def proves(self, name: str) -> bool:
        """True if a constant was checked, and uses no axioms but Lean's own three."""
        return name in self.checked and name in self.axioms and LEAN_AXIOMS.issuperset(self.axioms[name])


async def check_with_second_kernel(
    modules: Sequence[Path],
    trusted: int,
    names: Sequence[str],
    seconds: float = 60.0,
    *,
    memory_mb: int = MEMORY_MB,
    keeper: Sequence[str] = (),
) -> SecondOpinion:
    """Check constants and all that they use.

    `modules`: compiled modules, library first. The constants of the first `trusted` modules are taken as well typed.
    `keeper`: command line that confines the process, from `Protections.keeper`. Never raises for what a module holds:
    a constant that could not be looked at is in `not_checked`.
    """
    # 1. Nothing to do without names.
    names = list(dict.fromkeys(names))
    if not names:
        return SecondOpinion()
    # 2. Export, and check in a process of its own.
    with tempfile.TemporaryDirectory(prefix="proofmesh-second-") as folder:
        file = Path(folder) / "export.ndjson"
        try:
            count = await asyncio.to_thread(_write, modules, file, trusted, names)
            limits = Limits(seconds=seconds + _SPARE_SECONDS, memory_mb=memory_mb)
            options = ["--json", "--seconds", str(seconds), "--trust-library", str(count)]
            finished = await run_fresh(
                [sys.executable, "-s", "-P", "-m", "node.lean.second", str(file), *options],
                environment={"PYTHONPATH": str(_ROOT), "PYTHONUTF8": "1"},
                folder=Path(folder),
                limits=limits,
                keeper=keeper,
            )
        except (BadOlean, OSError, OutOfLimits) as error:
            return _nothing(names, str(error))
    # 3. The answer.
    if finished.code not in (0, 1):
        return _nothing(names, f"the second kernel ended with code {finished.code}: {_end(finished.errors)}")
    return _opinion(finished.output, names)


def _write(modules: Sequence[Path], file: Path, trusted: int, names: Sequence[str]) -> int:
    """Write the export; the number of trusted declarations. Raises BadOlean and OSError."""
    library = reading(modules[:trusted])
    with file.open("w", encoding="utf-8", newline="\n") as out:
        return library.export(modules[trusted:], out, names).trusted


_libraries: dict[tuple[tuple[Path, int], ...], Library] = {}
"""The library that was used last. Reading one takes seconds."""

_libraries_lock = threading.Lock()


def reading(paths: Sequence[Path]) -> Library:
    """A library, read when it is new or its files have changed. Raises BadOlean and OSError."""
    key = tuple((path, path.stat().st_mtime_ns) for path in paths)
    with _libraries_lock:
        library = _libraries.get(key)
        if library is None or library.large:
            # Somebody may still use the other one: it is closed when nobody refers to it any more.
            _libraries.clear()
            library = _libraries[key] = Library(paths)
        return library


def _opinion(output: str, names: Sequence[str]) -> SecondOpinion:
    try:
        said = json.loads(output)
        return SecondOpinion(
            frozenset(said["checked"]), said["refused"], said["not_checked"], said["axioms"], said["seconds"]
        )
    except (ValueError, KeyError, TypeError) as error:
        return _nothing(names, f"the second kernel's answer cannot be read: {error}")


def _nothing(names: Sequence[str], reason: str) -> SecondOpinion:
    return SecondOpinion(not_checked=dict.fromkeys(names, reason))


def _end(errors: str) -> str:
    return errors.strip()[-200:] or "no message"
