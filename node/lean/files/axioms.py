"""Which axioms the constants of a toolchain's library rest on, asked of a process that imports that library alone.

A file's own code cannot take part in the answer: the process imports nothing of it. Private names of the library cannot
be written down in a question, so their module is read, up to the names that can.
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
_QUESTIONS = "ProofmeshAxioms.lean"


class AxiomsUnknown(Exception):
    """Lean did not say which axioms a constant rests on; the text says which one."""


class LibraryAxioms:
    """Answers for one toolchain, and remembers."""

    def __init__(self, toolchain: LeanToolchain, limits: Limits, folder: Path) -> None:
        """`folder`: where its processes run; it must exist."""
        self._toolchain = toolchain
        self._limits = limits
        self._folder = folder
        self._known: dict[tuple[str, str], frozenset[str]] = {}
        """By imports and name."""

    async def of(self, names: Iterable[str], imports: Sequence[str]) -> dict[str, frozenset[str]]:
        """By name of a constant of the library, its axioms. Raises AxiomsUnknown and OutOfLimits."""
        key = " ".join(sorted(set(imports)))
        wanted = set(names)
        behind = {name: self._writable(name) for name in wanted}
        missing = sorted({each for found in behind.values() for each in found if (key, each) not in self._known})
        if missing:
            for name, axioms in (await self._ask(missing, imports)).items():
                self._known[key, name] = axioms
        return {name: frozenset().union(*(self._known[key, each] for each in found)) for name, found in behind.items()}

    async def _ask(self, names: Sequence[str], imports: Sequence[str]) -> dict[str, frozenset[str]]:
        header = [f"import {module}" for module in dict.fromkeys(imports)]
        prelude = [] if "Init" in imports or not imports else ["prelude"]
        file = self._folder / _QUESTIONS
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
            raise AxiomsUnknown(f"{unknown[0]}: {problems[0] if problems else 'Lean says nothing about its axioms'}")
        return answers

    def _writable(self, name: str) -> frozenset[str]:
        """Names that can be written down and together rest on the same axioms. Raises AxiomsUnknown."""
        if not _PRIVATE.match(name):
            return frozenset({name})
        found: set[str] = set()
        seen = {name}
        waiting = [name]
        while waiting:
            each = waiting.pop()
            match = _PRIVATE.match(each)
            if match is None:
                found.add(each)
                continue
            fresh = self._below(each, match.group(1)) - seen
            seen |= fresh
            waiting += fresh
        return frozenset(found)

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
                # Its private part is not read. It belongs to a library that is trusted to be finished (docs/trust.md).
                return set(AXIOMS)
            except (BadOlean, OSError) as error:
                raise AxiomsUnknown(f"{name}: {error}") from error
            constant = read.constants.get(name)
            read.close()
            if constant is not None:
                return terms.constants(constant.type, *([] if constant.value is None else [constant.value]))
        raise AxiomsUnknown(f"{name}: a private constant of {module}, whose compiled module is not found")


def _written(name: str) -> str:
    """A name as a command can hold it: with every part quoted, none of them reads as a keyword or a sign."""
    return ".".join(part if part.startswith("«") else f"«{part}»" for part in re.findall(r"«[^»]*»|[^.]+", name))
