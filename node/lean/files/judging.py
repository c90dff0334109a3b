"""Finds the declarations of a compiled file, the axioms they use, and what each statement depends on. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from node.lean.files.commands import DATA, PROOFS, SYNTAX, UNTRACED, Command, Text
from node.lean.files.report import LocalItem
from node.lean.olean.module import Constant, Kind, Module
from node.lean.olean.plan import Step, Uses, groups, steps, uses
from node.lean.olean.region import BadOlean
from node.lean.olean.terms import Terms
from node.lean.text.lexing import outside_brackets
from node.lean.verify.recheck import WHOLE_MODULE

_INTERNAL = re.compile(
    r"(?:^|\.)(?:_\w+|match_\d+|proof_\d+|eq_\d+|eq_def|eq_unfold|sizeOf_spec|injEq|inj|noConfusion\w*|casesOn|recOn"
    r"|brecOn|below|ibelow|binductionOn|rec|ctorIdx|ctorElim\w*|elim|toCtorIdx|induct\w*|mutual_induct|fun_cases\w*)"
    r"(?:\.|$)"
)
"""Names that Lean generates in addition to those in the text."""


@dataclass
class LocalModule:
    """A compiled file of the user, with the results of its checks."""

    name: str
    terms: Terms
    imports: tuple[str, ...]
    constants: Mapping[str, Constant]
    used: Uses
    order: list[list[str]]
    """Its safe constants in groups, each group after those that it uses."""
    plan: list[Step]
    places: Mapping[str, tuple[int, int]]
    """Line and column where each declaration begins, by name."""
    text: Text
    commands: Sequence[Command]
    axioms: dict[str, frozenset[str]] = field(default_factory=dict)
    rejected: dict[str, str] = field(default_factory=dict)
    """Constants that the kernel rejects, with the reasons, by name."""
    others: Sequence[LocalModule] = ()
    """The user's other files that it imports, directly or not."""

    @classmethod
    def read(cls, name: str, olean: Path, text: Text, commands: Sequence[Command], terms: Terms) -> LocalModule:
        """Read a compiled file. Raises BadOlean and OSError."""
        module = Module(olean, terms)
        try:
            if "Init" not in module.imports:
                # Without Init, the file could itself declare what Lean knows by name: axioms, numbers, equality.
                raise BadOlean("it begins with `prelude`, so it does not import Lean's own library: remove that line")
            used = uses(module, terms)
            return cls(
                name,
                terms,
                tuple(dict.fromkeys(module.imports)),
                module.constants,
                used,
                [[each.name for each in group] for group in groups(module, used)],
                steps(str(olean), module, used),
                module.places(),
                text,
                commands,
            )
        finally:
            module.close()

    def foreign(self) -> set[str]:
        """Constants that it uses and that no file of the user declares."""
        declared = [self.constants, *(other.constants for other in self.others)]
        return {
            name
            for group in self.order
            for each in group
            for name in self.used[each]
            if not any(name in constants for constants in declared)
        }

    def owner(self, name: str) -> LocalModule | None:
        """The user's file that declares a constant (this one or one that it imports); None if the library does."""
        return next((module for module in (self, *self.others) if name in module.constants), None)

    def reject(self, rejected: Mapping[str, str]) -> None:
        """Record what the kernel rejects: reasons by one name of each step, or by WHOLE_MODULE."""
        self.rejected = dict(rejected)
        for group in self.order:
            reason = next((rejected[name] for name in group if name in rejected), "")
            if reason:
                self.rejected |= dict.fromkeys(group, reason)

    def find_axioms(self, library: Mapping[str, frozenset[str]]) -> None:
        """Compute the axioms of every safe constant from those of the library's constants."""
        for group in self.order:
            own = set(group)
            axioms = {name for name in group if self.constants[name].kind is Kind.AXIOM}
            for name in {each for member in group for each in self.used[member]} - own:
                axioms |= self._axioms_of(name, library)
            for name in group:
                self.axioms[name] = frozenset(axioms)

    def _axioms_of(self, name: str, library: Mapping[str, frozenset[str]]) -> frozenset[str]:
        module = self.owner(name)
        if module is None:
            return library[name]
        constant = module.constants[name]
        # Constructors are in the group of their type. Recursors are in no group: they use the axioms of their type.
        return module.axioms.get(constant.inductive if constant.kind is Kind.RECURSOR else name, frozenset())

    def whole_problem(self) -> str:
        """Why this file, or one that it imports, is rejected as a whole; empty if none is."""
        return next((each.rejected[WHOLE_MODULE] for each in (self, *self.others) if WHOLE_MODULE in each.rejected), "")

    def rests_on_rejected(self, name: str) -> str:
        """A constant that this one uses, in any of the user's files, and that the kernel rejects; empty if none is."""
        modules = [self, *self.others]
        if not any(module.rejected for module in modules):
            return ""
        waiting = [name]
        seen = set(waiting)
        while waiting:
            each = waiting.pop()
            module = next((module for module in modules if each in module.constants), None)
            if module is None:
                continue
            if each in module.rejected:
                return each
            below = module.used[each] | {module.constants[each].inductive} - {""}
            waiting += below - seen
            seen |= below
        return ""

    def command_of(self, name: str) -> Command | None:
        """The command that declares a constant; None if it has no position or lies in no command."""
        place = self.places.get(name)
        if place is None:
            return None
        at = self.text.offset(*place)
        before = bisect_right(self.commands, at, key=lambda each: each.start)  # commands are sorted by start
        command = self.commands[before - 1] if before else None
        return command if command is not None and at < command.end else None

    def line_of(self, name: str) -> int:
        """The line where a constant, or the declaration it was generated for, is declared; 0 if unknown."""
        return self.places.get(self.written_for(name), (0, 0))[0]

    def written_for(self, name: str) -> str:
        """The declaration that a name was generated for: its longest prefix that has a position."""
        while name and name not in self.places:
            name = name.rpartition(".")[0]
        return name

    def written(self) -> Iterator[tuple[Constant, Command]]:
        """The constants that the file's commands name, in order, without fields and generated names."""
        located = []
        for constant in self.constants.values():
            command = self.command_of(constant.name)
            if command is None or not constant.safe:
                continue
            # Generated theorems have no position in the text. So a theorem with a position counts, whatever its name.
            if constant.kind is not Kind.THEOREM and _INTERNAL.search(shown_name(constant.name)):
                continue
            if constant.kind in (Kind.CONSTRUCTOR, Kind.RECURSOR) or command.keyword in SYNTAX:
                continue
            if command.keyword in ("structure", "class", "inductive") and constant.kind is not Kind.INDUCTIVE:
                continue
            located.append((self.places[constant.name], constant, command))
        yield from ((constant, command) for _, constant, command in sorted(located, key=lambda item: item[0]))

    def stated(self) -> list[tuple[Constant, str]]:
        """Constants with their keywords: those that the file's commands name, and other theorems with a position."""
        written = [(constant, command.keyword) for constant, command in self.written()]
        names = {constant.name for constant, _ in written}
        return written + [
            (constant, "theorem")
            for constant in self.constants.values()
            if constant.kind is Kind.THEOREM and constant.name in self.places and constant.name not in names
        ]

    # --- what a statement depends on --------------------------------------------------------------------------------

    def depends(self, theorem: Constant) -> tuple[LocalItem, ...]:
        """The declarations and notation of the user's own files that a statement depends on."""
        items: dict[tuple[str, int], LocalItem] = {}
        for module, name in self._below(theorem):
            command = module.command_of(name)
            if command is None:
                continue
            key = (module.name, command.start)
            kind = command.keyword
            shown = shown_name(name)
            if key not in items or len(shown) < len(items[key].name):
                items[key] = LocalItem(kind, shown, command.line)
        return (*sorted(items.values(), key=lambda item: item.line), *self._syntax(theorem))

    def _below(self, theorem: Constant) -> Iterator[tuple[LocalModule, str]]:
        """The user's own constants in a statement, and in the definitions of these constants."""
        modules = (self, *self.others)
        waiting = list(self.terms.constants(theorem.type))
        seen = set(waiting)
        while waiting:
            name = waiting.pop()
            module = next((each for each in modules if name in each.constants), None)
            if module is None:
                continue
            yield module, name
            constant = module.constants[name]
            below = set(module.used[name])
            if constant.kind is Kind.THEOREM:
                below = module.terms.constants(constant.type)
            below.update(constant.constructors)
            below.update([constant.inductive] if constant.inductive else [])
            waiting += below - seen
            seen |= below

    @cached_property
    def _variables(self) -> list[Command]:
        return [each for each in self.commands if each.keyword == "variable"]

    @cached_property
    def _notation(self) -> list[Command]:
        return [each for each in self.commands if each.keyword in SYNTAX]

    def _syntax(self, theorem: Constant) -> Iterator[LocalItem]:
        """Local notation and macros that the text of a statement may use."""
        command = self.command_of(theorem.name)
        if command is None:
            return
        statement = _statement(self.text.text, self.text.code, command)
        variables = " ".join(
            self.text.text[each.start : each.end] for each in self._variables if each.start < command.start
        )
        for each in self._notation:
            if each.start > command.start:
                continue
            atoms = self.text.atoms(each)
            used = [atom for atom in atoms if atom in statement or atom in variables]
            if used or not atoms:
                first = " ".join(self.text.text[each.start : each.end].split())[:40]
                yield LocalItem(each.keyword, " ".join(used) or first, each.line)


def _statement(text: str, code: str, command: Command) -> str:
    """The text of a command up to its proof."""
    places = outside_brackets(code, command.start, command.end)
    return text[command.start : next((at for at in places if code.startswith(":=", at)), command.end)]


def shown_name(name: str) -> str:
    """A name without Lean's prefix for private names."""
    return re.sub(r"^_private\..*?\.«?\d+»?\.", "", name)


def name_in(text: Text, command: Command) -> str:
    """The name that a command's text declares; empty if there is none."""
    if command.keyword == "example":
        return command.keyword
    match = re.search(rf"\b{re.escape(command.keyword)}\s+([^\s:({{\[⦃]+)", text.code[command.start : command.end])
    return match.group(1) if match and command.keyword in PROOFS | DATA else ""


def first_line(text: Text, command: Command) -> str:
    """The beginning of a command in one line."""
    line = " ".join(text.original[command.start : command.end].replace(UNTRACED, "").split())
    return line if len(line) <= 60 else f"{line[:57]}..."


def unsupported(names: Iterable[str], axioms: Iterable[str]) -> list[str]:
    """The axioms that are not among the permitted names."""
    permitted = set(names)
    return sorted(axiom for axiom in axioms if axiom not in permitted)
