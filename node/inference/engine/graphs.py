"""CUDA graphs of passes over running completions (no prompts). On a GPU, such a pass spends its time on launching a few
hundred kernels; a graph launches them all at once.

A graph has a fixed size. Sizes are rounded up to powers of two, so a few dozen graphs serve every batch. They read
their input from fixed places, and keys, values and mask must stay where they are: the cache must not grow under them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from node.inference.engine.cache import Cache
from node.inference.engine.network import Grid, Network, Pass

WARM_UP = 2
"""Runs before a capture: the first ones choose algorithms and take memory, which a capture must not see."""

SMALLEST_KEYS = 64
"""Fewest keys of a program; smaller sizes are not faster."""


class Program:
    """A function of tensors at fixed addresses: captured as a graph on CUDA, called plainly everywhere else."""

    def __init__(self, function: Callable[[dict[str, Tensor]], Tensor], inputs: dict[str, Tensor]) -> None:
        self.inputs = inputs
        self._function = function
        self._graph: torch.cuda.CUDAGraph | None = None
        self._output: Tensor | None = None
        if next(iter(inputs.values())).is_cuda:
            self._capture()

    def _capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UP):
                self._function(self.inputs)
        torch.cuda.current_stream().wait_stream(side)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._output = self._function(self.inputs)

    def __call__(self, values: dict[str, Tensor]) -> Tensor:
        """Copy the values to the fixed inputs and run. The next call overwrites the returned tensor."""
        for name, value in values.items():
            self.inputs[name].copy_(value)
        if self._graph is None or self._output is None:
            return self._function(self.inputs)
        self._graph.replay()
        return self._output


@dataclass(frozen=True)
class Size:
    """The fixed sizes of a program."""

    rows: int
    slots: int
    cells: int
    keys: int


def rounded(number: int, limit: int) -> int:
    """The next power of two, but not beyond the limit."""
    return min(limit, 1 << (number - 1).bit_length())


class PassGraphs:
    """The captured passes of one network and its cache, one for each size."""

    def __init__(self, network: Network, cache: Cache) -> None:
        self._network, self._cache = network, cache
        self.programs: dict[Size, Program] = {}
        # Captured graphs always write to this buffer, even after another lane has reserved a larger one: keep it alive.
        self._buffer = network.reserve(cache.shape.slots * cache.shape.cells)

    def run(self, work: Pass) -> Tensor:
        """Logits (R, vocabulary) of a pass without prompts, all of its rows in one rectangle from slot 0 on."""
        grid, shape = work.grids[0], self._cache.shape
        rows = work.tokens.shape[0]
        size = Size(
            rows=rounded(rows, shape.slots * shape.cells),
            slots=rounded(grid.slots, shape.slots),
            cells=rounded(grid.cells, shape.cells),
            keys=rounded(max(SMALLEST_KEYS, grid.keys), self._cache.capacity),
        )
        slot = grid.at // grid.cells
        values = {
            "tokens": self._filled(work.tokens, size),
            "positions": self._filled(work.positions, size),
            # Padding rows repeat row 0, but store their keys in the scratch slot.
            "keys_at": torch.nn.functional.pad(work.keys_at, (0, size.rows - rows), value=self._cache.scratch),
            "at": self._filled(slot * size.cells + grid.at % grid.cells, size),
        }
        program = self.programs.get(size)
        if program is None:
            inputs = {name: value.clone() for name, value in values.items()}
            program = self.programs[size] = Program(lambda tensors: self._logits(tensors, size), inputs)
        return program(values)[:rows]

    @staticmethod
    def _filled(values: Tensor, size: Size) -> Tensor:
        return torch.cat([values, values[:1].expand(size.rows - values.shape[0])])

    def _logits(self, tensors: dict[str, Tensor], size: Size) -> Tensor:
        grid = Grid(0, size.slots, size.cells, size.keys, slice(0, size.rows), tensors["at"])
        work = Pass(tensors["tokens"], tensors["positions"], tensors["keys_at"], [grid], [])
        return self._network.run(work, self._cache).logits
