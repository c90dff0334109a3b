"""The generation engine: continuous batching for many short completions, without I/O, clocks or asyncio.

`submit` queues a state; each `step` admits what has room, runs one forward pass over every running completion and
every new prompt, draws one token for each sample, and returns the states that are finished. A prompt that was read
before is not read again. One thread owns an engine.
"""

from __future__ import annotations

import bisect
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from common.messages import SampledTactic
from node.inference.engine_settings import EngineSettings
from node.inference.graphs import PassGraphs
from node.inference.job import Counters, FinishedJob, Job
from node.inference.layout import Segment, choose_slot, segments
from node.inference.network import Grid, Network, Pass
from node.inference.prefixes import Prefilled, Prefixes
from node.inference.running import Running
from node.inference.sampling import Rules, draw
from node.model.names import Names
from node.model.prompt import prompt_tokens
from node.model.tokenizer import Tokenizer
from node.model.transformer import expected_value
from node.model.weights import Weights

__all__ = ["Counters", "Engine", "FinishedJob", "Job"]

KEY_STEP = 64
"""The cache grows in steps of this many keys."""

MEGABYTE = 1 << 20


@dataclass
class _EngineSlot:
    job: Job
    names: Names
    value: float = 0.0


@dataclass
class _Joining:
    """States that join a pass: first those whose prompts are read in it, then those that are remembered."""

    slots: list[int] = field(default_factory=list)
    prompts: list[list[int]] = field(default_factory=list)
    remembered: list[int] = field(default_factory=list)
    ends: list[Tensor] = field(default_factory=list)

    @property
    def all_slots(self) -> np.ndarray:
        return np.array(self.slots + self.remembered, dtype=np.int64)


def stop_tokens(tokenizer: Tokenizer, texts: Sequence[str]) -> list[int]:
    """Ids of the stop texts. Raises ValueError for one that is not a single token."""
    ids = [tokenizer.encode(text) for text in texts]
    for text, found in zip(texts, ids, strict=True):
        if len(found) != 1:
            raise ValueError(f"stop text {text!r} is {len(found)} tokens; it must be one")
    return [found[0] for found in ids]


@dataclass
class Engine:
    """See the module's docstring. `weights` are not changed while an engine lives: a new version is a new engine."""

    weights: Weights
    settings: EngineSettings = field(default_factory=EngineSettings)

    def __post_init__(self) -> None:
        settings, model = self.settings, self.weights.model
        if settings.new_tokens >= model.config.context:
            raise ValueError(f"new_tokens {settings.new_tokens} leaves no room in a context of {model.config.context}")
        self.counters = Counters()
        on_gpu = model.embedding.weight.is_cuda
        narrow = settings.dtype == "bfloat16" or (settings.dtype == "auto" and on_gpu)
        self.network = Network(model, torch.bfloat16 if narrow else torch.float32)
        self.tokenizer = self.weights.tokenizer
        self.prefixes = Prefixes(settings.remember * MEGABYTE)
        self._limit = model.config.context - settings.new_tokens
        self._graphs: PassGraphs | None = None
        # On a GPU everything stays where it is, for the longest prompt with the most samples.
        static = settings.graphs == "on" or (settings.graphs == "auto" and on_gpu)
        capacity = self._capacity(self._limit, settings.cells) if static else KEY_STEP
        self._cache = self.network.cache(settings.slots, settings.cells, capacity)
        if static:
            self._graphs = PassGraphs(self.network, self._cache)
        self._running = Running(
            settings.slots, settings.cells, settings.new_tokens, self.tokenizer.vocab_size, self.tokenizer.specials
        )
        self._free = list(range(settings.slots))
        self._slots: dict[int, _EngineSlot] = {}
        self._waiting: deque[Job] = deque()
        self._refused: list[FinishedJob] = []

    def _capacity(self, prompt: int, samples: int) -> int:
        """Keys that a state may need, rounded up."""
        return -(-(prompt + samples * self.settings.new_tokens) // KEY_STEP) * KEY_STEP

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
        """Queue a job. Raises ValueError for one that can never run."""
        if problem := job.problem(self.settings.cells):
            raise ValueError(problem)
        self._waiting.append(job)

    @torch.inference_mode()
    def step(self) -> list[FinishedJob]:
        """One forward pass; the states that it finished. Does nothing when there is nothing to do."""
        joining = self._admit()
        refused, self._refused = self._refused, []
        if not self._slots:
            return refused
        logits = self._pass(joining)
        done = self._draw(logits, joining.all_slots)
        return refused + [self._finish(slot) for slot in done.tolist()]

    # --- states that join --------------------------------------------------------------------------------------------

    def _admit(self) -> _Joining:
        joining = _Joining()
        budget = self.settings.prompt_tokens
        while self._waiting and self._free and (budget > 0 or not joining.slots):
            job = self._waiting.popleft()
            try:
                stop = stop_tokens(self.tokenizer, job.sampling.stop)
            except ValueError as error:
                self._refused.append(FinishedJob(job.key, (), 0.0, problem=str(error)))
                continue
            budget -= self._join(joining, job, stop)
        self.counters.prompt_tokens += sum(map(len, joining.prompts))
        self.counters.remembered += len(joining.remembered)
        return joining

    def _join(self, joining: _Joining, job: Job, stop: list[int]) -> int:
        """Give the job a slot; returns how many tokens of its prompt have to be read."""
        names = Names(job.state)
        tokens = prompt_tokens(self.tokenizer, names.state, self._limit)
        capacity = self._capacity(len(tokens), job.samples)
        if capacity > self._cache.capacity:
            self._cache = self._cache.grown(capacity)
        lengths = self._running.keys[list(self._slots)]
        slot = self._free.pop(0) if self._graphs else choose_slot(self._free, len(tokens), lengths)
        self._cache.open(slot, len(tokens))
        self._running.admit(slot, len(tokens), job, stop)
        entry = self._slots[slot] = _EngineSlot(job, names)
        found = self.prefixes.find(tokens)
        if found is None:
            joining.slots.append(slot)
            joining.prompts.append(tokens)
            return len(tokens)
        self._cache.write(slot, found.entries)
        entry.value = found.value
        joining.remembered.append(slot)
        joining.ends.append(found.end)
        return 0

    # --- the pass ----------------------------------------------------------------------------------------------------

    def _pass(self, joining: _Joining) -> Tensor:
        """Logits of the running rows, then of the states that join."""
        work = self._layout(joining)
        if self._graphs is not None and work.grids and not joining.prompts and not joining.ends:
            return self._graphs.run(work)
        outcome = self.network.run(work, self._cache)
        values = expected_value(outcome.values).tolist()
        for slot, prompt, value, end in zip(joining.slots, joining.prompts, values, outcome.ends, strict=True):
            self._slots[slot].value = value
            if self.prefixes.limit:
                entries = self._cache.read(slot, len(prompt))
                self.prefixes.keep(prompt, Prefilled(entries, end.clone(), value))
        self.counters.dropped = self.prefixes.dropped
        return outcome.logits

    def _layout(self, joining: _Joining) -> Pass:
        """The pass over the running rows and these prompts."""
        rows, capacity = self._running.rows, self._cache.capacity
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
            grids=[self._grid(segment) for segment in segments(rows, self.network.width, whole=bool(self._graphs))],
            prompts=[len(prompt) for prompt in joining.prompts],
            ends=joining.ends,
        )

    def _grid(self, segment: Segment) -> Grid:
        at = self._tensor(segment.at)
        return Grid(segment.slot, segment.slots, segment.cells, segment.keys, segment.rows, at)

    def _tensor(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).to(self.network.device)

    # --- tokens ------------------------------------------------------------------------------------------------------

    def _rules(self, new: np.ndarray) -> Rules:
        """How each row is sampled. Tensors only for what some row asks for."""
        running, drawing = self._running, self._running.rows.slot.size
        slots = np.concatenate([running.rows.slot, new])
        temperatures, top_p, distinct = running.temperature[slots], running.top_p[slots], running.distinct[slots]
        distinct[:drawing] = False  # first tokens only
        return Rules(
            None if (temperatures == 1.0).all() else self._tensor(temperatures),
            None if (top_p == 1.0).all() else self._tensor(top_p),
            self._tensor(distinct) if distinct.any() else None,
        )

    def _draw(self, logits: Tensor, new: np.ndarray) -> np.ndarray:
        """Draw a token for every running sample and lay out the next rows; returns the slots that are done."""
        running = self._running
        samples, places, table = running.questions(new)
        self.counters.passes += 1
        self.counters.rows += logits.shape[0]
        self.counters.samples += samples.size
        drawn = draw(logits, self._tensor(table), self._rules(new))
        moves, done = running.advance(
            samples,
            *(part.cpu().numpy().reshape(-1)[places] for part in (drawn.tokens, drawn.policy, drawn.sampled)),
        )
        if moves.source.size:
            self._cache.copy_rows(self._tensor(moves.source), self._tensor(moves.target))
        rows = running.rows
        if rows.slot.size:
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
            # A tactic of nothing, or of bytes that are no text, cannot be sent to Lean: it counts as cut off.
            whole = bool(running.complete[slot, index]) and bool(text.strip()) and "\ufffd" not in text
            tactics.append(self._sampled(entry, slot, index, text, whole))
        self.counters.states += 1
        tokens = int(lengths.sum()) + int(running.complete[slot, :count].sum())
        self.counters.tokens += tokens
        self.counters.cut_off += count - sum(tactic.complete for tactic in tactics)
        return FinishedJob(entry.job.key, tuple(tactics), entry.value, tokens)

    def _sampled(self, entry: _EngineSlot, slot: int, index: int, text: str, whole: bool) -> SampledTactic:
        running = self._running
        return SampledTactic(
            entry.names.show(text),
            float(running.log_probability[slot, index]),
            whole,
            None if entry.job.sampling.plain else float(running.log_sampled[slot, index]),
        )
