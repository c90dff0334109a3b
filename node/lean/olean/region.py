"""The bytes of an .olean file as objects of Lean's runtime, each looked at only after its bounds were checked.

An .olean file is a heap that Lean's compactor wrote: a header, then objects one behind the other, each after those that
it points to. Pointers are absolute, for the address at which Lean maps the file. Whoever elaborates a file decides what
stands in its .olean file, so nothing here is believed: a pointer must lead into the file, and backwards. The objects
are therefore finite and without circles, and a process that reads the same bytes natively stays inside of them.
Layouts: `lean_object` in Lean's `lean.h`, `olean_header` in its `module.cpp`.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from pathlib import Path

MARKER = b"olean"
HEADER_BYTES = 88
"""Marker (5), format (1), flags (1), Lean's version (33), commit (40), address (8)."""

FORMATS = frozenset({2})
ROOT_FIRST = 1
"""Flag: the pointer to the root stands behind the header. Without it, the pointer is the file's last word."""

LARGEST_CONSTRUCTOR = 244
ARRAY, STRING, INTEGER = 246, 249, 250
"""Tags of objects that are not constructors. A tag up to LARGEST_CONSTRUCTOR is the number of a constructor."""

_STRING_BYTES = 32
_ARRAY_WORDS = 3
_INTEGER_BYTES = 24
_LIMB_BITS = 64


class BadOlean(Exception):
    """The file is no .olean file of this format, or its objects are not what they should be."""


@dataclass(frozen=True)
class Node:
    """A constructor object: its number, where its fields begin (in words), and how many of them are objects."""

    tag: int
    at: int
    objects: int
    words: int
    """Number of words that belong to the object behind its header, those of scalar fields included."""


class Region:
    """One mapped .olean file. Pointers are as in the file; a boxed scalar is an odd number. `close` it in the end."""

    def __init__(self, path: Path) -> None:
        """Map a file. Raises BadOlean and OSError."""
        with path.open("rb") as file:
            try:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except ValueError:
                raise BadOlean(f"{path.name}: an empty file") from None
        self._bytes = memoryview(self._map)
        header = bytes(self._bytes[:HEADER_BYTES])
        if len(header) < HEADER_BYTES or header[:5] != MARKER:
            raise BadOlean(f"{path.name}: not a compiled Lean module")
        if header[5] not in FORMATS:
            raise BadOlean(f"{path.name}: format {header[5]} of compiled modules is not known here")
        if len(self._bytes) % 8:
            raise BadOlean(f"{path.name}: cut short")
        self.version = header[7:40].rstrip(b"\0").decode("ascii", "replace")
        self.commit = header[40:80].rstrip(b"\0").decode("ascii", "replace")
        self._base = int.from_bytes(header[80:88], "little")
        self._size = len(self._bytes)
        self.words = self._bytes.cast("Q")
        self.root = self.words[HEADER_BYTES // 8 if header[6] & ROOT_FIRST else -1]

    def close(self) -> None:
        """Unmap the file."""
        self.words.release()
        self._bytes.release()
        self._map.close()

    def node(self, pointer: int, before: int | None = None) -> Node:
        """The constructor object behind a pointer; `before`: the pointer to what holds it. Raises BadOlean."""
        at = self._at(pointer, before)
        header = self.words[at]
        tag, objects, size = header >> 56, (header >> 48) & 0xFF, (header >> 32) & 0xFFFF
        if tag > LARGEST_CONSTRUCTOR:
            raise BadOlean(f"an object with tag {tag} where a constructor is expected")
        words = size // 8 - 1
        if words < objects or (at + 1 + words) * 8 > self._size:
            raise BadOlean("an object that is larger than its place")
        return Node(tag, at + 1, objects, words)

    def array(self, pointer: int, before: int | None = None) -> list[int]:
        """The pointers in an array. Raises BadOlean."""
        at = self._at(pointer, before)
        if self.words[at] >> 56 != ARRAY:
            raise BadOlean("no array where one is expected")
        size = self.words[at + 1]
        begin = at + _ARRAY_WORDS
        if size > self._size // 8 or begin + size > self._size // 8:
            raise BadOlean("an array that is larger than the file")
        return self.words[begin : begin + size].tolist()

    def string(self, pointer: int, before: int | None = None) -> str:
        """The text of a string. Raises BadOlean."""
        at = self._at(pointer, before)
        if self.words[at] >> 56 != STRING:
            raise BadOlean("no string where one is expected")
        size = self.words[at + 1]
        begin = at * 8 + _STRING_BYTES
        if not 1 <= size <= self._size - begin or self._bytes[begin + size - 1]:
            raise BadOlean("a string that is larger than the file, or does not end")
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
            raise BadOlean("no number where one is expected")
        limbs = self.words[at + 1] >> 32
        begin = self.words[at + 2] - self._base
        if limbs >> 31 or begin != at * 8 + _INTEGER_BYTES or begin + limbs * 8 > self._size:
            raise BadOlean("a number that is negative or larger than the file")
        return int.from_bytes(self._bytes[begin : begin + limbs * 8], "little")

    def list_(self, pointer: int, before: int | None = None) -> list[int]:
        """The pointers in a linked list. Raises BadOlean."""
        found = []
        while not pointer & 1:
            cell = self.node(pointer, before)
            if cell.tag != 1 or cell.objects != 2:
                raise BadOlean("no list where one is expected")
            found.append(self.words[cell.at])
            before, pointer = pointer, self.words[cell.at + 1]
        return found

    def _at(self, pointer: int, before: int | None) -> int:
        """Position of an object, in words. Objects stand behind those that they point to."""
        offset = pointer - self._base
        if pointer & 7 or not HEADER_BYTES <= offset <= self._size - 16 or (before is not None and pointer >= before):
            raise BadOlean("a pointer that leads out of the file, or forwards")
        return offset >> 3
