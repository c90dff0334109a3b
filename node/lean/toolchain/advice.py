"""What to do where Lean cannot import a module: its own messages name no remedy, and a damaged file crashes it."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence
from pathlib import Path

from node.lean.olean.module import PARTS, part
from node.lean.olean.region import BadOlean, Region, UnknownFormat

HEADER_REFUSED = "Lean refuses the header"
"""The beginning of a message about a header. The statement may be fine: the project lacks a module, for example."""

SEARCH_SECONDS = 10.0
"""Most seconds of a search for a damaged module. Those of a whole Mathlib take minutes, so the newest come first."""

_REBUILD = "build the project again with `lake build` (`lake exe cache get` downloads the modules of Mathlib)"

_ADVICE = {
    r"'(Lean|Mathlib|Std|Batteries|Aesop|Lake)'": (
        "pocket Lean has only the core language: set a toolchain or project with --lean.toolchain or --lean.project"
    ),
    r"unknown module prefix|object file .* does not exist|unknown package": (
        "check the module's name, and compile missing modules with `lake build` in the project (`lake exe cache get` "
        "downloads those of Mathlib)"
    ),
    r"failed to open file .*\.olean": f"a file of this compiled module is missing: {_REBUILD}",
    r"failed to read file .*olean.*, invalid header": (
        f"the file is damaged, or another Lean compiled it: {_REBUILD}, and remove [lean] toolchain to use the "
        "project's own Lean"
    ),
    r"incompatible header|failed to read file .*olean|invalid .*olean": (
        "another Lean compiled these modules: remove [lean] toolchain to use the project's own, or build the project "
        "again"
    ),
    r"[Uu]nknown namespace|[Uu]nknown option|[Uu]nknown constant": (
        "correct opens and options in [lean], or import the modules that declare them"
    ),
}
"""Advice for the user, by a pattern of Lean's message."""


def advice(message: str) -> str:
    """What to do about Lean's message on a header; empty if there is nothing to say."""
    return next((text for pattern, text in _ADVICE.items() if re.search(pattern, message)), "")


def with_advice(message: str) -> str:
    """Lean's message on a header, with what to do at the end of its first line."""
    first, line_break, rest = message.partition("\n")
    return f"{first}; {said}{line_break}{rest}" if (said := advice(message)) else message


async def damaged_module(folders: Sequence[str]) -> str:
    """Why Lean crashes while it imports: the newest compiled module in these folders that is not whole. Empty if none
    is found in time."""
    return await asyncio.to_thread(_damaged_module, folders)


def _damaged_module(folders: Sequence[str]) -> str:
    files = [file for folder in dict.fromkeys(folders) for file in Path(folder).rglob("*.olean")]
    deadline = time.monotonic() + SEARCH_SECONDS
    for file in sorted(files, key=lambda each: each.stat().st_mtime, reverse=True):
        if time.monotonic() > deadline:
            break
        parts = [part(file, suffix) for suffix in PARTS]
        try:
            Region(file, *(each for each in parts if each.is_file())).close()
        except UnknownFormat:
            return ""
        except (BadOlean, OSError) as error:
            return f"the compiled module {file} is damaged ({error}): delete it, and {_REBUILD}"
    return ""
