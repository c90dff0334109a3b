"""Reads the bytes of an .olean file as objects of Lean's runtime, after checking all of them.

An .olean file is a heap that Lean's compactor wrote: a header, then objects one after the other. Each object comes
after the objects that it points to. Pointers are absolute, for the address at which Lean maps the file.

Code that runs during elaboration can write any bytes into the .olean file, so the file is not trusted. The objects must
fill the file without gaps, and each pointer must lead to the start of an earlier object. The objects are therefore
finite and without cycles, and a process that reads the same bytes natively stays inside the file. The reference count
of each object must be 0, because a process that maps the file would free an object with another count.

Layouts: `lean_object` in Lean's `lean.h`, `olean_header` in its `module.cpp`.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MARKER = b"olean"
HEADER_BYTES = 88
"""Marker (5), format (1), flags (1), Lean's version (33), commit (40), address (8)."""

FORMATS = frozenset({2})
_FLAGS_AT = 6
ROOT_FIRST = 1
"""Flag: the pointer to the root follows the header. Without the flag, the pointer is the file's last word."""

LARGEST_CONSTRUCTOR = 244
ARRAY, STRING, INTEGER = 246, 249, 250
"""Tags of objects that are not constructors. Tags up to LARGEST_CONSTRUCTOR are constructor numbers."""

_SCALAR_ARRAY, _THUNK, _TASK = 248, 251, 252
_STRING_BYTES = 32
_ARRAY_WORDS = 3
_SCALAR_ARRAY_BYTES = 24
_INTEGER_BYTES = 24
_BOXED_BITS = 63
"""Natural numbers with fewer bits are boxed: they are in the pointer, not in an object.

The kernel treats a boxed number and an object as different numbers, so a small number in an object is an error.
"""

_COUNT = 0xFFFFFFFF
"""Bits of an object's header that hold the reference count; 0 means that the object is never freed."""

_LIMB_BITS = 64

_PART_BYTES = 2**16
"""The parts of a module begin at multiples of this many bytes behind the first one."""


class BadOlean(Exception):
    """The file is not an .olean file of this format, or an object in it is malformed."""


class UnknownFormat(BadOlean):
    """The module was compiled by a Lean whose .olean format this reader does not support."""


def _mapped(path: Path) -> mmap.mmap:
    """A file, mapped. Raises BadOlean and OSError."""
    with path.open("rb") as file:
        try:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:
            raise BadOlean(f"{path.name}: an empty file") from None


def _header(path: Path, content: mmap.mmap) -> tuple[str, str, int]:
    """Which Lean wrote a file (version and commit), and the address at which it begins. Raises BadOlean."""
    header = content[:HEADER_BYTES]
    if len(header) < HEADER_BYTES or header[:5] != MARKER:
        raise BadOlean(f"{path.name}: not a compiled Lean module")
    if header[5] not in FORMATS:
        raise UnknownFormat(f"{path.name}: compiled modules of format {header[5]} are not supported")
    if len(content) % 8 or len(content) <= HEADER_BYTES:
        raise BadOlean(f"{path.name}: truncated")
    version, commit = (header[at:end].rstrip(b"\0").decode("ascii", "replace") for at, end in ((7, 40), (40, 80)))
    return version, commit, int.from_bytes(header[80:88], "little")


def compiled_by(path: Path) -> str:
    """The version of the Lean that compiled a module. Raises BadOlean and OSError."""
    with _mapped(path) as content:
        return _header(path, content)[0]


@dataclass(frozen=True)
class Node:
    """A constructor object."""

    tag: int
    """The number of the constructor."""
    at: int
    """Position of the first field, in words."""
    objects: int
    """Number of fields that are objects."""
    words: int
    """Number of words after the header, scalar fields included."""


class Region:
    """One compiled module, mapped. Pointers are those of the file; an odd one is a boxed scalar. Call `close` at the
    end.

    A module of Lean's module system has several files, its parts. Pointers of a part may lead into the parts before
    it, so the parts are one region, and the root is that of the last part.
    """

    def __init__(self, path: Path, *more: Path) -> None:
        """Map a file, and the parts that follow it (`more`). Raises BadOlean and OSError."""
        # 1. The files, mapped and not read: only the objects that are asked for cost memory.
        self._map = _mapped(path)
        self.version, self.commit, self._base = _header(path, self._map)
        self.roots: list[int] = []
        """Pointers to the root object of each part."""
        parts = [(0, len(self._map))]
        if more:
            parts += self._join(path, more)
        self._bytes = memoryview(self._map)
        self._size = len(self._bytes)
        self.words = self._bytes.cast("Q")
        # 2. All objects are checked before any is used, so that no later step meets a bad pointer.
        self._starts = bytearray(self._size >> 3)
        """By position in words: 1 where an object begins. A byte each, so a file of tiny objects costs no more memory
        than a file of large ones."""
        for begin, end in parts:
            self._check(begin, end)
        self.root = self.roots[-1]

    def _join(self, path: Path, more: Sequence[Path]) -> list[tuple[int, int]]:
        """Replace the map by a copy of all parts at the distances that their headers name.

        Returns begin and end of each further part, in bytes. Raises BadOlean and OSError.
        """
        # 1. Lean writes the parts at the addresses behind each other that follow from their sizes.
        places = []
        maps = [self._map]
        try:
            end = len(self._map)
            for part in more:
                maps.append(_mapped(part))
                version, commit, base = _header(part, maps[-1])
                if (version, commit) != (self.version, self.commit):
                    raise BadOlean(f"{part.name}: written by another Lean than {path.name}")
                begin = -(-end // _PART_BYTES) * _PART_BYTES
                if base - self._base != begin:
                    raise BadOlean(f"{part.name}: not written together with {path.name}")
                end = begin + len(maps[-1])
                places.append((begin, end))
            # 2. One region. Only the pages between the parts stay empty.
            whole = mmap.mmap(-1, end)
            for (begin, stop), each in zip([(0, len(self._map)), *places], maps, strict=True):
                whole[begin:stop] = each[:]
        finally:
            for each in maps:
                each.close()
        self._map = whole
        return places

    def _check(self, begin: int, end: int) -> None:
        """Check one part, and note its root. `begin`, `end`: in bytes. Raises BadOlean."""
        # The root stands in front of the objects or behind them, as the header says.
        root_first = bool(self._bytes[begin + _FLAGS_AT] & ROOT_FIRST)
        header = (begin + HEADER_BYTES) // 8
        first = header + root_first
        last = end // 8 - (not root_first)
        if last < first:
            raise BadOlean("truncated")
        self._mark_objects(first, last)
        self.roots.append(self.words[header if root_first else end // 8 - 1])
        if not self._begins(self.roots[-1]):
            raise BadOlean("the root pointer does not lead to an object")

    def close(self) -> None:
        """Unmap the file."""
        self.words.release()
        self._bytes.release()
        self._map.close()

    @property
    def pointers(self) -> list[int]:
        """Those of all objects, in the order of the file."""
        return [self._base + 8 * at for at, begins in enumerate(self._starts) if begins]

    def _begins(self, pointer: int) -> bool:
        """True if an object begins at a pointer."""
        distance = pointer - self._base
        return not distance & 7 and 0 <= distance < self._size and bool(self._starts[distance >> 3])

    def _mark_objects(self, first: int, last: int) -> None:
        """Find where objects begin, between two positions in words; see `_starts`. Raises BadOlean."""
        words, base, length, starts = self.words, self._base, self._size, self._starts
        at = first
        while at < last:
            header = words[at]
            tag = header >> 56
            # 1. How far the object reaches, and which of its words are pointers.
            if header & _COUNT:
                raise BadOlean("an object with a reference count")
            pointers: memoryview | tuple[()] = ()
            if tag <= LARGEST_CONSTRUCTOR:
                size = (header >> 32) & 0xFFFF
                objects = (header >> 48) & 0xFF
                if size & 7 or size < 8 + 8 * objects:
                    raise BadOlean("an object that exceeds its space")
                pointers = words[at + 1 : at + 1 + objects]
                end = at + size // 8
            else:
                end, pointers = self._extent(tag, header, at, last)
            # 2. Pointers lead to earlier objects alone: so there are no circles, and every walk ends.
            if end > last:
                raise BadOlean("an object that exceeds its space")
            for pointer in pointers:
                if not pointer & 1:
                    distance = pointer - base
                    if distance & 7 or not 0 <= distance < length or not starts[distance >> 3]:
                        raise BadOlean("a pointer that does not lead to an earlier object")
            starts[at] = 1
            at = end

    def _extent(self, tag: int, header: int, at: int, last: int) -> tuple[int, memoryview | tuple[()]]:
        """The end of an object that is not a constructor, and the pointers in it. Raises BadOlean."""
        if at + _ARRAY_WORDS > last:
            raise BadOlean("an object that exceeds its space")
        words = self.words
        count, capacity = words[at + 1], words[at + 2]
        if tag in (ARRAY, STRING, _SCALAR_ARRAY) and not count <= capacity <= self._size:
            raise BadOlean("an array or string that exceeds its space")
        match tag:
            case _ if tag == ARRAY:
                begin = at + _ARRAY_WORDS
                return begin + capacity, words[begin : begin + count]
            case _ if tag == STRING:
                return at + (_STRING_BYTES + capacity + 7) // 8, ()
            case _ if tag == _SCALAR_ARRAY:
                return at + (_SCALAR_ARRAY_BYTES + capacity * ((header >> 48) & 0xFF) + 7) // 8, ()
            case _ if tag == INTEGER:
                return at + _INTEGER_BYTES // 8 + (count >> 32 & 0x7FFFFFFF), ()
            case _ if tag in (_THUNK, _TASK):
                if words[at + 2]:
                    raise BadOlean("a thunk or task without a value")
                return at + 3, words[at + 1 : at + 2]
        raise BadOlean(f"an object with tag {tag}, which cannot be in a compiled module")

    def node(self, pointer: int, before: int | None = None) -> Node:
        """The constructor object at a pointer. `before`: pointer to the object that contains it. Raises BadOlean."""
        at = self._at(pointer, before)
        header = self.words[at]
        tag, objects, size = header >> 56, (header >> 48) & 0xFF, (header >> 32) & 0xFFFF
        if tag > LARGEST_CONSTRUCTOR:
            raise BadOlean(f"a constructor is expected, but this is an object with tag {tag}")
        return Node(tag, at + 1, objects, size // 8 - 1)

    def array(self, pointer: int, before: int | None = None) -> list[int]:
        """The pointers in an array. Raises BadOlean."""
        at = self._at(pointer, before)
        if self.words[at] >> 56 != ARRAY:
            raise BadOlean("an array is expected, but this is another object")
        begin = at + _ARRAY_WORDS
        return self.words[begin : begin + self.words[at + 1]].tolist()

    def string(self, pointer: int, before: int | None = None) -> str:
        """The text of a string. Raises BadOlean."""
        at = self._at(pointer, before)
        if self.words[at] >> 56 != STRING:
            raise BadOlean("a string is expected, but this is another object")
        size = self.words[at + 1]
        begin = at * 8 + _STRING_BYTES
        if not size or self._bytes[begin + size - 1]:
            raise BadOlean("a string without its final zero byte")
        try:
            return bytes(self._bytes[begin : begin + size - 1]).decode("utf-8")
        except UnicodeDecodeError:
            raise BadOlean("a string that is not UTF-8") from None

    def natural(self, pointer: int, before: int | None = None) -> int:
        """A natural number, boxed or large. Raises BadOlean."""
        if pointer & 1:
            return pointer >> 1
        at = self._at(pointer, before)
        if self.words[at] >> 56 != INTEGER:
            raise BadOlean("a number is expected, but this is another object")
        limbs = self.words[at + 1] >> 32
        begin = at * 8 + _INTEGER_BYTES
        if limbs >> 31 or self.words[at + 2] - self._base != begin:
            raise BadOlean("a number that is negative, or whose digits do not follow its header")
        number = int.from_bytes(self._bytes[begin : begin + limbs * 8], "little")
        if number >> _BOXED_BITS == 0 or number >> (_LIMB_BITS * (limbs - 1)) == 0:
            raise BadOlean("a number that is not in Lean's shortest form")
        return number

    def list_(self, pointer: int, before: int | None = None) -> list[int]:
        """The pointers in a linked list. Raises BadOlean."""
        items = []
        while not pointer & 1:
            cell = self.node(pointer, before)
            if cell.tag != 1 or cell.objects != 2:
                raise BadOlean("a list is expected, but this is another object")
            items.append(self.words[cell.at])
            before, pointer = pointer, self.words[cell.at + 1]
        return items

    def _at(self, pointer: int, before: int | None) -> int:
        """Position of an object, in words. An object must come before the object that contains its pointer."""
        if not self._begins(pointer) or (before is not None and pointer >= before):
            raise BadOlean("a pointer that does not lead to an earlier object")
        return (pointer - self._base) >> 3
