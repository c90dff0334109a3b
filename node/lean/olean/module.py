"""Reads a compiled module: its imports, its constants, and the entries of its environment extensions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from node.lean.olean.region import BadOlean, Node, Region
from node.lean.olean.terms import Tag, TermReader, Terms

PARTS = (".server", ".private")
"""What follows `.olean` in the names of the further files of a compiled module, if its text begins with `module`.

The first file has what other modules see: names and statements, few values, no proofs. The last one has everything, so
nothing is judged without it.
"""


class MissingPart(BadOlean):
    """The compiled module lacks one of its files. The message names it."""


def part(olean: Path, suffix: str) -> Path:
    """The path of a part of a compiled module. `suffix`: one of PARTS."""
    return olean.with_name(olean.name + suffix)


class Kind(IntEnum):
    """Constructors of `Lean.ConstantInfo`, in Lean's order."""

    AXIOM = 0
    DEFINITION = 1
    THEOREM = 2
    OPAQUE = 3
    QUOTIENT = 4
    INDUCTIVE = 5
    CONSTRUCTOR = 6
    RECURSOR = 7


@dataclass(frozen=True)
class Constant:
    """One declared constant. A term is a number in the `Terms` that the module was read into."""

    name: str
    kind: Kind
    level_parameters: tuple[str, ...]
    type: int
    value: int | None = None
    """The value of a definition, theorem or opaque constant."""
    safe: bool = True
    """False for `unsafe` and `partial` constants: the kernel does not let a safe constant use them."""
    hint: int = 0
    """When the kernel unfolds a definition: 0 opaque, 1 abbreviation, 2 + its height. It has no meaning for proofs."""
    parameters: int = 0
    """For an inductive type and its constructors: the number of arguments that are parameters."""
    constructors: tuple[str, ...] = ()
    """The constructors of an inductive type."""
    mutual: tuple[str, ...] = ()
    """Names of the constants that are declared together with this one, including this one."""
    inductive: str = ""
    """For a constructor: its type. For a recursor: its type, or the first one of a mutual group."""
    pointer: int = 0
    """Pointer to the constant's object in the file."""
    binders: tuple[tuple[str, int], ...] = ()
    """Of a theorem or definition: name and binder info (3: an instance) of each hypothesis that its type begins with.
    The kernel ignores both."""


@dataclass(frozen=True)
class Entry:
    """The module's data for one environment extension: pointers into the file."""

    pointers: tuple[int, ...]


class Module:
    """A compiled module, with all its parts. Call `close` at the end."""

    def __init__(self, path: Path, terms: Terms) -> None:
        """Read a file, and its parts next to it if it has some (see PARTS). Raises BadOlean and OSError."""
        self.region = Region(path)
        try:
            self.is_split = _is_split(self.region)
            """True if its text begins with `module`."""
            if self.is_split:
                self.region.close()
                self.region = Region(path, *_parts(path))
                if not all(_is_split(self.region, root) for root in self.region.roots):
                    raise BadOlean("one of its files is not a part of a module")
            self.reader = TermReader(self.region, terms)
            self._read()
        except BaseException:
            self.region.close()
            raise

    def close(self) -> None:
        """Unmap the file."""
        self.region.close()

    def _places(self) -> dict[str, tuple[int, int]]:
        """See `places`. Raises BadOlean."""
        entry = self.entries.get("Lean.declRangeExt")
        starts = {}
        for pointer in entry.pointers if entry else ():
            pair = self._fields(pointer, None, 2)
            range_ = self._fields(self._fields(pair[1], pointer, 2)[0], pair[1], 4)
            place = self._fields(range_[0], pair[1], 2)
            line, column = (self.region.natural(each, pair[1]) for each in place)
            starts[self.reader.name(pair[0], pointer)] = (line, column)
        return starts

    def _fields(self, pointer: int, before: int | None, count: int) -> list[int]:
        """The first `count` fields of a constructor object. Raises BadOlean if it has fewer."""
        node = self.region.node(pointer, before)
        if node.objects < count:
            raise BadOlean("an object with too few fields")
        return self.region.words[node.at : node.at + count].tolist()

    def _read(self) -> None:
        region, words = self.region, self.region.words
        # 1. The root, of the last part if there are several: only that one has all constants and their values.
        root = region.node(region.root)
        imports, names, constants, extra, entries = words[root.at : root.at + root.objects].tolist()
        # 2. Imports and constants. The list of names must be that of the constants, because Lean looks them up by it.
        self.imports: tuple[str, ...] = tuple(
            self.reader.name(words[region.node(item, imports).at], item) for item in region.array(imports, region.root)
        )
        pointers = region.array(constants, region.root)
        self.constants: Mapping[str, Constant] = {
            constant.name: constant for constant in (self._constant(pointer, constants) for pointer in pointers)
        }
        listed = [self.reader.name(pointer, names) for pointer in region.array(names, region.root)]
        if listed != list(self.constants) or len(pointers) != len(listed):
            raise BadOlean("the constants do not match the module's list of names")
        # 3. Names that are looked up later, and the entries of extensions.
        for pointer in region.array(extra, region.root):
            self.reader.name(pointer, extra)  # Lean reads these names when another file imports the module: check them
        self.entries: Mapping[str, Entry] = dict(
            self._entry(item, entries) for item in region.array(entries, region.root)
        )
        self.places: Mapping[str, tuple[int, int]] = self._places()
        """The line (from 1) and column (from 0) where each declaration begins, by name."""

    def _entry(self, pointer: int, before: int) -> tuple[str, Entry]:
        pair = self.region.node(pointer, before)
        name, array = self.region.words[pair.at], self.region.words[pair.at + 1]
        return self.reader.name(name, pointer), Entry(tuple(self.region.array(array, pointer)))

    def _constant(self, pointer: int, before: int) -> Constant:
        outer = self.region.node(pointer, before)
        words = self.region.words
        if outer.tag > max(Kind) or outer.objects != 1:
            raise BadOlean("a constant is expected, but this is another object")
        kind = Kind(outer.tag)
        at = words[outer.at]
        node = self.region.node(at, pointer)
        if node.objects != _FIELDS[kind]:
            raise BadOlean(f"a constant ({kind.name.lower()}) with {node.objects} fields instead of {_FIELDS[kind]}")
        fields = words[node.at : node.at + node.objects].tolist()
        common = self.region.node(fields[0], at)
        if common.objects != _COMMON_FIELDS:
            raise BadOlean("a constant without name, universe parameters and type")
        name, levels, type_ = words[common.at : common.at + _COMMON_FIELDS].tolist()
        details = self._details(kind, fields, node, at)
        if kind in (Kind.THEOREM, Kind.DEFINITION):
            details["binders"] = tuple(self._binders(type_))
        return Constant(
            self.reader.name(name, fields[0]),
            kind,
            self.reader.names(levels, fields[0]),
            self.reader.expression(type_, fields[0]),
            pointer=pointer,
            **details,  # type: ignore[arg-type]
        )

    def _binders(self, pointer: int) -> Iterator[tuple[str, int]]:
        """See `Constant.binders`. The expression has been read before."""
        while True:
            node = self.region.node(pointer)
            # A list, because a slice that an exception keeps alive would keep the file mapped.
            words = self.region.words[node.at : node.at + node.words].tolist()
            if node.tag == Tag.FORALL:
                info = words[4] & 0xFF if len(words) > 4 else 0  # behind three fields and the summary
                yield self.reader.name(words[0]), info
                pointer = words[2]
            elif node.tag == Tag.NOTE:
                pointer = words[1]
            else:
                return

    def _details(self, kind: Kind, fields: list[int], node: Node, at: int) -> dict[str, object]:
        """The attributes of a `Constant` that depend on its kind."""
        region, reader = self.region, self.reader
        flags = self._flags(node, kind)
        match kind:
            case Kind.AXIOM:
                return {"safe": not flags[0]}
            case Kind.DEFINITION:
                # DefinitionSafety: unsafe, safe, partial.
                return {
                    "value": reader.expression(fields[1], at),
                    "hint": self._hint(fields[2], at),
                    "safe": flags[0] == 1,
                    "mutual": reader.names(fields[3], at),
                }
            case Kind.THEOREM:
                return {"value": reader.expression(fields[1], at), "mutual": reader.names(fields[2], at)}
            case Kind.OPAQUE:
                mutual = reader.names(fields[2], at)
                return {"value": reader.expression(fields[1], at), "safe": not flags[0], "mutual": mutual}
            case Kind.INDUCTIVE:
                # Flags: isRec, isUnsafe, isReflexive.
                return {
                    "parameters": region.natural(fields[1], at),
                    "mutual": reader.names(fields[3], at),
                    "constructors": reader.names(fields[4], at),
                    "safe": not flags[1],
                }
            case Kind.CONSTRUCTOR:
                return {
                    "inductive": reader.name(fields[1], at),
                    "parameters": region.natural(fields[3], at),
                    "safe": not flags[0],
                }
            case Kind.RECURSOR:
                # Flags: k, isUnsafe.
                mutual = reader.names(fields[1], at)
                return {"mutual": mutual, "inductive": mutual[0] if mutual else "", "safe": not flags[1]}
        return {}

    def _flags(self, node: Node, kind: Kind) -> bytes:
        """The bytes behind a constant's fields. Raises BadOlean for a value that Lean never writes."""
        values = _FLAGS.get(kind, ())
        if node.words <= node.objects and values:
            raise BadOlean(f"a constant ({kind.name.lower()}) without its flags")
        flags = self.region.words[node.at + node.objects].to_bytes(8, "little") if values else b""
        # Lean's kernel and compiler may each read a value that does not exist as another one.
        if any(flag > largest for flag, largest in zip(flags, values, strict=False)):
            raise BadOlean(f"a constant ({kind.name.lower()}) with a flag that does not exist")
        return flags

    def _hint(self, pointer: int, before: int) -> int:
        """When the kernel unfolds a definition, see `Constant.hint`. Raises BadOlean."""
        if pointer & 1:
            if pointer >> 1 > 1:
                raise BadOlean("a definition with an unknown hint")
            return pointer >> 1
        node = self.region.node(pointer, before)
        if node.tag != _REGULAR or node.objects or not node.words:
            raise BadOlean("a definition with an unknown hint")
        return 2 + (self.region.words[node.at] & 0xFFFFFFFF)


def _is_split(region: Region, root: int | None = None) -> bool:
    """Whether the data at a root (the region's own one by default) is a part of a module. Raises BadOlean."""
    node = region.node(region.root if root is None else root)
    if node.objects != _ROOT_FIELDS:
        raise BadOlean(f"the module's data has {node.objects} fields instead of {_ROOT_FIELDS}")
    flag = region.words[node.at + node.objects] & 0xFF if node.words > node.objects else 0
    if flag > 1:
        raise BadOlean("the module's data has a flag that does not exist")
    return bool(flag)


def _parts(path: Path) -> list[Path]:
    """The further files of a compiled module. Raises MissingPart."""
    parts = [part(path, suffix) for suffix in PARTS]
    for each in parts:
        if each.is_symlink() or not each.is_file():
            raise MissingPart(f"the compiled module has no file {each.name}: compile it again (`lake build`)")
    return parts


def imports_of(path: Path) -> list[str]:
    """The modules that a compiled module imports. Raises BadOlean and OSError."""
    region = Region(path)
    try:
        reader = TermReader(region, Terms())
        imports = region.words[region.node(region.root).at]
        items = region.array(imports, region.root)
        return [reader.name(region.words[region.node(item, imports).at], item) for item in items]
    finally:
        region.close()


_REGULAR = 2
"""Constructor number of `ReducibilityHints.regular`."""

_FLAGS: dict[Kind, tuple[int, ...]] = {
    Kind.AXIOM: (1,),
    Kind.DEFINITION: (2,),
    Kind.OPAQUE: (1,),
    Kind.QUOTIENT: (3,),
    Kind.INDUCTIVE: (1, 1, 1),
    Kind.CONSTRUCTOR: (1,),
    Kind.RECURSOR: (1, 1),
}
"""The largest value of each flag, in this order: isUnsafe | safety | isUnsafe | kind | isRec, isUnsafe, isReflexive |
isUnsafe | k, isUnsafe."""

_ROOT_FIELDS = 5
_COMMON_FIELDS = 3
_FIELDS = {
    Kind.AXIOM: 1,
    Kind.DEFINITION: 4,
    Kind.THEOREM: 3,
    Kind.OPAQUE: 3,
    Kind.QUOTIENT: 1,
    Kind.INDUCTIVE: 6,
    Kind.CONSTRUCTOR: 5,
    Kind.RECURSOR: 7,
}
"""The number of fields that are objects, by kind."""
