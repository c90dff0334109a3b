"""Which Lean to run: a command, its environment, and the header that stands before every theorem."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from node.lean.process.protections import Protections, detect
from node.lean.text.headers import completed


@dataclass(frozen=True)
class LeanToolchain:
    """A Lean executable and all that it needs, taken over from no other process."""

    command: tuple[str, ...]
    """Command line of `lean`, with the options of a project; its own arguments are appended, and win."""
    environment: Mapping[str, str] = field(default_factory=dict)
    default_header: str = ""
    """Stands before every theorem, unless that imports by itself."""
    name: str = ""
    """What it is called: pocket Lean, elan's name of it, or where it is."""
    version: str = ""
    project: str = ""
    """The Lake project whose modules it finds; empty without one."""
    notes: tuple[str, ...] = ()
    """What of the project could not be taken over: for the log."""
    kernel: tuple[str, ...] = ()
    """Command line of its kernel by itself (`pocket/kernel.py`), which checks compiled modules; empty without one."""
    protections: Protections = field(default_factory=Protections)
    """What its processes are confined by; nothing unless `confined` was asked for."""

    @classmethod
    def pocket(cls) -> LeanToolchain:
        """The embedded default. Builds its library on first use. Raises PocketBuildError."""
        from node.lean.toolchain.pocket import toolchain

        return cls(tuple(toolchain.command()), toolchain.environment(), kernel=tuple(toolchain.kernel_command()))

    async def confined(self) -> LeanToolchain:
        """The same, with every protection that this system allows. Takes up to 0.5 s to find these out."""
        return replace(self, protections=await detect(self.command, self.environment))

    def with_modules(self, folders: Sequence[Path]) -> dict[str, str]:
        """The environment, with folders of modules behind its own library: none can stand in for a module of that."""
        library = self.environment.get("LEAN_PATH", "")
        path = os.pathsep.join([*([library] if library else []), *map(str, folders)])
        return {**self.environment, "LEAN_PATH": path} if path else dict(self.environment)

    def compiled(self, module: str) -> Path | None:
        """The .olean file that Lean finds for a module; None where it finds none."""
        for folder in self.environment.get("LEAN_PATH", "").split(os.pathsep):
            file = Path(folder).joinpath(*module.split(".")).with_suffix(".olean")
            if folder and file.is_file():
                return file
        return None

    def header(self, header: str) -> str:
        """What stands before a theorem with this header of its own."""
        return completed(header, self.default_header)

    def facts(self) -> dict[str, str]:
        """What is served: for logs, `/healthz` and `proofmesh status`."""
        facts = {"Lean": f"{self.version} ({self.name})", "project": self.project or "none"}
        if options := [each.removeprefix("-D") for each in self.command if each.startswith("-D")]:
            facts["options"] = " ".join(options)
        return facts | {"header": "; ".join(self.default_header.split("\n")) or "none"}
