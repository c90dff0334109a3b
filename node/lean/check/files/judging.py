"""Finds the declarations of a compiled file, the axioms they use, and what each statement depends on. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from node.lean.check.files.commands import DATA, PROOFS, SYNTAX, UNTRACED, Command, Text
from node.lean.check.files.report import LocalItem
from node.lean.olean.declarations import Uses, groups, uses
from node.lean.olean.module import Constant, Kind, Module
from node.lean.olean.region import BadOlean
from node.lean.olean.terms import LevelTag, Tag, Terms
from node.lean.text.lexing import outside_brackets
from node.lean.text.statement import is_module

_INTERNAL = re.compile(
    r"(?:^|\.)(?:_\w+|match_\d+|proof_\d+|eq_\d+|eq_def|eq_unfold|sizeOf_spec|injEq|inj|noConfusion\w*|casesOn|recOn"
    r"|brecOn|below|ibelow|binductionOn|rec|ctorIdx|ctorElim\w*|elim|toCtorIdx|induct\w*|mutual_induct|fun_cases\w*)"
    r"(?:\.|$)"
)
"""Names that Lean generates in addition to those in the text."""


UNDECLARED = "it uses a constant that is not declared"
"""The kernel's reason for a constant that uses another one which it has rejected."""


@dataclass
class LocalModule:
    """A compiled file of the user, with the results of its checks."""

    name: str
    terms: Terms
    imports: tuple[str, ...]
    constants: Mapping[str, Constant]
    used: Uses
    order: list[list[Constant]]
    """Its safe constants in groups, each group after those that it uses."""
    places: Mapping[str, tuple[int, int]]
    """Line and column where each declaration begins, by name."""
    text: Text
    commands: Sequence[Command]
    axioms: dict[str, frozenset[str]] = field(default_factory=dict)
    """The axioms that a constant uses, by name. Only for constants that the kernel has accepted."""
    rejected: dict[str, str] = field(default_factory=dict)
    """Constants that the kernel rejects, with the reasons, by name."""
    others: Sequence[LocalModule] = ()
    """The user's other files that it imports, directly or not."""
    touching: Sequence[LocalItem] = ()
    """Commands of its text that could change what a statement below them means."""
    shift: int = 0
    """Number of lines that our header added above the file."""

    @classmethod
    def read(
        cls,
        name: str,
        olean: Path,
        text: Text,
        commands: Sequence[Command],
        terms: Terms,
        imports: Collection[str] | None = None,
    ) -> LocalModule:
        """Read a compiled file. `imports`: those of its text. Raises BadOlean and OSError."""
        module = Module(olean, terms)
        module.close()
        if module.is_split != is_module(text.original):
            compiled, written = ("a module", "without") if module.is_split else ("no module", "with")
            raise BadOlean(f"the compiled file is {compiled}, but its text begins {written} `module`")
        if "Init" not in module.imports:
            # Without Init, the file could itself declare what Lean knows by name: axioms, numbers, equality.
            raise BadOlean("it begins with `prelude`, so it does not import Lean's own library: remove that line")
        if imports is not None and not {*module.imports} <= {*imports, "Init"}:
            raise BadOlean("the compiled file imports other modules than its text")
        used = uses(module, terms)
        return cls(
            name,
            terms,
            tuple(dict.fromkeys(module.imports)),
            module.constants,
            used,
            [*groups(module, used)],
            module.places,
            text,
            commands,
        )

    def check_names(self) -> None:
        """Raises BadOlean if a name means different things in this file and the user's files that it imports.

        Lean does not import such files together. But a compiled file can leave out imports of its text, and so hide the
        other file from Lean. The kernel's environment would then have another constant than the one that a file of its
        own declares under this name.
        """
        seen: dict[str, tuple[Constant, LocalModule]] = {}
        for module in (*self.others, self):
            for name, constant in module.constants.items():
                earlier, owner = seen.setdefault(name, (constant, module))
                if earlier is not constant and _meaning(earlier) != _meaning(constant):
                    both = f"{owner.name} and {module.name}"
                    raise BadOlean(f"{both} declare {shown_name(name)} differently: rename it in one of them")

    def imported(self) -> Iterator[tuple[list[Constant], bool]]:
        """The groups of the user's files that it imports, as the kernel gets them before those of this file, and
        whether the kernel has accepted them before.

        What the kernel has rejected in a file is left out: whatever uses it is then rejected, too. A declaration that
        Lean has generated in several files comes once.
        """
        seen: set[str] = set()
        for module in self.others:
            for group in module.order:
                name = group[0].name
                if name not in module.rejected and name not in seen:
                    seen.add(name)
                    yield group, name in module.axioms

    def judged(self, reasons: Sequence[str], axioms: Mapping[str, frozenset[str]]) -> None:
        """Record the kernel's answer: for each group why it is rejected (empty if it is not), and axioms by name."""
        for group, reason in zip(self.order, reasons, strict=True):
            names = [each.name for each in group]
            if reason:
                self.rejected |= dict.fromkeys(names, reason)
                continue
            self.axioms |= {name: axioms[name] for name in names if name in axioms}

    def library_imports(self) -> list[str]:
        """The toolchain's modules that it imports, directly or through the user's other files."""
        own = {other.name for other in self.others}
        each_import = (name for each in (self, *self.others) for name in each.imports)
        return [name for name in dict.fromkeys(each_import) if name not in own]

    def owner(self, name: str) -> LocalModule | None:
        """The user's file that declares a constant (this one or one that it imports); None if the library does."""
        return next((module for module in (self, *self.others) if name in module.constants), None)

    def rejection(self, name: str) -> str:
        """Why the kernel rejects a constant, or something that it uses in any of the user's files; empty if it does
        not."""
        modules = [self, *self.others]
        if not any(module.rejected for module in modules):
            return ""
        # A constant that uses a rejected one is rejected in turn. The reason is given for the one at the bottom.
        found: list[tuple[str, str]] = []
        waiting = [name]
        seen = set(waiting)
        while waiting:
            each = waiting.pop()
            module = next((module for module in modules if each in module.constants), None)
            if module is None:
                continue
            below = module.used[each] | {module.constants[each].inductive} - {""}
            waiting += below - seen
            seen |= below
            if each in module.rejected:
                found.append((each, module.rejected[each]))
        if not found:
            return ""
        at_the_bottom = [pair for pair in found if pair[1] != UNDECLARED] or found
        other, reason = min(at_the_bottom, key=lambda pair: (pair[0] != name, len(pair[0]), pair[0]))
        return (
            f"the kernel rejects it: {reason}"
            if other == name
            else (f"it uses {shown_name(other)}, which the kernel rejects: {reason}")
        )

    def concluded(self, type_: int) -> tuple[str, tuple[int, ...]]:
        """The constant at the head of what a type concludes, and its arguments; empty if it is no constant."""
        while (shape := self.terms.shape(type_))[0] in (Tag.FORALL, Tag.LET):
            type_ = int(shape[-1])  # type: ignore[arg-type]
        arguments: tuple[int, ...] = ()
        while shape[0] == Tag.APPLY:
            arguments = (int(shape[2]), *arguments)  # type: ignore[arg-type]
            shape = self.terms.shape(int(shape[1]))  # type: ignore[arg-type]
        return (str(shape[1]), arguments) if shape[0] == Tag.CONSTANT else ("", ())

    def unfolded(self, terms: Iterable[int]) -> set[str]:
        """The constants in terms, with what the file's own abbreviations among them stand for in place of these."""
        found: set[str] = set()
        waiting = [*self.terms.constants(*terms)]
        reducible = "reducible" in self.text.code
        while waiting:
            name = waiting.pop()
            constant = self.constants.get(name)
            command = self.command_of(name)
            short = command is not None and (command.keyword == "abbrev" or reducible)
            if name in found or constant is None or constant.kind is not Kind.DEFINITION or not short:
                found.add(name)
            elif constant.value is not None:
                found.add(f"{name} unfolded")
                waiting += [each for each in self.terms.constants(constant.value) if f"{each} unfolded" not in found]
        return found

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

    def below_variables(self, name: str) -> list[Command]:
        """The `variable` lines above the command that declares a constant."""
        command = self.command_of(name)
        above = (each for each in self.commands if command is not None and each.start < command.start)
        return [each for each in above if each.keyword == "variable"]

    def hidden_hypotheses(self, name: str) -> list[LocalItem]:
        """The hypotheses that a statement has by `variable` lines above it, without a mention in its own text.

        A variable that the text mentions is no surprise, nor is an instance about one (`[Group G]` where `G` occurs).
        """
        command, code = self.command_of(name), self.text.code
        if command is None:
            return []
        # Lean does not report all commands, so the lines are found in the text: above, and before an `in`.
        starts = [match.start() for match in _VARIABLE.finditer(code, 0, command.end)]
        lines = [
            self.text.command(start, min(end, self.text.beginning_at(start).end))
            for start, end in pairwise([*starts, command.end])
        ]
        if not lines:
            return []
        # 1. The words of the statement's own text.
        begin = max([command.start, *(_behind_in(code, each) for each in starts if each >= command.start)])
        ends = (at for at in outside_brackets(code, begin, command.end) if code.startswith(":=", at))
        stop = next(ends, command.end)
        words = set(_WORD.findall(code, begin, stop))
        own_names, own_instances = _signature(code, code.find(command.keyword, begin, stop), stop)
        binders = self.constants[name].binders
        instances = sum(info == _INSTANCE for _, info in binders)
        last = {binder: at for at, (binder, _) in enumerate(binders)}
        # 2. Each hypothesis: is it in the text, or about something that is?
        kinds, term = list[int](), self.constants[name].type
        shown: list[bool] = []
        for at, (binder, info) in enumerate(binders):
            shape = self.terms.shape(term)
            kind, term = int(shape[1]), int(shape[2])  # type: ignore[arg-type]
            kinds.append(kind)
            # The word may mean something else that is bound with the same name.
            visible = binder in words and 0 in self.terms.loose_indices(term)
            shown.append(info != _INSTANCE and (visible or (binder in own_names and last[binder] == at)))
        # Types and numbers on which a mentioned variable depends are no hypotheses.
        for at in reversed(range(len(shown))):
            if shown[at]:
                for each in (at - 1 - index for index in self.terms.loose_indices(kinds[at])):
                    shown[each] = shown[each] or self._is_no_hypothesis(kinds[each])
        for at, (_, info) in enumerate(binders):
            if info == _INSTANCE:
                instances -= 1
                shown[at] = instances < own_instances or self._is_about(kinds[at], shown[:at], kinds[:at])
        # 3. The lines that declare the others. An instance may have no name.
        found: dict[int, LocalItem] = {}
        for visible, (binder, info) in zip(shown, binders, strict=True):
            sign = "[" if info == _INSTANCE and "_@" in binder else binder
            line = next((each for each in reversed(lines) if _mentions(code, each, sign)), None)
            if not visible and line is not None:
                text = first_line(self.text, line)
                found[line.start] = LocalItem("variable", text, line.line - self.shift)
        return [*found.values()]

    def _is_about(self, instance: int, shown: Sequence[bool], kinds: Sequence[int]) -> bool:
        """True if an instance concerns only variables that the text mentions, and is no statement about them.

        `Group G` is no surprise where `G` occurs. `Nonempty (n < n)` is one, and so is `Nonempty p` for a proposition.
        """
        parts: list[int] = []
        while (shape := self.terms.shape(instance))[0] == Tag.APPLY:
            instance, argument = int(shape[1]), int(shape[2])  # type: ignore[arg-type]
            parts.append(argument)
        if shape[0] != Tag.CONSTANT:
            return False
        decides = str(shape[1]).startswith("Decidable")
        about = {index for part in parts for index in self.terms.loose_indices(part)}
        places = [len(shown) - 1 - each for each in about]
        if decides:
            return any(shown[at] for at in places if at >= 0)
        mentioned = bool(places) and all(at >= 0 and shown[at] for at in places)
        return mentioned and all(self._is_data(part, kinds) for part in parts)

    def _is_no_hypothesis(self, kind: int) -> bool:
        """True for the type of a variable that assumes nothing: a sort, a family of sorts, or numbers."""
        while (shape := self.terms.shape(kind))[0] == Tag.FORALL:
            kind = int(shape[2])  # type: ignore[arg-type]
        return shape[0] == Tag.SORT or (shape[0] == Tag.CONSTANT and shape[1] in ("Nat", "Int", "Bool"))

    def _is_data(self, argument: int, kinds: Sequence[int]) -> bool:
        """True for a variable that is no proposition, and for a term without variables."""
        shape = self.terms.shape(argument)
        if shape[0] != Tag.BOUND:
            return not self.terms.loose(argument)
        at = len(kinds) - 1 - int(shape[1])  # type: ignore[arg-type]
        kind = self.terms.shape(kinds[at]) if at >= 0 else ()
        return bool(kind) and not (kind[0] == Tag.SORT and self.terms.shape(int(kind[1])) == ("level", LevelTag.ZERO))  # type: ignore[arg-type]

    def names_own(self, name: str) -> bool:
        """True if a statement's own text has a word that is also the last part of a name that the file declares."""
        command = self.command_of(name)
        if command is None:
            return True
        code = self.text.code
        place = self.places.get(name)
        start = max(command.start, self.text.offset(*place)) if place else command.start  # one of a mutual block
        ends = (at for at in outside_brackets(code, start, command.end) if _begins_proof(code, at))
        words = _WORD.findall(code, start, next(ends, command.end))
        own = {*_WORD.findall(shown_name(name))}
        return any(word in self._last_parts and word not in own for word in words)

    @cached_property
    def _last_parts(self) -> set[str]:
        """The last parts of the names that the file declares."""
        return {name.rpartition(".")[2] for name in self.constants}

    # --- what a statement depends on --------------------------------------------------------------------------------

    def depends(self, theorem: Constant) -> tuple[LocalItem, ...]:
        """The declarations of the user's own files that a statement depends on."""
        items: dict[tuple[str, int], LocalItem] = {}
        below = [*self._below(theorem)]
        names = {name for _, name in below}
        if names:
            below += [pair for pair in self._coercions() if self._own_in_type(*pair) <= names and pair[1] not in names]
        line = self.line_of(theorem.name)
        for module, name in below:
            if module is self and name not in names and line and self.line_of(name) > line:
                continue
            command = module.command_of(name)
            if command is None:
                continue
            key = (module.name, command.start)
            kind = command.keyword
            shown = shown_name(name)
            if key not in items or len(shown) < len(items[key].name):
                items[key] = LocalItem(kind, shown, command.line - module.shift)
        return tuple(sorted(items.values(), key=lambda item: item.line))

    def _coercions(self) -> Iterator[tuple[LocalModule, str]]:
        """The user's own instances of coercions. Lean unfolds them, so statements that use them do not show them."""
        for module in (self, *self.others):
            for name, constant in module.constants.items():
                if constant.kind is Kind.DEFINITION and module.concluded(constant.type)[0] in _COERCIONS:
                    yield module, name

    def _own_in_type(self, module: LocalModule, name: str) -> set[str]:
        """The user's own constants in the type of a constant."""
        return {each for each in module.terms.constants(module.constants[name].type) if self.owner(each) is not None}

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

    def touched_by(self, name: str) -> Iterator[LocalItem]:
        """The commands that could change what a statement means: those above it, and those of imported files."""
        for module in self.others:
            yield from (replace(item, line=0, name=f"{item.name} in {module.name}") for item in module.touching)
        line = self.line_of(name)
        above = (item for item in self.touching if not line or item.line <= line)
        yield from (replace(item, line=max(item.line - self.shift, 0)) for item in above)


def _meaning(constant: Constant) -> tuple[object, ...]:
    """What tells constants of one name apart. Two theorems with the same statement may have different proofs."""
    value = None if constant.kind is Kind.THEOREM else constant.value
    said = (constant.kind, constant.safe, constant.level_parameters, constant.type, value)
    return (*said, constant.parameters, constant.constructors, constant.inductive)


_COERCIONS = frozenset(
    {"Coe", "CoeTail", "CoeHead", "CoeOut", "CoeTC", "CoeOTC", "CoeHTC", "CoeHTCT"}
    | {"CoeDep", "CoeT", "CoeFun", "CoeSort"}
)
"""Lean's classes of coercions."""

_WORD = re.compile(r"[^\W\d][\w'!?]*")
_INSTANCE = 3
"""Binder info of a hypothesis in square brackets."""


_VARIABLE = re.compile(r"(?<![\w.'«])variable(?![\w'!?])")


def _begins_proof(code: str, at: int) -> bool:
    """True at the `:=` or at the first `|` of a line, behind which a statement's proof stands."""
    return code.startswith(":=", at) or (code[at] == "|" and not code[code.rfind("\n", 0, at) + 1 : at].strip())


def _behind_in(code: str, start: int) -> int:
    """The offset behind the `in` that follows a `variable`; that of the `variable` if there is none."""
    match = re.compile(r"\sin(?=\s)").search(code, start)
    return match.end() if match else start


def _signature(code: str, start: int, stop: int) -> tuple[set[str], int]:
    """The names that the brackets before a statement's colon bind, and how many of these are square."""
    names: set[str] = set()
    square = 0
    for at in outside_brackets(code, max(start, 0), stop):
        if code[at] in "({⦃[":
            names.update(_WORD.findall(code[at:stop].partition(":")[0]))
            square += code[at] == "["
        elif code[at] == ":":
            break
    return names, square


def _mentions(code: str, command: Command, sign: str) -> bool:
    """True if a command's text has a name, or a bracket."""
    text = code[command.start : command.end]
    return sign in _WORD.findall(text) if _WORD.fullmatch(sign) else sign in text


def shown_name(name: str) -> str:
    """A name without Lean's prefix for private names."""
    return re.sub(r"^_private\..*?\.«?\d+»?\.", "", name)


def name_in(text: Text, command: Command) -> str:
    """The name that a command's text declares; empty if there is none."""
    if command.keyword == "example":
        return command.keyword
    name = rf"\b{re.escape(command.keyword)}\s+((?:«[^»]*»|[^\s:({{\[⦃«])+)"
    match = re.search(name, text.code[command.start : command.end])
    return match.group(1).rstrip(".") if match and command.keyword in PROOFS | DATA else ""


def is_named(text: Text, command: Command, space: str, name: str) -> bool:
    """True if a theorem of this name, or a part of it, is what a command's text declares. `space`: its namespace."""
    declared = name_in(text, command)
    full = declared.removeprefix("_root_.") if declared.startswith("_root_.") else f"{space}{declared}"
    bare, shown = (each.replace("«", "").replace("»", "") for each in (full, shown_name(name)))
    return f"{shown}.".startswith(f"{bare}.")


def first_line(text: Text, command: Command) -> str:
    """The beginning of a command in one line."""
    line = " ".join(text.original[command.start : command.end].replace(UNTRACED, "").split())
    return line if len(line) <= 60 else f"{line[:57]}..."


def unsupported(names: Iterable[str], axioms: Iterable[str]) -> list[str]:
    """The axioms that are not among the permitted names."""
    permitted = set(names)
    return sorted(axiom for axiom in axioms if axiom not in permitted)
