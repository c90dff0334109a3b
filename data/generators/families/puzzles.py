"""Permutation puzzles: a position is solved by its moves, which are laws of a function with as many arguments.

    (P : Nat → ... → Nat) (h1 : ∀ a b c d e f g, P a b c d e f g = P d a b c e f g)
        (h2 : ∀ a b c d e f g, P a b c d e f g = P a b c g d e f) : P 3 1 4 2 7 5 6 = P 1 2 3 4 5 6 7

`rw [h1]` turns a wheel, `rw [← h1]` turns it back. With `rfl` and `rw` alone a proof is a path in the graph of
positions, and a value is a distance, as in DeepCubeA (Agostinelli and others, Nature Machine Intelligence 2019). The
moves of a puzzle are the same in all its statements, so that a network can learn what they do.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import lru_cache

from data.generators.families.draft import Draft, chain

Position = tuple[int, ...]
"""The pieces in the order of the arguments."""

LETTERS = "abcdefgh"


@dataclass(frozen=True)
class Puzzle:
    """A puzzle with this number of pieces."""

    name: str
    pieces: int
    turns: tuple[tuple[int, ...], ...]
    """Each moves the piece of every place of a cycle to the next place."""

    @property
    def solved(self) -> Position:
        return tuple(range(self.pieces))

    def turned(self, position: Position, turn: int, back: bool = False) -> Position:
        cycle = self.turns[turn] if not back else self.turns[turn][::-1]
        new = list(position)
        for place, following in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
            new[following] = position[place]
        return tuple(new)

    def moves(self) -> list[tuple[str, int, bool]]:
        """Tactics, with the turn that each makes and whether it turns back."""
        return [
            (f"rw [{'← ' * back}h{turn + 1}]", turn, back) for turn in range(len(self.turns)) for back in (False, True)
        ]

    def law(self, turn: int) -> str:
        """A turn in Lean."""
        letters = tuple(LETTERS[: self.pieces])
        turned = (letters[piece] for piece in self.turned(self.solved, turn))
        return f"∀ {' '.join(letters)}, P {' '.join(letters)} = P {' '.join(turned)}"

    @property
    def type(self) -> str:
        return " → ".join(["Nat"] * (self.pieces + 1))


PUZZLES = {
    each.name: each
    for each in (
        Puzzle("Wheels7", 7, ((0, 1, 2, 3), (3, 4, 5, 6))),
        Puzzle("Wheels8", 8, ((0, 1, 2, 3, 4), (3, 4, 5, 6, 7))),
        Puzzle("Ring8", 8, ((0, 1, 2), (2, 3, 4, 5, 6, 7))),
        Puzzle("Hinge8", 8, ((0, 1, 2, 3), (0, 4, 5, 6, 7))),
    )
}


@lru_cache
def distances(name: str) -> tuple[dict[Position, int], list[list[Position]]]:
    """The moves from each position to the solved one, and the positions of each distance."""
    puzzle = PUZZLES[name]
    found = {puzzle.solved: 0}
    layers = [[puzzle.solved]]
    while layers[-1]:
        layers.append([])
        for position in layers[-2]:
            for _, turn, back in puzzle.moves():
                new = puzzle.turned(position, turn, back)
                if new not in found:
                    found[new] = len(layers) - 1
                    layers[-1].append(new)
    return found, layers[:-1]


def position(name: str, rng: random.Random, most: int) -> Draft:
    """A statement about a position at most so many moves from the solved one. Its proof is one of the shortest."""
    puzzle = PUZZLES[name]
    left, layers = distances(name)
    start = at = rng.choice(layers[rng.randint(1, min(most, len(layers) - 1))])
    tactics = []
    while left[at]:
        nearer = [
            (tactic, new)
            for tactic, turn, back in puzzle.moves()
            if left[new := puzzle.turned(at, turn, back)] < left[at]
        ]
        tactic, at = rng.choice(nearer)
        tactics.append(tactic)
    sides = (" ".join(str(piece + 1) for piece in pieces) for pieces in (start, puzzle.solved))
    conclusion = " = ".join(f"P {pieces}" for pieces in sides)
    # The laws stand among the variables, which keep their order: a network learns what the first one does.
    laws = [(f"h{turn + 1}", puzzle.law(turn)) for turn in range(len(puzzle.turns))]
    return Draft(name, name, [("P", puzzle.type), *laws], [], conclusion, chain(tactics))
