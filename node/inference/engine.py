"""The generation engine: one network that samples tactics, and whole proofs, without I/O, clocks or asyncio.

Tactics run in a lane of their own, as short completions of many states. Whole proofs are longer and fewer, and run in a
second lane, which is made when the first of them is asked for: without them it costs nothing, and they change nothing
for tactics. A step is one forward pass of each lane that has work. One thread owns an engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from node.inference.engine_settings import EngineSettings
from node.inference.job import Counters, FinishedJob, Job
from node.inference.lane import Lane, LaneSizes
from node.inference.network import Network
from node.inference.prefixes import Prefixes
from node.model.names import Names, StatementNames
from node.model.prompt import prompt_tokens, proof_prompt_tokens, unnamed
from node.model.trained import NO_PROOFS, NO_ROLES, PROOFS_KEY
from node.model.weights import Weights

__all__ = ["Counters", "Engine", "FinishedJob", "Job"]

MEGABYTE = 1 << 20


@dataclass
class Engine:
    """See the module's docstring. `weights` are not changed while an engine lives: a new version is a new engine."""

    weights: Weights
    settings: EngineSettings = field(default_factory=EngineSettings)

    def __post_init__(self) -> None:
        settings, model = self.settings, self.weights.model
        context = model.config.context
        if settings.new_tokens >= context:
            raise ValueError(f"new_tokens {settings.new_tokens} leaves no room in a context of {context}")
        narrow = settings.dtype == "bfloat16" or (settings.dtype == "auto" and model.embedding.weight.is_cuda)
        self.counters = Counters()
        self.network = Network(model, torch.bfloat16 if narrow else torch.float32)
        self.tokenizer = self.weights.tokenizer
        self.prefixes = Prefixes(settings.remember * MEGABYTE)
        self.tactics = self._lane(
            LaneSizes(settings.slots, settings.new_tokens, context - settings.new_tokens), proofs=False
        )
        self.proofs: Lane | None = None
        """None: no whole proof has been asked for."""
        self._refused: list[FinishedJob] = []

    def _lane(self, sizes: LaneSizes, *, proofs: bool) -> Lane:
        return Lane(
            self.network,
            self.tokenizer,
            self.settings,
            sizes,
            read=self._statement if proofs else self._state,
            prefixes=self.prefixes,
            counters=self.counters,
        )

    def _state(self, job: Job, limit: int) -> tuple[Names, list[int]]:
        names = Names(job.state)
        return names, prompt_tokens(self.tokenizer, names.state, limit)

    def _statement(self, job: Job, limit: int) -> tuple[Names, list[int]] | None:
        names = StatementNames(unnamed(job.state))
        tokens = proof_prompt_tokens(self.tokenizer, names.state, limit)
        return (names, tokens) if tokens is not None else None

    @property
    def _lanes(self) -> list[Lane]:
        return [self.tactics] if self.proofs is None else [self.tactics, self.proofs]

    @property
    def running(self) -> int:
        """Jobs in the batches."""
        return sum(lane.running for lane in self._lanes)

    @property
    def waiting(self) -> int:
        """Jobs that wait for a slot."""
        return sum(lane.waiting for lane in self._lanes)

    def room(self, job: Job) -> int:
        """Jobs of this kind that could be submitted and start with the next step."""
        if not job.proof:
            return self.tactics.room
        return self.settings.proof_slots if self.proofs is None else self.proofs.room

    @property
    def busy(self) -> bool:
        return bool(self._refused) or any(lane.busy for lane in self._lanes)

    def submit(self, job: Job) -> None:
        """Queue a job. Raises ValueError for one that can never run."""
        if problem := job.problem(self.settings.cells):
            raise ValueError(problem)
        if not job.proof:
            self.tactics.submit(job)
        elif problem := self._why_no_proofs():
            self._refused.append(FinishedJob(job.key, (), 0.0, problem=problem))
        else:
            self._proof_lane().submit(job)

    @torch.inference_mode()
    def step(self) -> list[FinishedJob]:
        """One forward pass of each lane; the jobs that it finished. Does nothing when there is nothing to do."""
        refused, self._refused = self._refused, []
        return [*refused, *(finished for lane in self._lanes for finished in lane.step())]

    def _why_no_proofs(self) -> str:
        """Why this network writes no whole proofs; empty: it does."""
        if not self.tokenizer.has_roles:
            return NO_ROLES
        return "" if self.weights.information.get(PROOFS_KEY) else NO_PROOFS

    def _proof_lane(self) -> Lane:
        if self.proofs is None:
            settings, context = self.settings, self.weights.model.config.context
            new_tokens = min(settings.proof_tokens, context // 2)
            self.proofs = self._lane(LaneSizes(settings.proof_slots, new_tokens, context - new_tokens), proofs=True)
        return self.proofs
