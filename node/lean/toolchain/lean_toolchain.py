"""A Lean to run: its command, its environment, and the default header of theorems."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from common.output.command import UserError
from common.protocol.messages import LeanProxyFacts
from node.lean.olean.region import BadOlean, compiled_by
from node.lean.process.protections import Protections, detect, program_files, that_lean_starts_with
from node.lean.text.statement import completed

# --- The error for a Lean that cannot be used ------------------------------------------------------------------------


class LeanProblem(UserError):
    """Lean cannot be used as configured; the text says what is wrong and what to do. Programs end with code 2."""


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
    reads: tuple[str, ...] = ()
    """Files and folders that its processes read, besides its program, the project, and the folders of the search paths
    in its environment: the installation, and the sources of the project's packages."""
    protections: Protections = field(default_factory=Protections)
    """How its processes are confined. None of the protections is on before `confined`."""

    @classmethod
    def pocket(cls) -> LeanToolchain:
        """Pocket Lean, the default. Builds its library on first use. Raises PocketBuildError."""
        from node.lean.toolchain.pocket import build
        from node.lean.toolchain.pocket.launcher import LIBRARY_VARIABLE

        command, kernel, environment = build.command(), build.kernel_command(), build.environment()
        reads = (command[-1], kernel[-1], environment[LIBRARY_VARIABLE])
        try:  # this Lean compiled its library, so it need not be started to tell its version
            version = compiled_by(build.library() / "Init.olean")
        except BadOlean as error:
            raise build.PocketBuildError(f"pocket Lean's library cannot be read: {error}") from error
        return cls(tuple(command), environment, version=version, kernel=tuple(kernel), reads=reads)

    async def confined(self) -> LeanToolchain:
        """The same Lean with every protection that this system allows. Testing them takes up to 0.5 s."""
        return await self.confined_by(await detect())

    async def confined_by(self, protections: Protections) -> LeanToolchain:
        """The same Lean with those of the protections with which it starts."""
        readable = self._readable()
        protections = await that_lean_starts_with(protections, self.command, self.environment, readable)
        return replace(self, protections=protections)

    def keeper(
        self, writable: Iterable[Path] = (), readable: Iterable[str | Path] = (), *, packages: bool = False
    ) -> list[str]:
        """The command line that confines one of its processes (`Protections.keeper`).

        `writable`: folders in which the process may write and read. `readable`: what it may read besides its toolchain,
        the project, and the folders in which this Lean finds modules: its input, and the folders that `with_modules`
        adds for it alone. `packages`: it is our Python, not Lean.
        """
        return self.protections.keeper(writable, [*self._readable(), *readable], packages=packages)

    def _readable(self) -> list[str]:
        """What each of its processes may read."""
        paths = [self.environment.get(name, "") for name in ("LEAN_PATH", "LD_LIBRARY_PATH")]
        folders = [folder for path in paths for folder in path.split(os.pathsep) if folder]
        return [*program_files(self.command), *self.reads, *([self.project] if self.project else []), *folders]

    def with_modules(self, folders: Sequence[Path]) -> dict[str, str]:
        """The environment with more module folders, after Lean's library so that they cannot replace its modules."""
        library = self.environment.get("LEAN_PATH", "")
        path = os.pathsep.join([*([library] if library else []), *map(str, folders)])
        return {**self.environment, "LEAN_PATH": path} if path else dict(self.environment)

    @property
    def module_folders(self) -> list[str]:
        """The folders in which this Lean finds modules, its own library last."""
        folders = [folder for folder in self.environment.get("LEAN_PATH", "").split(os.pathsep) if folder]
        # A full toolchain finds its library beside its program; pocket Lean's is in LEAN_PATH.
        return folders if self.kernel else [*folders, str(Path(self.command[0]).parents[1] / "lib" / "lean")]

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

    def facts(self) -> LeanProxyFacts:
        """This Lean, as a lean-proxy announces it to other nodes."""
        return LeanProxyFacts(
            version=self.version,
            name=self.name,
            project=self.project,
            library=library(self.project),
            options=tuple(each.removeprefix("-D") for each in self.command if each.startswith("-D")),
            header=self.default_header,
            protections=self.protections.each(),
        )


# --- The commits of a Lake project and its packages ------------------------------------------------------------------


PROJECT = "project"
"""Key of the project itself, such as a clone of Mathlib, among the names of packages."""


class _Package(msgspec.Struct):
    name: str = ""
    rev: str = ""


class _Packages(msgspec.Struct):
    packages: list[_Package] = []


def library(folder: str) -> dict[str, str]:
    """The commits of a project and its packages, by name; empty without a project (`""`) or if they are unknown."""
    if not folder:
        return {}
    project = Path(folder)
    try:
        manifest = msgspec.json.decode((project / "lake-manifest.json").read_bytes(), type=_Packages)
    except (OSError, msgspec.DecodeError):
        manifest = _Packages()
    commits = {each.name: each.rev for each in manifest.packages if each.rev}
    if commit := head(project / ".git"):
        commits[PROJECT] = commit
    return commits


def head(git: Path) -> str:
    """The commit of a working tree; empty if it cannot be read."""
    try:
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
        if not head.startswith("ref: "):
            return head
        name = head.removeprefix("ref: ")
        if (git / name).is_file():
            return (git / name).read_text(encoding="utf-8").strip()
        packed = (git / "packed-refs").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return ""
    return next((line.split()[0] for line in packed if line.endswith(f" {name}")), "")
