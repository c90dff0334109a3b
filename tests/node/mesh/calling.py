"""Types of the fixture `calling`."""

from __future__ import annotations

from collections.abc import Callable

Command = Callable[[list[str]], int]
"""The `main` of a command."""

Run = Callable[..., tuple[int, str, str]]
"""Arguments to exit code, output and errors."""
