"""Section [lean] of a configuration file: the Lean version, the project, and the header of every theorem.

Everything that runs Lean reads this section: lean-proxies, `prove`, `verify`, ... The flags have the same names:
`--lean.project PATH`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from common.limits import Timeout

POCKET = "pocket"

_URL = re.compile(r"https?://[^\s/]+(?:/\S*)?")
_MODULE = re.compile(r"[\w«»'.-]+")
_OPTION = re.compile(r"([\w.«»]+)\s*=\s*(\"[^\"\n]*\"|[\w.-]+)")


@dataclass
class LeanSettings:
    """The Lean version, the project, and the header of every theorem."""

    project: str = ""
    """Folder of a Lake project (Mathlib, or yours). `lake env` gives the Lean version and the module paths."""

    toolchain: str = ""
    """`pocket` (the embedded Lean), elan's name of a toolchain (leanprover/lean4:v4.20.0), or the folder of a Lean
    installation. Empty: the toolchain in the project's lean-toolchain file; pocket Lean without a project."""

    modules: list[str] = field(default_factory=list)
    """Additional folders with compiled modules (.olean), for code that was built without Lake."""

    imports: list[str] = field(default_factory=list)
    """Modules that are imported for every theorem without its own imports, e.g. Mathlib."""

    opens: list[str] = field(default_factory=list)
    """Namespaces that are opened for every theorem: `Nat`, `scoped Topology`."""

    options: list[str] = field(default_factory=list)
    """Lean options for every theorem, each as NAME=VALUE: `maxRecDepth=2000`."""

    header_seconds: Timeout = 600.0
    """Most seconds for Lean to start and to elaborate a header. A cold import of Mathlib can take minutes."""

    backend: Literal["worker", "repl", "leantree"] = "worker"
    """How lean-proxies run tactics: `worker` (Lean's own worker process, nothing to build), `repl` (the community
    REPL's protocol), or `leantree` (a LeanTree server; ours is `proofmesh leantree-server`). With every backend, proofs
    are verified in fresh processes of Lean itself."""

    repl_command: str = ""
    """Command of a REPL for `backend = "repl"`, run in the project's folder: `lake env PATH/TO/repl`, or `proofmesh
    repl`. Quotes work as in a shell."""

    leantree_url: str = ""
    """Address of the server for `backend = "leantree"`, http://HOST:PORT. It should use the same Lean and library."""

    def check(self) -> None:
        """Raises ValueError for an invalid import, namespace or option, and for a backend without its command or
        address."""
        if self.backend == "repl" and not self.repl_command.strip():
            raise ValueError('repl_command: backend = "repl" needs one, such as `lake env PATH/TO/repl`')
        if self.backend == "leantree" and not _URL.fullmatch(self.leantree_url):
            raise ValueError(f'leantree_url = {self.leantree_url!r}: backend = "leantree" needs http://HOST:PORT')
        for module in self.imports:
            if not _MODULE.fullmatch(module):
                raise ValueError(f"imports: {module!r} is not a module name, such as Mathlib.Data.Nat.Prime.Basic")
        for name in self.opens:
            if not name.strip() or "\n" in name or name.split()[0] == "open":
                raise ValueError(f"opens: {name!r}: name a namespace, such as Nat or scoped Topology")
        for option in self.options:
            if not _OPTION.fullmatch(option.strip()):
                raise ValueError(f"options: {option!r}: write NAME=VALUE, such as maxRecDepth=2000")

    def header(self) -> str:
        """The commands before a theorem, one per line; empty if there are none."""
        imports = [f"import {module}" for module in self.imports]
        opens = [f"open {name.strip()}" for name in self.opens]
        pairs = [match.groups() for option in self.options if (match := _OPTION.fullmatch(option.strip()))]
        return "\n".join([*imports, *(f"set_option {name} {value}" for name, value in pairs), *opens])
