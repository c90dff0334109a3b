"""Which Lean to run: a command, its environment, and the header that stands before every theorem."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class LeanToolchain:
    """A Lean executable and all that it needs, taken over from no other process."""

    command: tuple[str, ...]
    """Command line of `lean`; its own arguments are appended."""
    environment: Mapping[str, str] = field(default_factory=dict)
    default_header: str = ""
    """Header of theorems that name none."""

    @classmethod
    def pocket(cls) -> LeanToolchain:
        """The embedded default. Builds its library on first use. Raises PocketBuildError."""
        from node.lean_proxy.pocket import toolchain

        return cls(tuple(toolchain.command()), toolchain.environment())

    @classmethod
    def named(cls, command: str) -> LeanToolchain:
        """`pocket`, or the command of another toolchain's `lean`, which gets this process's environment."""
        if command in ("", "pocket"):
            return cls.pocket()
        return cls(tuple(command.split()), dict(os.environ))

    def header(self, header: str) -> str:
        """The header of a theorem: its own, or the default."""
        return header or self.default_header
