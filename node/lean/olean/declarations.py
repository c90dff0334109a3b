"""Writes declarations as data for the kernel, and reads its answer. Pure.

A process that judges imports no file that a user's code wrote. It gets the declarations of such files in this format,
makes them anew, and has Lean's kernel check each one: `toolchain/pocket/kernel.py` with pocket Lean,
`toolchain/judge/Judge.lean` with another Lean. The format is a stream of tokens, separated by one space or line break.
A number is decimal. A text is LENGTH:BYTES, so nothing in it is ever searched.

    proofmesh-declarations 1
    names N            entries 1 to N; 0 is the anonymous name:  s PARENT TEXT | n PARENT NUMBER
    levels N           entries 1 to N; 0 is zero:  s A | m A B (max) | i A B (imax) | p NAME
    expressions N      entries 0 to N - 1, each refers to earlier ones:  b INDEX | s LEVEL | c NAME K LEVEL*K |
                       a FUNCTION ARGUMENT | l TYPE BODY | p TYPE BODY | t TYPE VALUE BODY | n HEXADECIMAL | q TEXT |
                       j NAME INDEX STRUCTURE
    imports N          NAME, of modules of the library
    steps N            e: go on from an environment with the library alone
                       a NAME K NAME*K TYPE                 axiom
                       d NAME K NAME*K TYPE VALUE HINT      definition (hint: 0 opaque, 1 abbreviation, 2 + height)
                       t NAME K NAME*K TYPE VALUE           theorem
                       o NAME K NAME*K TYPE VALUE           opaque
                       i K NAME*K PARAMETERS TYPES { NAME TYPE CONSTRUCTORS { NAME TYPE }* }*
                       A D T O: the same, accepted before by such a process, so added without another check
    queries N          NAME, of constants whose axioms are asked in the last environment
    end

A step that the kernel refuses changes nothing, and the next one follows. The answer:

    proofmesh-verdicts 1
    steps N            y | n TEXT (the reason)
    queries N          u (there is no such constant) | k K { PARTS { s TEXT | n NUMBER }*PARTS }*K (its axioms)
    end
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from node.lean.olean.module import Constant, Kind, Module
from node.lean.olean.region import BadOlean
from node.lean.olean.terms import LevelTag, Shape, Tag, Terms, quoted

# --- Plans in which order Lean's kernel gets the declarations of a compiled module. Pure -----------------------------


Uses = Mapping[str, set[str]]
"""The names of the constants in a constant's type and value, by its name."""


def uses(module: Module, terms: Terms) -> Uses:
    """The constants that each constant of a module uses directly."""
    return {
        name: terms.constants(constant.type, *([] if constant.value is None else [constant.value]))
        for name, constant in module.constants.items()
    }


def groups(module: Module, used: Uses) -> Iterator[list[Constant]]:
    """The safe constants of a module, in groups that are declared together.

    A group comes after the groups that it uses. Raises BadOlean, also for constants that use each other.
    """
    placed: set[str] = set()
    begun: set[str] = set()
    for first in module.constants.values():
        # Depth first with an explicit stack, because chains of definitions can be deeper than Python's recursion limit.
        # The flag says whether the constants that the group uses are on the stack already.
        waiting = [(first, False)]
        while waiting:
            constant, expanded = waiting.pop()
            if constant.name in placed or not constant.safe:
                continue
            if constant.kind in (Kind.CONSTRUCTOR, Kind.RECURSOR):
                owner = _constant(module, constant.inductive)
                if owner.kind is not Kind.INDUCTIVE or not owner.safe:
                    raise BadOlean(f"{constant.name} does not belong to an inductive type")
                waiting.append((owner, False))
                continue
            group = _group(module, constant)
            group_names = {each.name for each in group}
            if expanded:
                placed |= group_names
                yield group
                continue
            if not begun.isdisjoint(group_names):
                raise BadOlean(f"{constant.name} uses itself, through what it uses")
            begun |= group_names
            waiting.append((constant, True))
            waiting += [
                (module.constants[name], False)
                for each in group
                for name in used[each.name]
                if name in module.constants and name not in placed and name not in group_names
            ]


def _group(module: Module, constant: Constant) -> list[Constant]:
    """The constants that one step declares: mutual inductive types with their constructors, or a single constant."""
    if constant.kind is Kind.QUOTIENT:
        raise BadOlean(f"{constant.name} is declared as part of `Quot`, which only Lean's own library may declare")
    if constant.kind is not Kind.INDUCTIVE:
        return [constant]
    types = [_constant(module, name) for name in constant.mutual]
    members = [*types, *(_constant(module, name) for each in types for name in each.constructors)]
    if constant not in types or not all(each.safe for each in members):
        raise BadOlean(f"{constant.name} is in a mutual group that does not contain it, or that has unsafe members")
    owners = [(name, each.name) for each in types for name in each.constructors]
    if any(each.level_parameters != constant.level_parameters for each in members) or any(
        module.constants[name].kind is not Kind.CONSTRUCTOR or module.constants[name].inductive != owner
        for name, owner in owners
    ):
        raise BadOlean(f"{constant.name} has constructors or universe parameters that are not its own")
    if any(each.parameters != constant.parameters for each in members):
        raise BadOlean(f"{constant.name} is declared together with types or constructors of other parameters")
    return members


def _constant(module: Module, name: str) -> Constant:
    constant = module.constants.get(name)
    if constant is None:
        raise BadOlean(f"{name} is used, but not declared")
    return constant


_PART = re.compile(r"«((?:[^»]|»»)*)»|([^.«»]+)")

_STEP = {Kind.AXIOM: "a", Kind.DEFINITION: "d", Kind.THEOREM: "t", Kind.OPAQUE: "o"}

_LEVEL = {LevelTag.SUCCESSOR: "s", LevelTag.MAX: "m", LevelTag.IMAX: "i"}


class BadAnswer(Exception):
    """The answer of the kernel's process is incomplete or malformed. Nothing in it counts."""


def parts_of(name: str) -> list[str | int]:
    """The parts of a name as `TermReader.name` writes it. Raises ValueError for another text."""
    parts: list[str | int] = []
    at = 0
    while at < len(name):
        match = _PART.match(name, at)
        if match is None:
            raise ValueError("not the text of a name")
        plain = match.group(2)
        if plain is None:
            parts.append(match.group(1).replace("»»", "»"))
        else:
            parts.append(int(plain) if plain.isdigit() else plain)
        at = match.end()
        if at < len(name):
            if name[at] != ".":
                raise ValueError("not the text of a name")
            at += 1
            if at == len(name):
                raise ValueError("not the text of a name")
    return parts


class Declarations:
    """Collects declarations of one table of terms, then writes them."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._roots: list[int] = []
        """Terms that the steps use."""
        self._steps: list[tuple[str, list[str | int | _Term]]] = []
        self._names: dict[str, int] = {"": 0}
        self._name_lines: list[bytes] = []
        self._number: dict[int, int] = {}
        """By term: its number among the levels or the expressions of the document."""

    def forget(self) -> None:
        """A step: go on from an environment with the library alone."""
        self._steps.append(("e", []))

    def group(self, constants: Sequence[Constant], accepted: bool = False) -> None:
        """A step: constants that are declared together, as `plan.groups` yields them.

        `accepted`: an earlier kernel process has accepted the same data after the same steps.
        """
        first = constants[0]
        if first.kind is Kind.INDUCTIVE:
            self._inductive(constants)
            return
        self.declare(first, accepted)

    def declare(self, constant: Constant, accepted: bool = False) -> None:
        """A step: an axiom, a definition, a theorem or an opaque constant. `accepted`: see `group`."""
        terms = [constant.type] if constant.value is None else [constant.type, constant.value]
        hint = [constant.hint] if constant.kind is Kind.DEFINITION else []
        self._roots += terms
        kind = _STEP[constant.kind].upper() if accepted else _STEP[constant.kind]
        self._steps.append((kind, [*self._head(constant), *map(_Term, terms), *hint]))

    def _head(self, constant: Constant) -> list[str | int | _Term]:
        return [constant.name, len(constant.level_parameters), *constant.level_parameters]

    def _inductive(self, constants: Sequence[Constant]) -> None:
        """A step: inductive types and their constructors."""
        first = constants[0]
        by_name = {each.name: each for each in constants}
        types = [each for each in constants if each.kind is Kind.INDUCTIVE]
        fields: list[str | int | _Term] = [len(first.level_parameters), *first.level_parameters]
        fields += [first.parameters, len(types)]
        for each in types:
            self._roots.append(each.type)
            fields += [each.name, _Term(each.type), len(each.constructors)]
            for name in each.constructors:
                self._roots.append(by_name[name].type)
                fields += [name, _Term(by_name[name].type)]
        self._steps.append(("i", fields))

    def written(self, library: Iterable[str], queries: Sequence[str]) -> bytes:
        """The document. `library`: modules to import; `queries`: names of constants whose axioms are asked."""
        # 1. The terms that are used, each after those inside it: numbers of `Terms` grow in that order.
        levels, expressions = self._tables()
        # 2. Steps, imports and queries, which may add names.
        steps = [b" ".join([kind.encode(), *self._fields(fields)]) for kind, fields in self._steps]
        imports = [b"%d" % self._name(name) for name in library]
        asked = [b"%d" % self._name(name) for name in queries]
        # 3. The sections.
        sections = (
            ("names", self._name_lines),
            ("levels", levels),
            ("expressions", expressions),
            ("imports", imports),
            ("steps", steps),
            ("queries", asked),
        )
        lines = [b"proofmesh-declarations 1"]
        for title, entries in sections:
            lines += [f"{title} {len(entries)}".encode(), *entries]
        return b"\n".join([*lines, b"end\n"])

    def _tables(self) -> tuple[list[bytes], list[bytes]]:
        levels: list[bytes] = []
        expressions: list[bytes] = []
        for term in sorted(self._terms.everything_below(self._roots)):
            shape = self._terms.shape(term)
            if shape[0] != "level":
                self._number[term] = len(expressions)
                expressions.append(self._expression(shape))
            elif shape[1] == LevelTag.ZERO:
                self._number[term] = 0
            else:
                levels.append(self._level(shape))
                self._number[term] = len(levels)
        return levels, expressions

    def _fields(self, fields: Sequence[str | int | _Term]) -> Iterator[bytes]:
        for each in fields:
            if isinstance(each, _Term):
                yield b"%d" % self._number[each.number]
            else:
                yield b"%d" % (self._name(each) if isinstance(each, str) else each)

    def _level(self, shape: Shape) -> bytes:
        match shape:
            case ("level", LevelTag.PARAMETER, str(name)):
                return b"p %d" % self._name(name)
            case ("level", int(tag), *below):
                return f"{_LEVEL[LevelTag(tag)]} {' '.join(str(self._number[int(each)]) for each in below)}".encode()  # type: ignore[arg-type]
        raise ValueError("not a universe level")

    def _expression(self, shape: Shape) -> bytes:
        number = self._number
        match shape:
            case (Tag.APPLY, int(function), int(argument)):
                return b"a %d %d" % (number[function], number[argument])
            case (Tag.BOUND, int(index)):
                return b"b %d" % index
            case (Tag.CONSTANT, str(name), tuple(levels)):
                applied = b"".join(b" %d" % number[each] for each in levels)
                return b"c %d %d%s" % (self._name(name), len(levels), applied)
            case (Tag.LAMBDA, int(kind), int(body)):
                return b"l %d %d" % (number[kind], number[body])
            case (Tag.FORALL, int(kind), int(body)):
                return b"p %d %d" % (number[kind], number[body])
            case (Tag.LET, int(kind), int(value), int(body)):
                return b"t %d %d %d" % (number[kind], number[value], number[body])
            case (Tag.SORT, int(level)):
                return b"s %d" % number[level]
            case (Tag.PROJECTION, str(name), int(index), int(inner)):
                return b"j %d %d %d" % (self._name(name), index, number[inner])
            case (Tag.LITERAL, int(value)):
                return b"n %x" % value
            case (Tag.LITERAL, str(text)):
                return b"q " + _measured(text)
        raise ValueError("not an expression")

    def _name(self, name: str) -> int:
        """The number of a name, which is added with its prefixes if it is new."""
        known = self._names.get(name)
        if known is not None:
            return known
        at, text = 0, ""
        for part in parts_of(name):
            shown = str(part) if isinstance(part, int) else quoted(part)
            text = f"{text}.{shown}" if text else shown
            if text not in self._names:
                line = b"n %d %d" % (at, part) if isinstance(part, int) else b"s %d %s" % (at, _measured(part))
                self._name_lines.append(line)
                self._names[text] = len(self._name_lines)
            at = self._names[text]
        if text != name:
            raise ValueError("not the text of a name")
        return at


@dataclass(frozen=True)
class _Term:
    """The number of a term, among the fields of a step."""

    number: int


def _measured(text: str) -> bytes:
    """A text with its length."""
    content = text.encode()
    return b"%d:%s" % (len(content), content)


@dataclass(frozen=True)
class Answer:
    """What the kernel's process said."""

    reasons: tuple[str, ...]
    """For each step, why it is refused; empty if it is accepted."""
    axioms: tuple[frozenset[str] | None, ...]
    """For each query, the axioms; None if the environment has no such constant."""


def read_answer(raw: bytes, steps: int, queries: int) -> Answer:
    """The kernel's answer to a document with so many steps and queries. Raises BadAnswer."""
    try:
        tokens = _Tokens(raw)
        tokens.expect(b"proofmesh-verdicts", b"1", b"steps", b"%d" % steps)
        reasons = tuple(tokens.reason() for _ in range(steps))
        tokens.expect(b"queries", b"%d" % queries)
        axioms = tuple(tokens.axioms() for _ in range(queries))
        tokens.expect(b"end")
    except (ValueError, IndexError) as error:
        raise BadAnswer(str(error)) from error
    return Answer(reasons, axioms)


class _Tokens:
    """The tokens of an answer."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._at = 0

    def word(self) -> bytes:
        match = _WORD.match(self._raw, self._at)
        if match is None:
            raise ValueError("the answer breaks off")
        self._at = match.end()
        return match.group(1)

    def expect(self, *words: bytes) -> None:
        for word in words:
            if self.word() != word:
                raise ValueError(f"{word.decode()} is expected")

    def text(self) -> str:
        colon = self._raw.index(b":", self._at)
        length = int(self._raw[self._at : colon])
        text = self._raw[colon + 1 : colon + 1 + length]
        self._at = colon + 1 + length
        if len(text) != length or self._raw[self._at : self._at + 1] not in (b" ", b"\n"):
            raise ValueError("a text of another length")
        self._at += 1
        return text.decode()

    def reason(self) -> str:
        match self.word():
            case b"y":
                return ""
            case b"n":
                return self.text() or "the kernel rejects it"
        raise ValueError("a verdict is expected")

    def axioms(self) -> frozenset[str] | None:
        match self.word():
            case b"u":
                return None
            case b"k":
                return frozenset(self._name() for _ in range(int(self.word())))
        raise ValueError("axioms are expected")

    def _name(self) -> str:
        parts = [self._part() for _ in range(int(self.word()))]
        return ".".join(parts)

    def _part(self) -> str:
        match self.word():
            case b"s":
                return quoted(self.text())
            case b"n":
                return str(int(self.word()))
        raise ValueError("a part of a name is expected")


_WORD = re.compile(rb"([^ \n]+)[ \n]")
