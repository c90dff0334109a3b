"""Which proofs of a compiled batch lean on another one's declarations. Reads the .olean file; no Lean needed.

Names with random tokens keep a proof from naming its neighbours. But Lean makes auxiliary declarations by itself
(`match_1`, `_proof_1`), and where two proofs need the same one, it may make it once (versions that elaborate theorems
one after another do). Then the second proof is checked with the first one's declaration, and might not stand alone.

Other declarations Lean makes of a library's: the equations of a function that `simp` unfolds, the splitter of a match.
They are the same whoever asks for them, so proofs may share them. A declaration of neither kind has one user or none.

An .olean file is an image of Lean's objects: a header, then objects of 8-byte words, each behind those that it points
to. Of the declarations hardly anything needs to be understood: the names in one, its own and those that it mentions,
are strings among the objects that it leads to. So the tokens that a declaration leads to are the proofs that it is part
of, or leans on. Layouts: lean.h and module.cpp of Lean 4; other versions of the file are not read.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence

_MAGIC, _VERSION = b"olean", 2
_BASE, _ROOT, _FIRST = 10, 11, 12
"""Words of the header: where the image was meant to lie in memory, its root object, and the first object."""

_CONSTRUCTORS = 244
_ARRAY, _SCALARS, _STRING, _NUMBER, _THUNK, _TASK, _REFERENCE = 246, 248, 249, 250, 251, 252, 253
"""Tags of objects: up to 244 constructors, which have as many fields as their header says."""

_NAME_TAGS = (1, 2)
"""Constructors of names: with a string or with a number behind the prefix."""

_CHARACTERS = 32
"""Bytes of a string object before its characters: header, size (with the zero at its end), capacity, length."""

_NAMES, _CONSTANTS = 1, 2
"""Fields of the root object: names and contents of the declarations, in the same order."""


_GENERATED = re.compile(
    r"eq_\d+|eq_def|eq_unfold|splitter|congr_simp|congr_eq_\d+|hcongr_\d+|fun_cases\w*|\w*induct\w*"
)
"""Last parts of the names of declarations that Lean makes of a library's, the same for all."""

_Name = tuple[str | int, ...]


class UnreadableModule(Exception):
    """The file is not what we can read, or a declaration in it belongs to several proofs."""


class UnknownVersion(UnreadableModule):
    """This Lean writes files of another version."""


def leaning(module: bytes, tokens: Sequence[str]) -> set[int]:
    """Numbers of the proofs that lean on another's declarations, or share one with another. Raises UnreadableModule.

    `tokens`: of each proof, all of the same length; each of its declarations has its token in the name.
    """
    try:
        return _leaning(_Image(module, tokens))
    except (IndexError, ValueError, TypeError, RecursionError) as error:
        raise UnreadableModule(f"a damaged file: {error}") from error


def _leaning(image: _Image) -> set[int]:
    names, constants = (image.fields(image.root)[field] for field in (_NAMES, _CONSTANTS))
    image.find(names)
    owners = [image.bits.get(name, 0) for name in image.fields(names)]
    nobodys = [image.name(name) for name, owner in zip(image.fields(names), owners, strict=True) if not owner]
    image.look_for(name for name in nobodys if not (name and _GENERATED.fullmatch(str(name[-1]))))
    image.find(constants)
    found, users = set(), defaultdict[int, set[int]](set)
    for name, owner, constant in zip(image.fields(names), owners, image.fields(constants), strict=True):
        proofs, loose = image.proofs(constant), image.loose(constant)
        if owner.bit_count() > 1 or (proofs and not owner):
            raise UnreadableModule("a declaration that belongs to several proofs, or to none and leans on one")
        if not owner and loose - image.searched(name):
            raise UnreadableModule("a declaration that belongs to no proof leans on another such")
        if owner:
            number = owner.bit_length() - 1
            if proofs != owner:
                found.add(number)
            for each in loose:
                users[each].add(number)
    return found.union(*(several for several in users.values() if len(several) > 1))


class _Image:
    """The objects of a file, by the number of their first word."""

    def __init__(self, module: bytes, tokens: Sequence[str]) -> None:
        if sys.byteorder != "little" or module[:6] != _MAGIC + bytes([_VERSION]) or len(module) % 8:
            raise UnknownVersion("no .olean file of a version that is known here")
        self._bytes = module
        self._words = memoryview(module).cast("Q")
        self._tokens = {token.encode(): 1 << number for number, token in enumerate(tokens)}
        self._length = len(tokens[0].encode())
        self._names: dict[_Name, int] = {}
        self.bits: dict[int, int] = {}
        """By object: the proofs whose tokens it leads to, and the names that are looked for, as bits; none are left
        out."""
        self.root = self._object(self._words[_ROOT])

    def look_for(self, names: Iterable[_Name | None]) -> None:
        """Find these names, too, from now on."""
        first = len(self._tokens)
        for name in names:
            if name is None:
                raise UnreadableModule("a declaration without a name")
            self._names[name] = 1 << first + len(self._names)

    def proofs(self, place: int) -> int:
        """The proofs whose tokens an object leads to, as bits."""
        return self.bits.get(place, 0) & (1 << len(self._tokens)) - 1

    def loose(self, place: int) -> set[int]:
        """The names that are looked for that an object leads to."""
        bits = self.bits.get(place, 0)
        return {bit for bit in self._names.values() if bits & bit}

    def searched(self, place: int) -> set[int]:
        """The bit of a name, if it is looked for."""
        name = self.name(place)
        return {self._names[name]} if name in self._names else set()

    def find(self, root: int) -> None:
        """Fill `bits` for all objects that this one leads to."""
        seen, open_ = {root}, [root]
        while open_:
            for each in self.fields(open_.pop()):
                if each not in seen:
                    seen.add(each)
                    open_.append(each)
        for place in sorted(seen):  # an object lies behind those that it points to
            bits = self._own(place)
            for each in self.fields(place):
                if each >= place:
                    raise UnreadableModule("an object that points ahead")
                bits |= self.bits.get(each, 0)
            if bits:
                self.bits[place] = bits

    def fields(self, place: int) -> list[int]:
        """The objects that an object points to."""
        # A pointer with its lowest bit set is a small number; 0 is a field that is not there.
        return [self._object(word) for word in self._pointers(place) if word and not word & 1]

    def name(self, place: int) -> _Name | None:
        """The name that an object is, part by part; None when it is none."""
        if self._words[place] >> 56 not in _NAME_TAGS:
            return None
        pointers = self._pointers(place)
        if len(pointers) != 2:
            return None
        prefix: _Name | None = () if pointers[0] & 1 else self.name(self._object(pointers[0]))
        last = pointers[1] >> 1 if pointers[1] & 1 else self._string(self._object(pointers[1]))
        return None if prefix is None or last is None else (*prefix, last)

    def _own(self, place: int) -> int:
        """The bit of the token or the name that an object is; 0 when it is none."""
        tag = self._words[place] >> 56
        if tag == _STRING and self._words[place + 1] == self._length + 1:
            start = 8 * place + _CHARACTERS
            return self._tokens.get(self._bytes[start : start + self._length], 0)
        if self._names and tag in _NAME_TAGS and (name := self.name(place)):
            return self._names.get(name, 0)
        return 0

    def _string(self, place: int) -> str | None:
        if self._words[place] >> 56 != _STRING:
            return None
        start = 8 * place + _CHARACTERS
        return self._bytes[start : start + self._words[place + 1] - 1].decode(errors="replace")

    def _pointers(self, place: int) -> Sequence[int]:
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
            return ()
        else:
            raise UnreadableModule(f"an object with the tag {tag}")
        if first + number > len(words):
            raise UnreadableModule("an object that is cut off")
        return words[first : first + number]

    def _object(self, pointer: int) -> int:
        """Number of the first word of the object at an address."""
        place, rest = divmod(pointer - self._words[_BASE], 8)
        if rest or not _FIRST <= place < len(self._words):
            raise UnreadableModule("a pointer out of the file")
        return place
