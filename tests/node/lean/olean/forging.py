"""Changes to compiled files as somebody would make them who knows the format and the reader."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from node.lean.olean.module import Module
from node.lean.olean.terms import Terms
from node.lean.process.fresh import Limits, run_fresh
from node.lean.toolchain.lean_toolchain import LeanToolchain

SOURCE = """\
universe u
inductive Tree (α : Type u) | leaf | node (children : List (Tree α)) (a : α)
mutual
inductive Even : Nat → Prop | zero : Even 0 | step {n : Nat} (h : Odd n) : Even (n + 1)
inductive Odd : Nat → Prop | step {n : Nat} (h : Even n) : Odd (n + 1)
end
structure Pair (α : Type u) (β : Type u) where
  first : α
  second : β
def Parity : Type := Quot fun a b : Nat => ∃ k, b = a + 2 * k
def large : Nat := 36893488147419103232
def label : String := "a label"
def size {α : Type u} : List α → Nat | [] => 0 | _ :: l => size l + 1
theorem large_eq : large = 36893488147419103232 := rfl
theorem one : 1 = 1 := rfl
theorem parity : (Quot.mk _ 0 : Parity) = Quot.mk _ 4 := Quot.sound ⟨2, rfl⟩
theorem two_is_even : Even 2 := .step (.step .zero)
theorem swap {α β : Type u} (p : Pair α β) : (Pair.mk p.second p.first).first = p.second := rfl
axiom wrong : 1 = 2
opaque hidden : Nat
private theorem secret : 3 = 3 := rfl
"""

TAG, OBJECTS, SIZE = 7, 6, 4
"""Bytes of an object's header: its tag, how many fields are objects, and (two bytes) its size."""


async def compile_text(text: str, folder: Path, name: str = "Main") -> Path:
    """A text as pocket Lean compiles it; the path of its .olean file."""
    source = folder / f"{name}.lean"
    source.write_text(text)
    olean = folder / f"{name}.olean"
    toolchain = LeanToolchain.pocket()
    finished = await run_fresh(
        [*toolchain.command, f"--root={folder}", "-o", str(olean), str(source)],
        environment=toolchain.with_modules([folder]),
        folder=folder,
        limits=Limits(),
    )
    assert finished.code == 0, finished.output
    return olean


@contextmanager
def opened(path: Path) -> Iterator[Module]:
    """A module while it is read."""
    module = Module(path, Terms())
    try:
        yield module
    finally:
        module.close()


@cache
def _known(path: Path) -> tuple[list[int], dict[str, int]]:
    """The pointers of an honest file in order, and those of its constants by name."""
    with opened(path) as module:
        return sorted(module.region.pointers), {name: each.pointer for name, each in module.constants.items()}


class Forgery:
    """The bytes of a compiled file, to be changed. Pointers are as in the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bytes = bytearray(path.read_bytes())
        self.base = int.from_bytes(self.bytes[80:88], "little")

    def word(self, pointer: int, index: int = 0) -> int:
        """A word of an object; 0 is its header, field n is word n + 1."""
        at = pointer - self.base + 8 * index
        return int.from_bytes(self.bytes[at : at + 8], "little")

    def set_word(self, pointer: int, index: int, value: int) -> None:
        at = pointer - self.base + 8 * index
        self.bytes[at : at + 8] = value.to_bytes(8, "little")

    def set_byte(self, pointer: int, offset: int, value: int) -> None:
        self.bytes[pointer - self.base + offset] = value

    def pointers(self, tag: int) -> list[int]:
        """The objects with a tag."""
        return [each for each in _known(self.path)[0] if self.word(each) >> 56 == tag]

    def constant(self, name: str) -> tuple[int, int, int]:
        """Of a constant: its ConstantInfo, its value (DefinitionVal, TheoremVal, ...), its ConstantVal."""
        info = _known(self.path)[1][name]
        value = self.word(info, 1)
        return info, value, self.word(value, 1)

    def field(self, name: str, index: int) -> int:
        """A field of what a constant has besides name and type."""
        return self.word(self.constant(name)[1], index + 1)

    def set_field(self, name: str, index: int, value: int) -> None:
        self.set_word(self.constant(name)[1], index + 1, value)

    def type(self, name: str) -> int:
        return self.word(self.constant(name)[2], 3)

    def set_type(self, name: str, type_: int) -> None:
        self.set_word(self.constant(name)[2], 3, type_)

    def set_scalar(self, name: str, offset: int, value: int) -> None:
        """A byte behind the fields of what a constant has besides name and type."""
        value_at = self.constant(name)[1]
        objects = self.word(value_at) >> 48 & 0xFF
        self.set_byte(value_at, 8 + 8 * objects + offset, value)

    def write(self, path: Path) -> Path:
        path.write_bytes(self.bytes)
        return path


Change = Callable[[Forgery], None]
