"""A Lean to run: its command, its environment, and the default header of theorems."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from node.lean.process.protections import Protections, detect
from node.lean.text.headers import completed


@dataclass(frozen=True)
class LeanToolchain:
    """A Lean executable with its complete environment: nothing is inherited from the calling process."""

    command: tuple[str, ...]
    """Command line of `lean`, with the options of a project. Arguments that are appended override these options."""
    environment: Mapping[str, str] = field(default_factory=dict)
    default_header: str = ""
    """The header of each theorem whose own header imports nothing."""
    name: str = ""
    """For messages: pocket Lean, the toolchain's name in elan, or the path of `lean`."""
    version: str = ""
    project: str = ""
    """The Lake project whose modules it finds; empty without one."""
    notes: tuple[str, ...] = ()
    """Settings of the project that are not used, for the log."""
    kernel: tuple[str, ...] = ()
    """Command line of the kernel that checks declarations (`pocket/kernel.py`); empty for a full toolchain."""
    protections: Protections = field(default_factory=Protections)
    """How its processes are confined. None of the protections is on before `confined`."""

    @classmethod
    def pocket(cls) -> LeanToolchain:
        """Pocket Lean, the default. Builds its library on first use. Raises PocketBuildError."""
        from node.lean.toolchain.pocket import toolchain

        return cls(tuple(toolchain.command()), toolchain.environment(), kernel=tuple(toolchain.kernel_command()))

    async def confined(self) -> LeanToolchain:
        """The same Lean with every protection that this system allows. Testing them takes up to 0.5 s."""
        return replace(self, protections=await detect(self.command, self.environment))

    def with_modules(self, folders: Sequence[Path]) -> dict[str, str]:
        """The environment with more module folders, after Lean's library so that they cannot replace its modules."""
        library = self.environment.get("LEAN_PATH", "")
        path = os.pathsep.join([*([library] if library else []), *map(str, folders)])
        return {**self.environment, "LEAN_PATH": path} if path else dict(self.environment)

    def compiled(self, module: str) -> Path | None:
        """The .olean file that Lean finds for a module; None if it finds no file."""
        for folder in self.environment.get("LEAN_PATH", "").split(os.pathsep):
            file = Path(folder).joinpath(*module.split(".")).with_suffix(".olean")
            if folder and file.is_file():
                return file
        return None

    def header(self, header: str) -> str:
        """The full header of a theorem whose own header is `header`."""
        return completed(header, self.default_header)

    def facts(self) -> dict[str, str]:
        """This Lean in short, for logs, `/healthz` and `proofmesh status`."""
        facts = {"Lean": f"{self.version} ({self.name})", "project": self.project or "none"}
        if options := [each.removeprefix("-D") for each in self.command if each.startswith("-D")]:
            facts["options"] = " ".join(options)
        return facts | {"header": "; ".join(self.default_header.split("\n")) or "none"}
