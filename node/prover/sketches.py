"""A hash of a proof state (a sketch) that ignores the names and the order of its hypotheses. Pure.

The hash depends on how many hypotheses have which shape. The shape of a text is the text without its names, together
with which names are equal: `p ∧ q → p` and `Odd ∧ r → Odd` have one shape. Therefore a sketch ignores

- names: if two states have the same canonical key (`node.prover.merging`), the names in their lines correspond one to
  one, whether they are context names, bound names or constants;
- order: the sketch is a sum with one number for each line;
- how Lean groups hypotheses into lines: `a b : Nat` counts as `a : Nat` and `b : Nat`.

States with equal sketches may still differ; their canonical keys decide.
"""

from __future__ import annotations

from node.lean.text.identifiers import LOCAL

_BITS = 48
"""Bits of a shape's hash. Sums of many such numbers fit into a machine word, where addition is fast."""


class Sketches(dict[str, int]):
    """A cache of numbers by line. The states of one search share most lines, so a sketch is cheap."""

    def of(self, state: str) -> int | None:
        """The state's sketch; None if the text is not a goal. Only valid in this process: Python's string hashes
        differ between processes."""
        return sum(map(self.__getitem__, state.split("\n"))) if "⊢" in state else None

    def __missing__(self, line: str) -> int:
        number = self[line] = _weight(line)
        return number


def _weight(line: str) -> int:
    """The number that a line adds: its shape's hash times the hypotheses that it declares, or once for a conclusion."""
    head, sign, text = line.partition(": ")
    if not sign or head.startswith("⊢"):
        head, text = " ", line
    pieces = LOCAL.split(text)
    numbers: dict[str, int] = {}
    names = [numbers.setdefault(name, len(numbers)) for name in pieces[1::2]]
    return head.count(" ") * (hash((*pieces[::2], *names)) & ((1 << _BITS) - 1))
