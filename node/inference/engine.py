"""The generation engine: continuous batching for many short completions, without I/O, clocks or asyncio.

`submit` queues a state; each `step` admits what has room, runs one forward pass over every running completion and
every new prompt, draws one token for each sample, and returns the states that are finished. One thread owns an
engine.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from common.messages import SampledTactic
from node.inference.engine_settings import EngineSettings
from node.inference.network import Cache, Network, Pass
from node.inference.running import Running
from node.inference.sampling import draw
from node.model.names import Names
from node.model.prompt import prompt_tokens
from node.model.transformer import expected_value
from node.model.weights import Weights

KEY_STEP = 64
"""The cache grows in steps of this many keys."""


@dataclass(frozen=True)
class Job:
    """One state to sample from."""

    key: Any
    """Given back with the answer."""
    state: str
    samples: int
    seed: int
    temperature: float = 1.0


@dataclass(frozen=True)
class Finished:
    """The answer to a job."""

    key: Any
    tactics: tuple[SampledTactic, ...]
    """In sample order, duplicates kept."""
    value: float
    """V: minus the expected remaining steps."""


@dataclass
class Counters:
    """What the engine has done since it was made."""

    passes: int = 0
    rows: int = 0
    """Rows that drew a token, summed over passes: distinct completions and new prompts."""
    samples: int = 0
    """Samples that drew a token, summed over passes: samples that still agree count each."""
    states: int = 0
    """Finished states."""
    tokens: int = 0
    """Tokens of finished samples, their ends included."""
    prompt_tokens: int = 0

    def add(self, other: Counters) -> None:
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass
class _Slot:
    job: Job
    names: Names
    value: float = 0.0


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
        self.network = Network(model)
        self.tokenizer = self.weights.tokenizer
        self._limit = model.config.context - settings.new_tokens
        self._cache = Cache(self.network, settings.slots, settings.cells, KEY_STEP)
        self._running = Running(settings.slots, settings.cells, settings.new_tokens, self.tokenizer.vocab_size)
        self._free = list(range(settings.slots))
        self._slots: dict[int, _Slot] = {}
        self._waiting: deque[Job] = deque()

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
        if not 1 <= job.samples <= self.settings.cells:
            raise ValueError(f"{job.samples} samples; this engine gives 1 to {self.settings.cells}")
        if not 0.0 <= job.temperature <= 100.0:
            raise ValueError(f"temperature {job.temperature}; it must be between 0 and 100")
        self._waiting.append(job)

    @torch.inference_mode()
    def step(self) -> list[Finished]:
        """One forward pass; the states that it finished. Does nothing when there is nothing to do."""
        slots, prompts = self._admit()
        if not self._slots:
            return []
        logits, values = self.network.run(self._layout(slots, prompts), self._cache)
        for slot, value in zip(slots.tolist(), expected_value(values).tolist(), strict=True):
            self._slots[slot].value = value
        done = self._draw(logits, slots)
        return [self._finish(slot) for slot in done.tolist()]

    def _admit(self) -> tuple[np.ndarray, list[list[int]]]:
        """Slots and prompts of the states that join this pass."""
        slots: list[int] = []
        prompts: list[list[int]] = []
        budget = self.settings.prompt_tokens
        while self._waiting and self._free and (budget > 0 or not slots):
            job = self._waiting.popleft()
            names = Names(job.state)
            tokens = prompt_tokens(self.tokenizer, names.state, self._limit)
            slot = heapq.heappop(self._free)
            self._reserve(len(tokens) + job.samples * self.settings.new_tokens)
            self._cache.open(slot, len(tokens))
            self._running.admit(slot, len(tokens), job.samples, job.seed, job.temperature)
            self._slots[slot] = _Slot(job, names)
            slots.append(slot)
            prompts.append(tokens)
            budget -= len(tokens)
        self.counters.prompt_tokens += sum(map(len, prompts))
        return np.array(slots, dtype=np.int64), prompts

    def _reserve(self, keys: int) -> None:
        if keys > self._cache.capacity:
            self._cache = self._cache.grown(self.network, -(-keys // KEY_STEP) * KEY_STEP)

    def _layout(self, slots: np.ndarray, prompts: list[list[int]]) -> Pass:
        """The pass over the running rows and these prompts."""
        rows, capacity = self._running.rows, self._cache.capacity
        tokens, positions, keys = [rows.token], [rows.position], [rows.slot * capacity + rows.key]
        for slot, prompt in zip(slots.tolist(), prompts, strict=True):
            places = np.arange(len(prompt))
            tokens.append(np.array(prompt, dtype=np.int64))
            positions.append(places)
            keys.append(places + slot * capacity)
        cells_used = int(rows.cell.max(initial=0)) + 1
        return Pass(
            tokens=self._tensor(np.concatenate(tokens)),
            positions=self._tensor(np.concatenate(positions)),
            keys_at=self._tensor(np.concatenate(keys)),
            cells=self._tensor(rows.slot * cells_used + rows.cell),
            slots_used=int(rows.slot.max(initial=0)) + 1,
            cells_used=cells_used,
            keys_used=int(rows.key.max(initial=0)) + 1,
            prompts=[len(prompt) for prompt in prompts],
        )

    def _tensor(self, array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(array).to(self.network.device)

    def _draw(self, logits: torch.Tensor, new: np.ndarray) -> np.ndarray:
        """Draw a token for every running sample and lay out the next rows; returns the slots that are done."""
        running = self._running
        samples, places, table = running.questions(new)
        temperatures = running.temperature[np.concatenate([running.rows.slot, new])]
        warm = None if (temperatures == 1.0).all() else self._tensor(temperatures)
        tokens, log_probabilities = draw(logits, self._tensor(table), warm)
        self.counters.passes += 1
        self.counters.rows += logits.shape[0]
        self.counters.samples += samples.size
        moves, done = running.advance(
            samples,
            tokens.cpu().numpy().reshape(-1)[places],
            log_probabilities.cpu().numpy().reshape(-1)[places],
        )
        if moves.source.size:
            self._cache.copy_rows(self._tensor(moves.source), self._tensor(moves.target))
        rows = running.rows
        if rows.slot.size:
            cells = rows.slot * self.settings.cells + rows.cell
            self._cache.show(self._tensor(cells * self._cache.capacity + rows.key))
        return done

    def _finish(self, slot: int) -> Finished:
        """Free the slot and write its samples as text."""
        running, entry = self._running, self._slots.pop(slot)
        heapq.heappush(self._free, slot)
        count = entry.job.samples
        lengths = running.length[slot, :count]
        texts = self.tokenizer.decode_batch(
            [running.tokens[slot, index, : lengths[index]].tolist() for index in range(count)]
        )
        tactics = []
        for index, text in enumerate(texts):
            # A tactic of nothing, or of bytes that are no text, cannot be sent to Lean: it counts as cut off.
            whole = bool(running.complete[slot, index]) and bool(text.strip()) and "\ufffd" not in text
            tactics.append(SampledTactic(entry.names.show(text), float(running.log_probability[slot, index]), whole))
        self.counters.states += 1
        self.counters.tokens += int(lengths.sum()) + int(running.complete[slot, :count].sum())
        return Finished(entry.job.key, tuple(tactics), entry.value)
