"""Headers, the commands before a theorem: their imports decide what a Lean process has to load. Pure."""

from __future__ import annotations

import re

_IMPORT = re.compile(r"^[ \t]*(?:(?:public|meta|private)\s+)*(?:import\b|prelude\b|module\b).*", re.MULTILINE)


def imports(header: str) -> list[str]:
    """The lines of a header that import modules, or say `prelude` or `module`."""
    return [line.group().strip() for line in _IMPORT.finditer(header)]


def import_lines(header: str) -> int:
    """Number of lines up to the last import, that included; 0 without imports."""
    ends = [line.end() for line in _IMPORT.finditer(header)]
    return header.count("\n", 0, ends[-1]) + 1 if ends else 0


def completed(own: str, configured: str) -> str:
    """A theorem's header with the configured one: before it, unless it imports by itself; alone where it is empty."""
    if not own.strip():
        return configured
    return own if not configured or imports(own) else f"{configured}\n{own}"
