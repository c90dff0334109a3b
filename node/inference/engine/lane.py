"""One batch of completions with a common length limit: continuous batching, without I/O, clocks or asyncio.

`submit` queues a job. Each `step` admits jobs for which there is room, runs one forward pass over all running
completions and new prompts, draws one token for each sample, and returns the finished jobs. Prompts in the prefix cache
are not read again. An engine has a lane for tactics, one for whole proofs, and one for conjectures
(`node.inference.engine.engine`).
"""

from __future__ import annotations

import bisect
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from common.protocol.messages import SampledTactic
from node.inference.engine.batch import Counters, FinishedJob, Job, Running, Segment, choose_slot, no_rows, segments
from node.inference.engine.network import Cache, Grid, Network, Padded, Pass, Prefilled, Prefixes
from node.inference.engine.sampling import Rules, draw
from node.inference.settings import EngineSettings
from node.model.names import Names
from node.model.tokenizer import Tokenizer
from node.model.transformer import expected_value

CPU_PROMPTS, GPU_PROMPTS = 1024, 8192
"""Prompt tokens of a pass by default. On a GPU a pass takes its time for launches, not for tokens."""

ADMIT_EVERY = 4
"""With graphs, states join a running batch in every so many steps only: reading prompts is no graph, and slows all that
run, however few prompts there are (LOG.md, 2026-11-26)."""

KEY_STEP = 64
"""The cache grows in steps of this many keys."""

USUAL_TOKENS = 32
"""Tokens of a completion that the cache has room for from the start. It grows for longer ones when they come, because
room for the longest of every sample would be many times as much, and is next to never used."""


@dataclass(frozen=True)
class LaneSizes:
    """The sizes of a lane."""

    slots: int
    """Jobs that run at the same time."""
    new_tokens: int
    """Longest completion; a shorter one ends where the context is full."""
    prompt: int
    """Longest prompt."""


Read = Callable[[Job, int], tuple[Names, list[int]] | None]
"""Returns the names of a job, and its prompt of at most the given number of tokens; None if it cannot be shortened to
that."""


@dataclass
class _LaneSlot:
    job: Job
    names: Names
    value: float = 0.0


@dataclass
class _Joining:
    """States that join a pass: first those whose prompts it reads, then those with a hit in the prefix cache."""

    slots: list[int] = field(default_factory=list)
    prompts: list[list[int]] = field(default_factory=list)
    remembered: list[int] = field(default_factory=list)
    ends: list[Tensor] = field(default_factory=list)

    @property
    def all_slots(self) -> np.ndarray:
        return np.array(self.slots + self.remembered, dtype=np.int64)


def stop_tokens(tokenizer: Tokenizer, texts: Sequence[str]) -> list[int]:
    """Ids of the stop texts. Raises ValueError for one that is not a single token."""
    encoded = [tokenizer.encode(text) for text in texts]
    for text, tokens in zip(texts, encoded, strict=True):
        if len(tokens) != 1:
            raise ValueError(f"stop text {text!r} is {len(tokens)} tokens; it must be one")
    return [tokens[0] for tokens in encoded]


def in_steps(keys: int) -> int:
    """This many keys, rounded up."""
    return -(-keys // KEY_STEP) * KEY_STEP


class Lane:
    """See the module's docstring."""

    def __init__(
        self,
        network: Network,
        tokenizer: Tokenizer,
        settings: EngineSettings,
        sizes: LaneSizes,
        *,
        read: Read,
        prefixes: Prefixes,
        counters: Counters,
    ) -> None:
        """`prefixes` and `counters` are shared with other lanes of the network."""
        self.network, self.tokenizer, self.settings, self.sizes = network, tokenizer, settings, sizes
        self.prefixes, self.counters = prefixes, counters
        self.graphs: PassGraphs | None = None
        self._read = read
        # CUDA graphs need fixed addresses: allocate the cache for the longest prompt with the most samples. Only
        # completions of unusual length let it grow; the graphs are then captured anew.
        static = settings.graphs == "on" or (settings.graphs == "auto" and network.device.type == "cuda")
        capacity = in_steps(self._capacity(sizes.prompt, settings.cells)) if static else KEY_STEP
        self._cache = network.cache(sizes.slots, settings.cells, capacity)
        if static:
            self.graphs = PassGraphs(network, self._cache)
        self._running = Running(sizes.slots, settings.cells, sizes.new_tokens, tokenizer.vocab_size, tokenizer.specials)
        self._free = list(range(sizes.slots))
        self._slots: dict[int, _LaneSlot] = {}
        self._waiting: deque[Job] = deque()
        self._refused: list[FinishedJob] = []
        self._since_admission = 0

    def _capacity(self, prompt: int, samples: int) -> int:
        """Keys that a state needs as a rule."""
        return prompt + samples * min(self.sizes.new_tokens, USUAL_TOKENS)

    def _make_room(self, keys: int, spare: float = 1.0) -> None:
        """Enlarge the cache if it has room for fewer keys of a state; by the factor `spare` at least, because each time
        copies all of it."""
        capacity = self._cache.capacity
        if keys > capacity:
            self._cache = self._cache.grown(in_steps(max(keys, int(capacity * spare))))
            if self.graphs:
                self.graphs = PassGraphs(self.network, self._cache)

    @property
    def running(self) -> int:
        """States in the batch."""
        return len(self._slots)

    @property
    def waiting(self) -> int:
        """States that wait for a slot."""
        return len(self._waiting)

    @property
    def room(self) -> int:
        """States that could be submitted and start with the next step."""
        return max(0, len(self._free) - len(self._waiting))

    @property
    def busy(self) -> bool:
        return bool(self._slots or self._waiting)

    def submit(self, job: Job) -> None:
        """Queue a job, which must be within the settings' limits."""
        self._waiting.append(job)

    def step(self) -> list[FinishedJob]:
        """One forward pass, if there is work. Returns the jobs that it finished. Call it under torch.inference_mode."""
        joining = self._admit()
        refused, self._refused = self._refused, []
        if not self._slots:
            return refused
        logits = self._pass(joining)
        finished = self._draw(logits, joining.all_slots)
        return refused + [self._finish(slot) for slot in finished.tolist()]

    # --- states that join --------------------------------------------------------------------------------------------

    def _admit(self) -> _Joining:
        joining = _Joining()
        self._since_admission += 1
        if self.graphs and self._slots and self._free and self._since_admission < ADMIT_EVERY:
            return joining
        self._since_admission = 0
        budget = self.settings.prompt_tokens or (GPU_PROMPTS if self.network.batches_prompts else CPU_PROMPTS)
        while self._waiting and self._free and (budget > 0 or not joining.slots):
            job = self._waiting.popleft()
            try:
                stop = stop_tokens(self.tokenizer, job.sampling.stop)
            except ValueError as error:
                self._refused.append(FinishedJob(job.key, (), 0.0, problem=str(error)))
                continue
            read = self._read(job, self.sizes.prompt)
            if read is None:
                self._refused.append(FinishedJob(job.key, (), 0.0))
                continue
            budget -= self._join(joining, job, *read, stop)
        self.counters.prompt_tokens += sum(map(len, joining.prompts))
        self.counters.remembered += len(joining.remembered)
        return joining

    def _join(self, joining: _Joining, job: Job, names: Names, tokens: list[int], stop: list[int]) -> int:
        """Give the job a slot. Returns how many tokens of its prompt the pass must read."""
        self._make_room(self._capacity(len(tokens), job.samples))
        lengths = self._running.keys[list(self._slots)]
        slot = self._free.pop(0) if self.graphs else choose_slot(self._free, len(tokens), lengths)
        self._cache.open(slot, len(tokens))
        longest = min(self.sizes.new_tokens, self.network.config.context - len(tokens))
        self._running.admit(slot, len(tokens), job, longest, stop)
        entry = self._slots[slot] = _LaneSlot(job, names)
        prefilled = self.prefixes.find(tokens)
        if prefilled is None:
            joining.slots.append(slot)
            joining.prompts.append(tokens)
            return len(tokens)
        self._cache.write(slot, prefilled.entries)
        entry.value = prefilled.value
        joining.remembered.append(slot)
        joining.ends.append(prefilled.end)
        return 0

    # --- the pass ----------------------------------------------------------------------------------------------------

    def _pass(self, joining: _Joining) -> Tensor:
        """Logits of the running rows, then of the states that join."""
        running = self._running.rows.slot.size > 0
        if self.graphs is None or not running:
            return self._run(self._layout(joining), joining)
        # A graph for the rows that run, and a pass of their own for the states that join.
        joined = self._run(self._layout(joining, alone=True), joining).clone() if joining.all_slots.size else None
        logits = self.graphs.run(self._layout(_Joining()))
        return logits if joined is None else torch.cat([logits, joined])

    def _run(self, work: Pass, joining: _Joining) -> Tensor:
        """A pass that is no graph. Prompts that it reads are remembered."""
        outcome = self.network.run(work, self._cache)
        values = expected_value(outcome.values).tolist()
        for slot, prompt, value, end in zip(joining.slots, joining.prompts, values, outcome.ends, strict=True):
            self._slots[slot].value = value
            if self.prefixes.limit:
                entries = self._cache.read(slot, len(prompt))
                self.prefixes.keep(prompt, Prefilled(entries, end.clone(), value))
        self.counters.dropped = self.prefixes.dropped
        return outcome.logits

    def _layout(self, joining: _Joining, *, alone: bool = False) -> Pass:
        """The pass over the running rows and these prompts; `alone`: over the prompts."""
        rows, capacity = self._running.rows if not alone else no_rows(), self._cache.capacity
        lengths = [len(prompt) for prompt in joining.prompts]
        tokens, positions, keys = [rows.token], [rows.position], [rows.slot * capacity + rows.key]
        for slot, prompt in zip(joining.slots, joining.prompts, strict=True):
            places = np.arange(len(prompt))
            tokens.append(np.array(prompt, dtype=np.int64))
            positions.append(places)
            keys.append(places + slot * capacity)
        return Pass(
            tokens=self._tensor(np.concatenate(tokens)),
            positions=self._tensor(np.concatenate(positions)),
            keys_at=self._tensor(np.concatenate(keys)),
            grids=[self._grid(segment) for segment in segments(rows, self.network.width, whole=bool(self.graphs))],
            prompts=lengths,
            ends=joining.ends,
            padded=self._padded(lengths),
        )

    def _padded(self, lengths: list[int]) -> Padded | None:
        """The prompts as one batch, if the network reads them so and there are several."""
        if not self.network.batches_prompts or len(lengths) < 2:
            return None
        longest, size = max(lengths), np.array(lengths)
        starts = np.cumsum(size) - size
        column = np.arange(longest)
        rows = np.minimum(starts[:, None] + column, starts[-1] + size[-1] - 1)
        places = np.flatnonzero(column < size[:, None])
        return Padded(self._tensor(rows.reshape(-1)), self._tensor(places), longest)

    def _grid(self, segment: Segment) -> Grid:
        at = self._tensor(segment.at)
        return Grid(segment.slot, segment.slots, segment.cells, segment.keys, segment.rows, at)

    def _tensor(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).to(self.network.device)

    # --- tokens ------------------------------------------------------------------------------------------------------

    def _rules(self, new: np.ndarray) -> Rules:
        """The sampling rules of each row. A rule is None if no row needs it."""
        running = self._running
        slots = np.concatenate([running.rows.slot, new])
        temperatures, top_p = running.temperature[slots], running.top_p[slots]
        return Rules(
            None if (temperatures == 1.0).all() else self._tensor(temperatures),
            None if (top_p == 1.0).all() else self._tensor(top_p),
        )

    def _draw(self, logits: Tensor, new: np.ndarray) -> np.ndarray:
        """Draw a token for every running sample and lay out the next rows. Returns the finished slots."""
        running = self._running
        samples, places, table = running.questions(new)
        self.counters.passes += 1
        self.counters.rows += logits.shape[0]
        self.counters.samples += samples.size
        drawn = draw(logits, self._tensor(table), self._rules(new))
        moves, done = running.advance(
            samples, *(part.cpu().numpy().reshape(-1)[places] for part in (drawn.tokens, drawn.policy))
        )
        if moves.source.size:
            self._cache.copy_rows(self._tensor(moves.source), self._tensor(moves.target))
        rows = running.rows
        if rows.slot.size:
            self._make_room(int(rows.key.max()) + 1, spare=1.5)
            cells = rows.slot * self.settings.cells + rows.cell
            self._cache.show(self._tensor(cells * self._cache.capacity + rows.key))
        return done

    def _finish(self, slot: int) -> FinishedJob:
        """Free the slot and write its samples as text."""
        running, entry = self._running, self._slots.pop(slot)
        bisect.insort(self._free, slot)
        count = entry.job.samples
        lengths = running.length[slot, :count]
        texts = self.tokenizer.decode_batch(
            [running.tokens[slot, index, : lengths[index]].tolist() for index in range(count)]
        )
        tactics = []
        for index, text in enumerate(texts):
            # An empty sample, or one that is not valid text, cannot be sent to Lean: it counts as cut off.
            whole = bool(running.complete[slot, index]) and bool(text.strip()) and "\ufffd" not in text
            tactics.append(self._sampled(entry, slot, index, text, whole))
        self.counters.states += 1
        tokens = int(lengths.sum()) + int(running.complete[slot, :count].sum())
        self.counters.tokens += tokens
        self.counters.cut_off += count - sum(tactic.complete for tactic in tactics)
        value = 0.0 if entry.job.whole else entry.value
        return FinishedJob(entry.job.key, tuple(tactics), value, tokens)

    def _sampled(self, entry: _LaneSlot, slot: int, index: int, text: str, whole: bool) -> SampledTactic:
        running = self._running
        return SampledTactic(
            entry.names.show(text),
            float(running.log_probability[slot, index]),
            whole,
            int(running.length[slot, index] + running.complete[slot, index]) if entry.job.whole else None,
        )


# ----------------------------------------------------------------------------------------------------------------------
# CUDA graphs of passes over running completions (no prompts). On a GPU, such a pass spends its time on launching a
# few hundred kernels; a graph launches them all at once.
#
# A graph has a fixed size. Sizes are rounded up to powers of four, so a few graphs serve every batch. They read
# their input from fixed places, and keys, values and mask must stay where they are: the cache must not grow under
# them.

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
        # Only calls of this thread may disturb the capture: by default, another one that puts new weights on the GPU
        # meanwhile makes both fail.
        with torch.cuda.graph(self._graph, capture_error_mode="thread_local"):
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
    """The next power of four, but not beyond the limit: padding costs a GPU little, and each size has to be
    captured when it is first met."""
    return min(limit, 1 << 2 * -(-(number - 1).bit_length() // 2))


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
