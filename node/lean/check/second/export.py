"""Writes constants of compiled modules in lean4export's NDJSON format, version 3.1.

The second kernel reads this format, and so do other people's checkers. A constant comes after those that it uses.
Names of bound variables and binder kinds have no meaning to a kernel, and the reader of .olean files leaves them out:
every binder is written as `x`, `default`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from node.lean.olean.module import Constant, Kind, Module
from node.lean.olean.region import BadOlean
from node.lean.olean.terms import ANONYMOUS, LevelTag, Tag, Terms, children

FORMAT = "3.1.0"

MOST_KEPT_TERMS = 5_000_000
"""Of a library and the files that were read after it."""

_BINDER = "x"
_LITERAL_USES = {int: ("Nat",), str: ("String", "String.ofList", "Char.ofNat", "List")}
"""What a literal stands for: `"ab"` is `String.ofList [Char.ofNat 97, Char.ofNat 98]`."""

_LEVEL_KEYS = {LevelTag.SUCCESSOR: "succ", LevelTag.MAX: "max", LevelTag.IMAX: "imax"}
_QUOTIENT = ("Quot", "Quot.mk", "Quot.lift", "Quot.ind")


@dataclass(frozen=True)
class Exported:
    """What was written."""

    trusted: int
    """The number of declarations (lines) that belong to the first modules."""
    declarations: int
    names: tuple[str, ...]
    """The constants that were asked for, in order."""


@dataclass(frozen=True)
class _Rule:
    constructor: str
    fields: int
    right: int


@dataclass(frozen=True)
class _Details:
    """Fields of a constant that only an export needs. The kernel does not believe them."""

    numbers: tuple[int, ...] = ()
    flags: int = 0
    hints: object = "opaque"
    rules: tuple[_Rule, ...] = ()


class _Source:
    """All constants of some modules, by name."""

    def __init__(self, modules: Sequence[Module], before: _Source | None = None) -> None:
        """`before`: the library."""
        self.modules: list[Module] = [*(before.modules if before else ()), *modules]
        self.libraries = len(before.modules) if before else 0
        self.constants: dict[str, Constant] = dict(before.constants) if before else {}
        self.owner: dict[str, int] = dict(before.owner) if before else {}
        self.recursors: dict[str, list[Constant]] = (
            {name: list(each) for name, each in before.recursors.items()} if before else {}
        )
        for at, module in enumerate(modules, self.libraries):
            for name, constant in module.constants.items():
                if (other := self.constants.get(name)) is not None:
                    # Lean lets two modules make the same lemma about a definition. One of the proofs is checked.
                    if not _same_theorem(constant, other):
                        raise BadOlean(f"{name} is declared in two modules")
                    continue
                self.constants[name] = constant
                self.owner[name] = at
                if constant.kind is Kind.RECURSOR:
                    self.recursors.setdefault(constant.inductive, []).append(constant)

    def constant(self, name: str) -> Constant:
        constant = self.constants.get(name)
        if constant is None:
            raise BadOlean(f"{name} is used, but no module declares it")
        return constant

    def trusted(self, name: str) -> bool:
        return self.owner[name] < self.libraries

    def details(self, constant: Constant) -> _Details:
        """Reads them from the file. Raises BadOlean."""
        # 1. The object and its scalar fields.
        module = self.modules[self.owner[constant.name]]
        region, reader = module.region, module.reader
        at = region.words[region.node(constant.pointer).at]
        node = region.node(at)
        fields = region.words[node.at : node.at + node.objects].tolist()
        flags = region.words[node.at + node.objects] if node.words > node.objects else 0
        numbers: tuple[int, ...] = ()
        hints: object = "opaque"
        rules: list[_Rule] = []
        # 2. By kind.
        match constant.kind:
            case Kind.DEFINITION:
                hints = _hints(module, fields[2], at)
            case Kind.INDUCTIVE:
                numbers = tuple(region.natural(fields[k], at) for k in (1, 2, 5))
            case Kind.CONSTRUCTOR:
                numbers = tuple(region.natural(fields[k], at) for k in (2, 3, 4))
            case Kind.RECURSOR:
                numbers = tuple(region.natural(fields[k], at) for k in (2, 3, 4, 5))
                for pointer in region.list_(fields[6], at):
                    rule = region.node(pointer, at)
                    if rule.objects != 3:
                        raise BadOlean(f"a rule of {constant.name} with {rule.objects} fields instead of 3")
                    name, count, right = region.words[rule.at : rule.at + 3].tolist()
                    rules.append(
                        _Rule(
                            reader.name(name, pointer),
                            region.natural(count, pointer),
                            reader.expression(right, pointer),
                        )
                    )
        return _Details(numbers, flags, hints, tuple(rules))


def _same_theorem(one: Constant, other: Constant) -> bool:
    """Two theorems with the same statement."""
    same = one.type == other.type and one.level_parameters == other.level_parameters
    return same and one.kind is Kind.THEOREM and other.kind is Kind.THEOREM


def _hints(module: Module, pointer: int, before: int) -> object:
    """`ReducibilityHints`: two constants, or a height of 32 bits."""
    if pointer & 1:
        return "abbrev" if pointer >> 1 == 1 else "opaque"
    node = module.region.node(pointer, before)
    return {"regular": module.region.words[node.at + node.objects] & 0xFFFFFFFF} if node.words else "opaque"


class Exporter:
    """Writes lines to a file; each name, level and expression once."""

    def __init__(self, source: _Source, terms: Terms, out: IO[str]) -> None:
        self._source = source
        self._terms = terms
        self._out = out
        self._names: dict[str, int] = {ANONYMOUS: 0}
        self._levels: dict[int, int] = {}
        self._expressions: dict[int, int] = {}
        self._parameters: dict[str, int] = {}
        self._level_count = 0  # number 0 is the level zero, which has no line

    def meta(self) -> None:
        """Write the first line."""
        module = self._source.modules[0].region
        about = {
            "exporter": {"name": "proofmesh", "version": FORMAT},
            "lean": {"githash": module.commit, "version": module.version},
            "format": {"version": FORMAT},
        }
        self._line({"meta": about})

    def _line(self, content: object) -> None:
        self._out.write(json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n")

    # --- names, levels, expressions ---------------------------------------------------------------------------------

    def name(self, name: str) -> int:
        """The number of a name."""
        number = self._names.get(name)
        if number is None:
            pre = 0
            done = ""
            for part, shown in _parts(name):
                done = f"{done}.{shown}" if done else shown
                number = self._names.get(done)
                if number is None:
                    number = len(self._names)
                    self._names[done] = number
                    content = {"i": part} if isinstance(part, int) else {"str": part}
                    self._line({"in": number, "num" if isinstance(part, int) else "str": {"pre": pre, **content}})
                pre = number
            assert number is not None
        return number

    def _level(self, level: int) -> int:
        waiting = [level]
        while waiting:
            top = waiting[-1]
            if top in self._levels:
                waiting.pop()
                continue
            _, tag, *below = self._terms.shape(top)
            if tag == LevelTag.ZERO:
                self._levels[top] = 0
                continue
            if tag == LevelTag.PARAMETER:
                self._levels[top] = self._parameter(str(below[0]))
                continue
            inner = [child for child in below if isinstance(child, int)]
            missing = [child for child in inner if child not in self._levels]
            if missing:
                waiting += missing
                continue
            written = [self._levels[child] for child in inner]
            self._level_count += 1
            self._levels[top] = self._level_count
            content = written[0] if tag == LevelTag.SUCCESSOR else written
            self._line({_LEVEL_KEYS[LevelTag(int(str(tag)))]: content, "il": self._level_count})
        return self._levels[level]

    def _parameter(self, name: str) -> int:
        """The number of a universe parameter. nanoda wants each parameter of a declaration to have one."""
        number = self._parameters.get(name)
        if number is None:
            content = self.name(name)
            self._level_count += 1
            number = self._parameters[name] = self._level_count
            self._line({"param": content, "il": number})
        return number

    def expression(self, term: int) -> int:
        """The number of an expression, written with all that is in it."""
        waiting = [term]
        written = self._expressions
        while waiting:
            top = waiting[-1]
            if top in written:
                waiting.pop()
                continue
            shape = self._terms.shape(top)
            below = children(shape)
            missing = [child for child in below if child not in written]
            if missing:
                waiting += missing
                continue
            content = self._content(shape, [written[child] for child in below])
            number = written[top] = len(written)
            self._line({**content, "ie": number})
            waiting.pop()
        return written[term]

    def _content(self, shape: tuple[object, ...], below: list[int]) -> dict[str, object]:
        match shape:
            case (Tag.BOUND, int(index)):
                return {"bvar": index}
            case (Tag.SORT, int(level)):
                return {"sort": self._level(level)}
            case (Tag.CONSTANT, str(name), tuple(levels)):
                return {"const": {"name": self.name(name), "us": [self._level(level) for level in levels]}}
            case (Tag.APPLY, _, _):
                return {"app": {"fn": below[0], "arg": below[1]}}
            case (Tag.LAMBDA | Tag.FORALL, _, _):
                key = "lam" if shape[0] == Tag.LAMBDA else "forallE"
                binder = {"name": self.name(_BINDER), "type": below[0], "body": below[1], "binderInfo": "default"}
                return {key: binder}
            case (Tag.LET, _, _, _):
                binder = {"name": self.name(_BINDER), "type": below[0], "value": below[1], "body": below[2]}
                return {"letE": {**binder, "nondep": False}}
            case (Tag.LITERAL, int(value)):
                return {"natVal": str(value)}
            case (Tag.LITERAL, str(text)):
                return {"strVal": text}
            case (Tag.PROJECTION, str(name), int(index), _):
                return {"proj": {"typeName": self.name(name), "idx": index, "struct": below[0]}}
        raise BadOlean("an expression that cannot be exported")

    # --- declarations -----------------------------------------------------------------------------------------------

    def declare(self, group: Sequence[Constant]) -> None:
        """Write one declaration: a constant, or inductive types with constructors and recursors."""
        first = group[0]
        if first.kind is Kind.INDUCTIVE:
            kinds = ((Kind.INDUCTIVE, "types"), (Kind.CONSTRUCTOR, "ctors"), (Kind.RECURSOR, "recs"))
            parts = {key: [self._fields(each) for each in group if each.kind is kind] for kind, key in kinds}
            self._line({"inductive": parts})
            return
        for each in group:
            key = {
                Kind.AXIOM: "axiom",
                Kind.DEFINITION: "def",
                Kind.THEOREM: "thm",
                Kind.OPAQUE: "opaque",
                Kind.QUOTIENT: "quot",
            }[each.kind]
            self._line({key: self._fields(each)})

    def _fields(self, constant: Constant) -> dict[str, object]:
        for each in constant.level_parameters:
            self._parameter(each)
        # 1. What all constants have.
        fields: dict[str, object] = {
            "name": self.name(constant.name),
            "levelParams": [self.name(each) for each in constant.level_parameters],
            "type": self.expression(constant.type),
        }
        details = self._source.details(constant)
        flags, numbers = details.flags, details.numbers
        if constant.value is not None:
            fields["value"] = self.expression(constant.value)
        if constant.kind in (Kind.DEFINITION, Kind.THEOREM, Kind.OPAQUE):
            fields["all"] = self._named(constant.mutual)
        # 2. By kind.
        match constant.kind:
            case Kind.AXIOM | Kind.OPAQUE:
                fields["isUnsafe"] = not constant.safe
            case Kind.DEFINITION:
                safety = {0: "unsafe", 1: "safe"}.get(flags & 0xFF, "partial")
                fields |= {"hints": details.hints, "safety": safety}
            case Kind.QUOTIENT:
                fields["kind"] = ("type", "ctor", "lift", "ind")[flags & 3]
            case Kind.INDUCTIVE:
                fields |= dict(zip(("numParams", "numIndices", "numNested"), numbers, strict=True))
                fields |= {"all": self._named(constant.mutual), "ctors": self._named(constant.constructors)}
                bits = (("isRec", 0), ("isUnsafe", 8), ("isReflexive", 16))
                fields |= {key: bool(flags >> bit & 0xFF) for key, bit in bits}
            case Kind.CONSTRUCTOR:
                fields |= dict(zip(("cidx", "numParams", "numFields"), numbers, strict=True))
                fields |= {"induct": self.name(constant.inductive), "isUnsafe": not constant.safe}
            case Kind.RECURSOR:
                fields |= dict(zip(("numParams", "numIndices", "numMotives", "numMinors"), numbers, strict=True))
                fields["rules"] = [
                    {"ctor": self.name(rule.constructor), "nfields": rule.fields, "rhs": self.expression(rule.right)}
                    for rule in details.rules
                ]
                fields |= {"all": self._named(constant.mutual), "k": bool(flags & 0xFF)}
                fields["isUnsafe"] = not constant.safe
        return fields

    def _named(self, names: Iterable[str]) -> list[int]:
        return [self.name(each) for each in names]


def _parts(name: str) -> list[tuple[str | int, str]]:
    """The parts of a name, each as it is and as the reader shows it: digits are a number, «» hold any other text."""
    parts: list[tuple[str | int, str]] = []
    at = 0
    while at < len(name):
        if name[at] == "«":
            end = at + 1
            while name[end] != "»" or name[end + 1 : end + 2] == "»":
                end += 2 if name[end] == "»" else 1
            parts.append((name[at + 1 : end].replace("»»", "»"), name[at : end + 1]))
            at = end + 2
            continue
        end = name.find(".", at)
        end = len(name) if end < 0 else end
        part = name[at:end]
        # `isdigit` is what the reader asks too: it quotes every text of which that is true.
        parts.append((int(part) if part.isdigit() else part, part))
        at = end + 1
    return parts


def _group(source: _Source, constant: Constant) -> list[Constant]:
    """The constants that are declared together with one."""
    if constant.kind is Kind.QUOTIENT:
        group = [source.constant(name) for name in _QUOTIENT]
    elif constant.kind is Kind.INDUCTIVE:
        types = [source.constant(name) for name in constant.mutual]
        makers = [source.constant(name) for each in types for name in each.constructors]
        first = constant.mutual[0] if constant.mutual else ""
        group = [*types, *makers, *source.recursors.get(first, [])]
    else:
        return [constant]
    if constant not in group or len({source.owner[each.name] for each in group}) != 1:
        raise BadOlean(f"{constant.name} is in a group that does not contain it, or that two modules declare")
    return group


def _uses(source: _Source, terms: Terms, group: Sequence[Constant]) -> list[str]:
    """The constants that a group names, in the order of their appearance."""
    found: dict[str, None] = {}
    roots = [term for each in group for term in (each.type, each.value) if term is not None]
    for each in group:
        if each.kind is Kind.RECURSOR:
            roots += [rule.right for rule in source.details(each).rules]
    if group[0].kind is Kind.QUOTIENT:
        found["Eq"] = None
    seen = set(roots)
    while roots:
        shape = terms.shape(roots.pop())
        match shape:
            case (Tag.CONSTANT | Tag.PROJECTION, str(name), *_):
                found[name] = None
            case (Tag.LITERAL, value):
                found.update(dict.fromkeys(_LITERAL_USES[type(value)]))
        for child in children(shape):
            if child not in seen:
                seen.add(child)
                roots.append(child)
    return list(found)


def _in_order(source: _Source, terms: Terms, roots: Iterable[str]) -> list[list[Constant]]:
    """The groups that constants need, each after those that it uses; the libraries' first. Raises BadOlean."""
    placed: set[str] = set()
    open_: set[str] = set()
    order: list[list[Constant]] = []
    # Depth first with an explicit stack, because chains of definitions can be deeper than Python's recursion limit.
    for root in roots:
        waiting: list[tuple[str, list[Constant]]] = [(root, [])]
        while waiting:
            # 1. A group whose uses are all placed.
            name, ready = waiting.pop()
            if ready:
                placed.update(each.name for each in ready)
                open_.difference_update(each.name for each in ready)
                order.append(ready)
                continue
            if name in placed:
                continue
            # 2. The group of a new constant.
            constant = source.constant(name)
            if constant.kind in (Kind.CONSTRUCTOR, Kind.RECURSOR):
                constant = source.constant(constant.inductive)
                if constant.kind is not Kind.INDUCTIVE:
                    raise BadOlean(f"{name} does not belong to an inductive type")
            group = _group(source, constant)
            members = {each.name for each in group}
            if name not in members:
                raise BadOlean(f"{name} does not belong to {constant.name}")
            if name in open_:
                raise BadOlean(f"{name} uses itself")
            # 3. First what it uses, then the group itself.
            open_ |= members
            waiting.append((name, group))
            below = [each for each in _uses(source, terms, group) if each not in members and each not in placed]
            if any(each in open_ for each in below):
                raise BadOlean(f"{name} uses a constant that uses {name}")
            waiting += [(each, []) for each in reversed(below)]
    return sorted(order, key=lambda group: not source.trusted(group[0].name))


class Library:
    """Compiled modules that are read once, for exports of many files that import them. Call `close` at the end."""

    def __init__(self, paths: Sequence[Path]) -> None:
        """Raises BadOlean and OSError."""
        self._terms = Terms()
        self._lock = threading.Lock()
        with ExitStack() as stack:
            self._source = _Source([_opened(path, self._terms, stack) for path in paths])
            self._stack = stack.pop_all()

    def close(self) -> None:
        """Unmap the files."""
        self._stack.close()

    @property
    def large(self) -> bool:
        """True when terms of files have piled up, so that the library should be read anew."""
        return self._terms.count > MOST_KEPT_TERMS

    def export(self, paths: Sequence[Path], out: IO[str], names: Iterable[str] | None = None) -> Exported:
        """Write constants and all that they use. Raises BadOlean and OSError.

        `paths`: more modules, in the order of imports. `names`: the constants; None means all that are safe.
        """
        with self._lock, ExitStack() as stack:
            source = _Source([_opened(path, self._terms, stack) for path in paths], self._source)
            if not source.modules:
                raise BadOlean("no module to export")
            if names is None:
                names = [name for name, constant in source.constants.items() if constant.safe]
            names = tuple(names)
            order = _in_order(source, self._terms, names)
            exporter = Exporter(source, self._terms, out)
            exporter.meta()
            for group in order:
                exporter.declare(group)
        lines = [len(group) if group[0].kind is Kind.QUOTIENT else 1 for group in order]
        trusted = [count for group, count in zip(order, lines, strict=True) if source.trusted(group[0].name)]
        return Exported(sum(trusted), sum(lines), names)


def _opened(path: Path, terms: Terms, stack: ExitStack) -> Module:
    module = Module(path, terms)
    stack.callback(module.close)
    return module
