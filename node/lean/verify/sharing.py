"""Which proofs of a compiled batch lean on another one's declarations. Reads the .olean file; no Lean needed.

Names with random tokens keep a proof from naming its neighbours. But Lean makes auxiliary declarations by itself
(`match_1`, `_proof_1`), and where two proofs need the same one, it may make it once (versions that elaborate theorems
one after another do). Then the second proof is checked with the first one's declaration, and might not stand alone.

An .olean file is an image of Lean's objects: a header, then objects of 8-byte words, each behind those that it points
to. Of the declarations nothing needs to be understood: the names in one, its own and those that it mentions, are
strings among the objects that it leads to. So the tokens that a declaration leads to are the proofs that it is part
of, or leans on. Layouts: lean.h and module.cpp of Lean 4; other versions of the file are not read.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

_MAGIC, _VERSION = b"olean", 2
_BASE, _ROOT, _FIRST = 10, 11, 12
"""Words of the header: where the image was meant to lie in memory, its root object, and the first object."""

_CONSTRUCTORS = 244
_ARRAY, _SCALARS, _STRING, _NUMBER, _THUNK, _TASK, _REFERENCE = 246, 248, 249, 250, 251, 252, 253
"""Tags of objects: up to 244 constructors, which have as many fields as their header says."""

_NAMES, _CONSTANTS = 1, 2
"""Fields of the root object: names and contents of the declarations, in the same order."""


class UnreadableModule(Exception):
    """The file is not what we can read, or a declaration in it belongs to no proof or to several."""


def leaning(module: bytes, tokens: Sequence[str]) -> set[int]:
    """Numbers of the proofs of which a declaration leads to another proof's token. Raises UnreadableModule.

    `tokens`: of each proof, all of the same length; every declaration has one of them in its name.
    """
    try:
        return _leaning(_Image(module, tokens))
    except (IndexError, ValueError, TypeError) as error:
        raise UnreadableModule(f"a damaged file: {error}") from error


def _leaning(image: _Image) -> set[int]:
    names, constants = image.fields(image.root)[_NAMES], image.fields(image.root)[_CONSTANTS]
    image.find([names, constants])
    found = set()
    for name, constant in zip(image.fields(names), image.fields(constants), strict=True):
        owner = image.owners.get(name, 0)
        if owner.bit_count() != 1:
            raise UnreadableModule("a declaration that belongs to no proof, or to several")
        if image.owners.get(constant, 0) != owner:
            found.add(owner.bit_length() - 1)
    return found


class _Image:
    """The objects of a file, by the number of their first word."""

    def __init__(self, module: bytes, tokens: Sequence[str]) -> None:
        if sys.byteorder != "little" or module[:6] != _MAGIC + bytes([_VERSION]) or len(module) % 8:
            raise UnreadableModule("no .olean file of a version that is known here")
        self._bytes = module
        self._words = memoryview(module).cast("Q")
        self._bits = {token.encode(): 1 << number for number, token in enumerate(tokens)}
        self._length = len(tokens[0].encode())
        self.owners: dict[int, int] = {}
        """By object: the proofs whose tokens it leads to, as bits. Objects that lead to none are left out."""
        self.root = self._object(self._words[_ROOT])

    def find(self, roots: Sequence[int]) -> None:
        """Fill `owners` for all objects that these lead to."""
        seen, open_ = set(roots), list(roots)
        while open_:
            for each in self.fields(open_.pop()):
                if each not in seen:
                    seen.add(each)
                    open_.append(each)
        for place in sorted(seen):  # an object lies behind those that it points to
            bits = self._token(place)
            for each in self.fields(place):
                if each >= place:
                    raise UnreadableModule("an object that points ahead")
                bits |= self.owners.get(each, 0)
            if bits:
                self.owners[place] = bits

    def fields(self, place: int) -> list[int]:
        """The objects that an object points to."""
        words = self._words
        header = words[place]
        tag = header >> 56
        if tag <= _CONSTRUCTORS:
            first, number = place + 1, header >> 48 & 0xFF
        elif tag == _ARRAY:
            first, number = place + 3, words[place + 1]
        elif tag in (_THUNK, _TASK, _REFERENCE):
            first, number = place + 1, 1
        elif tag in (_SCALARS, _STRING, _NUMBER):
            return []
        else:
            raise UnreadableModule(f"an object with the tag {tag}")
        if first + number > len(words):
            raise UnreadableModule("an object that is cut off")
        # A pointer with its lowest bit set is a small number; 0 is a field that is not there.
        return [self._object(word) for word in words[first : first + number] if word and not word & 1]

    def _token(self, place: int) -> int:
        """The bit of the proof whose token this object is; 0 when it is none."""
        if self._words[place] >> 56 != _STRING or self._words[place + 1] != self._length + 1:
            return 0
        start = 8 * place + 32  # header, size, capacity, length
        return self._bits.get(self._bytes[start : start + self._length], 0)

    def _object(self, pointer: int) -> int:
        """Number of the first word of the object at an address."""
        place, rest = divmod(pointer - self._words[_BASE], 8)
        if rest or not _FIRST <= place < len(self._words):
            raise UnreadableModule("a pointer out of the file")
        return place
