"""Finds the axioms that constants of a toolchain's library use, with a Lean process that imports only that library.

The process imports nothing of the verified file, so the file's code cannot influence the answer. A command cannot name
private constants of the library. For these, their compiled module is read, down to constants that can be named.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from node.lean.olean.module import Module, SplitModule
from node.lean.olean.region import BadOlean
from node.lean.olean.terms import Terms
from node.lean.process.fresh import Limits, run_fresh
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.verify.verdicts import AXIOMS, messages

_ANSWER = re.compile(r"'.*' depends on axioms: \[(.*)\]\s*", re.DOTALL)
_NONE = re.compile(r"'.*' does not depend on any axioms\s*", re.DOTALL)
_PRIVATE = re.compile(r"_private\.(.+?)\.«?\d+»?\.")
_QUERY_FILE = "ProofmeshAxioms.lean"


class AxiomsUnknown(Exception):
    """Lean did not report the axioms of a constant. The text names the constant."""


class LibraryAxioms:
    """Finds axioms for one toolchain, with a cache."""

    def __init__(self, toolchain: LeanToolchain, limits: Limits, folder: Path) -> None:
        """`folder`: where its processes run; it must exist."""
        self._toolchain = toolchain
        self._limits = limits
        self._folder = folder
        self._known: dict[tuple[str, str], frozenset[str]] = {}
        """Axioms by imports and name of the constant."""

    async def of(self, names: Iterable[str], imports: Sequence[str]) -> dict[str, frozenset[str]]:
        """The axioms of constants of the library, by name. Raises AxiomsUnknown and OutOfLimits."""
        key = " ".join(sorted(set(imports)))
        writable = {name: self._writable(name) for name in set(names)}
        missing = sorted({each for group in writable.values() for each in group if (key, each) not in self._known})
        if missing:
            for name, axioms in (await self._ask(missing, imports)).items():
                self._known[key, name] = axioms
        return {
            name: frozenset().union(*(self._known[key, each] for each in group)) for name, group in writable.items()
        }

    async def _ask(self, names: Sequence[str], imports: Sequence[str]) -> dict[str, frozenset[str]]:
        """The axioms that Lean prints for constants, by name. Raises AxiomsUnknown and OutOfLimits."""
        header = [f"import {module}" for module in dict.fromkeys(imports)]
        prelude = [] if "Init" in imports or not imports else ["prelude"]
        file = self._folder / _QUERY_FILE
        file.write_text("\n".join([*prelude, *header, *(f"#print axioms {_written(name)}" for name in names)]) + "\n")
        finished = await run_fresh(
            [*self._toolchain.command, "--json", str(file)],
            environment=self._toolchain.environment,
            folder=self._folder,
            limits=self._limits,
            keeper=self._toolchain.protections.keeper(),
            output_bytes=1 << 26,
        )
        first = len(prelude) + len(header) + 1
        answers: dict[str, frozenset[str]] = {}
        problems = []
        for message in messages(finished):
            if message.pos is None or message.pos.line < first:
                problems.append(message.data)
                continue
            name = names[message.pos.line - first]
            if match := _ANSWER.fullmatch(message.data):
                answers[name] = frozenset(axiom.strip() for axiom in match.group(1).split(","))
            elif _NONE.fullmatch(message.data):
                answers[name] = frozenset()
            else:
                problems.append(message.data)
        if unknown := [name for name in names if name not in answers]:
            raise AxiomsUnknown(f"{unknown[0]}: {problems[0] if problems else 'Lean did not report its axioms'}")
        return answers

    def _writable(self, name: str) -> frozenset[str]:
        """Public names that together use the same axioms as this name. Raises AxiomsUnknown."""
        if not _PRIVATE.match(name):
            return frozenset({name})
        public: set[str] = set()
        seen = {name}
        waiting = [name]
        while waiting:
            each = waiting.pop()
            match = _PRIVATE.match(each)
            if match is None:
                public.add(each)
                continue
            fresh = self._below(each, match.group(1)) - seen
            seen |= fresh
            waiting += fresh
        return frozenset(public)

    def _below(self, name: str, module: str) -> set[str]:
        """The constants that a private constant of a library module uses. Raises AxiomsUnknown."""
        for folder in self._toolchain.environment.get("LEAN_PATH", "").split(os.pathsep):
            file = Path(folder).joinpath(*module.split(".")).with_suffix(".olean")
            if not folder or not file.is_file():
                continue
            terms = Terms()
            try:
                read = Module(file, terms)
            except SplitModule:
                # The private part is not read: the library is trusted to use only Lean's axioms (docs/trust.md).
                return set(AXIOMS)
            except (BadOlean, OSError) as error:
                raise AxiomsUnknown(f"{name}: {error}") from error
            constant = read.constants.get(name)
            read.close()
            if constant is not None:
                return terms.constants(constant.type, *([] if constant.value is None else [constant.value]))
        raise AxiomsUnknown(f"{name}: the compiled module {module} of this private constant was not found")


def _written(name: str) -> str:
    """A name for use in a command, with every component quoted, so that none is read as a keyword or operator."""
    return ".".join(part if part.startswith("«") else f"«{part}»" for part in re.findall(r"«[^»]*»|[^.]+", name))
