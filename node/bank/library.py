"""Compares the Lean of a bank's manifest, under which its statements elaborate, with the configured Lean."""

from __future__ import annotations

from node.bank.manifest import SourceRecord
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.toolchain.library import library

SHOWN = 12
"""Number of characters of a commit in messages."""


def difference(record: SourceRecord, toolchain: LeanToolchain) -> str:
    """The difference between this Lean and the Lean under which a source's statements were tried. Empty if there is
    none, or if the statements were not tried."""
    if not record.lean:
        return ""
    if record.lean != toolchain.version:
        return f"its statements were tried under Lean {record.lean}, and this is Lean {toolchain.version}"
    here = library(toolchain.project)
    for name in sorted(record.library.keys() | here.keys()):
        there, now = record.library.get(name, ""), here.get(name, "")
        if there != now:
            return f"{name} was {_shown(there)} when its statements were tried, and is {_shown(now)} now"
    return ""


def _shown(commit: str) -> str:
    return f"at {commit[:SHOWN]}" if commit else "absent"
