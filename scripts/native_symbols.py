"""Reads a native library that Lean has compiled: its dynamic symbols, their names, and the Lean objects in memory."""

import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path

# Tags of objects in Lean's runtime (lean.h), and of the constructors of Lean.Name.
STRING_TAG = 249
NAME_STR, NAME_NUM = 1, 2


def dynamic_symbols(library: Path) -> Iterator[tuple[str, bool]]:
    """All symbols that a 64-bit little-endian ELF library defines: their names, and whether they are functions."""
    content = library.read_bytes()
    (section_offset,) = struct.unpack_from("<Q", content, 0x28)
    entry_size, count = struct.unpack_from("<HH", content, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", content, section_offset + entry_size * i) for i in range(count)]
    dynsym = next(section for section in sections if section[1] == 11)  # SHT_DYNSYM
    strings = sections[dynsym[6]][4]
    for position in range(dynsym[4], dynsym[4] + dynsym[5], 24):
        name, info, _, section, _, _ = struct.unpack_from("<IBBHQQ", content, position)
        if section:  # defined here
            end = content.index(b"\0", strings + name)
            yield content[strings + name : end].decode(), info & 15 == 2  # STT_FUNC


class Memory:
    """This process's memory, read through the kernel, so that an invalid address gives an OSError and not a crash."""

    def __init__(self) -> None:
        self._file = os.open("/proc/self/mem", os.O_RDONLY)

    def read(self, address: int, size: int) -> bytes:
        """`size` bytes at `address`. Raises OSError if they are not mapped."""
        if not 0 < address < 1 << 47:
            raise OSError(f"no such address: {address:#x}")
        content = os.pread(self._file, size, address)
        if len(content) < size:
            raise OSError(f"not mapped: {address:#x}")
        return content

    def word(self, address: int) -> int:
        """The pointer-sized number at `address`."""
        return int.from_bytes(self.read(address, 8), "little")

    def constructor(self, address: int) -> tuple[int, int]:
        """Tag and number of fields of the Lean object at `address` (lean.h: rc 4 bytes, size 2, other 1, tag 1)."""
        if address % 8:
            raise OSError(f"not an object: {address:#x}")
        header = self.read(address, 8)
        return header[7], header[6]

    def name(self, address: int) -> tuple[str, ...]:
        """Components of the Lean.Name at `address`. Raises OSError if there is no Lean.Name."""
        if address & 1:  # a boxed scalar: Name.anonymous
            if address >> 1:
                raise OSError("not a name")
            return ()
        tag, fields = self.constructor(address)
        if fields != 2 or tag not in (NAME_STR, NAME_NUM):
            raise OSError("not a name")
        prefix, last = self.name(self.word(address + 8)), self.word(address + 16)
        if tag == NAME_NUM:
            return (*prefix, f"#{last >> 1}")
        if self.constructor(last)[0] != STRING_TAG:
            raise OSError("not a string")
        return (*prefix, self.read(last + 32, self.word(last + 8) - 1).decode())


def demangle(symbol: str) -> tuple[str, ...]:
    """Components of a mangled name: `_` is a separator, `__` an underscore, `_x27` or `_u2203` a character."""
    components, text = [""], symbol.removeprefix("l_")
    escape = re.compile(r"x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})")
    while text:
        run = len(text) - len(text.lstrip("_"))
        if not run:
            components[-1] += text[0]
            text = text[1:]
            continue
        text = text[run:]
        if run % 2 and (match := escape.match(text)):
            components[-1] += "_" * (run // 2) + chr(int(match[match.lastindex or 0], 16))
            text = text[match.end() :]
        elif run % 2 and components[-1]:  # separator first: the next component begins with the underscores
            components.append("_" * (run // 2))
        elif run % 2:  # at the very beginning: underscores, then a separator
            components[-1] = "_" * (run // 2)
            components.append("")
        else:
            components[-1] += "_" * (run // 2)
    return tuple(components)
