"""The generation engine: one network that samples tactics, whole proofs and conjectures, without I/O, clocks or
asyncio.

Tactics run in their own lane, as short completions of many states. Whole proofs are longer and fewer, and run in a
second lane. Conjectures, with long prompts and short completions, run in a third one. The second and the third lane are
created at the first request for them, so that they cost nothing otherwise. A step is one forward pass of each lane that
has work. An engine may be used by one thread only.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import torch

from node.inference.engine.batch import Counters, FinishedJob, Job
from node.inference.engine.lane import Lane, LaneSizes
from node.inference.engine.network import Network, Prefixes
from node.inference.settings import EngineSettings
from node.model.checkpoint_folders import (
    CONJECTURES_KEY,
    NO_CONJECTURE_ROLES,
    NO_CONJECTURES,
    NO_PROOFS,
    NO_ROLES,
    PROOFS_KEY,
)
from node.model.names import Names, StatementNames
from node.model.prompt import conjecture_prompt_tokens, prompt_tokens, proof_prompt_tokens, unnamed
from node.model.tokenizer import Tokenizer
from node.model.transformer import has_bf16
from node.model.weights import Weights

__all__ = ["Counters", "Engine", "FinishedJob", "Job"]

MEGABYTE = 1 << 20

RESERVE = 32
"""Tokens of the context that the prompt of a tactic leaves free at least: nearly all tactics are shorter. A shorter
prompt leaves more, up to the longest tactic of the network."""


ReadWith = Callable[[Tokenizer, Job, int], tuple[Names, list[int]] | None]
"""`lane.Read` that gets the tokenizer first."""


def read_state(tokenizer: Tokenizer, job: Job, limit: int) -> tuple[Names, list[int]]:
    """Names and prompt of a proof state."""
    names = Names(job.state)
    return names, prompt_tokens(tokenizer, names.state, limit)


def read_statement(tokenizer: Tokenizer, job: Job, limit: int) -> tuple[Names, list[int]] | None:
    """Names and prompt of a statement whose whole proofs are sampled."""
    names = StatementNames(unnamed(job.state))
    tokens = proof_prompt_tokens(tokenizer, names.state, limit)
    return (names, tokens) if tokens is not None else None


def read_seed(tokenizer: Tokenizer, job: Job, limit: int) -> tuple[Names, list[int]] | None:
    """Prompt of a conjecture. It has no names from the state to restore: they stay canonical."""
    tokens = conjecture_prompt_tokens(tokenizer, job.state, limit)
    return (StatementNames(""), tokens) if tokens is not None else None


@dataclass
class Engine:
    """See the module's docstring. `weights` are not changed while an engine lives: a new version is a new engine."""

    weights: Weights
    settings: EngineSettings = field(default_factory=EngineSettings)

    def __post_init__(self) -> None:
        settings, model = self.settings, self.weights.model
        narrow = settings.dtype == "bfloat16" or (settings.dtype == "auto" and has_bf16(model.embedding.weight.device))
        self.counters = Counters()
        self.network = Network(model, torch.bfloat16 if narrow else torch.float32)
        self.tokenizer = self.weights.tokenizer
        self.prefixes = Prefixes(settings.remember * MEGABYTE)
        longest = model.config.longest_tactic
        longest = min(longest, settings.new_tokens or longest)
        self.tactics = self._lane(settings.slots, longest, read_state, reserve=min(longest, RESERVE))
        self.proofs: Lane | None = None
        """None before the first request for a whole proof."""
        self.conjectures: Lane | None = None
        """None before the first request for a conjecture."""
        self._refused: list[FinishedJob] = []

    def _lane(self, slots: int, new_tokens: int, read: ReadWith, reserve: int | None = None) -> Lane:
        """A lane whose prompts may use the context but for `reserve` tokens; by default they leave room for a whole
        completion.

        The lane must not refer to this engine: in a reference cycle, the caches of a removed engine would stay in
        memory until the garbage collector looks for old cycles, which can take many weight versions.
        """
        return Lane(
            self.network,
            self.tokenizer,
            self.settings,
            LaneSizes(slots, new_tokens, self.weights.model.config.context - (reserve or new_tokens)),
            read=partial(read, self.tokenizer),
            prefixes=self.prefixes,
            counters=self.counters,
        )

    @property
    def _lanes(self) -> list[Lane]:
        return [lane for lane in (self.tactics, self.proofs, self.conjectures) if lane is not None]

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
        if not job.whole:
            return self.tactics.room
        lane = self.proofs if job.proof else self.conjectures
        return self.settings.proof_slots if lane is None else lane.room

    @property
    def busy(self) -> bool:
        return bool(self._refused) or any(lane.busy for lane in self._lanes)

    def submit(self, job: Job) -> None:
        """Queue a job. Raises ValueError if it can never run."""
        if problem := job.problem(self.settings.cells):
            raise ValueError(problem)
        if not job.whole:
            self.tactics.submit(job)
        elif problem := self._why_no_proofs() if job.proof else self._why_no_conjectures():
            self._refused.append(FinishedJob(job.key, (), 0.0, problem=problem))
        else:
            (self._proof_lane() if job.proof else self._conjecture_lane()).submit(job)

    @torch.inference_mode()
    def step(self) -> list[FinishedJob]:
        """One forward pass of each lane with work. Returns the jobs that it finished."""
        refused, self._refused = self._refused, []
        return [*refused, *(finished for lane in self._lanes for finished in lane.step())]

    def _why_no_proofs(self) -> str:
        """Why this network writes no whole proofs; empty if it does."""
        if not self.tokenizer.has_roles:
            return NO_ROLES
        return "" if self.weights.information.get(PROOFS_KEY) else NO_PROOFS

    def _why_no_conjectures(self) -> str:
        """Why this network writes no conjectures; empty if it does."""
        if not self.tokenizer.has_roles:
            return NO_CONJECTURE_ROLES
        return "" if self.weights.information.get(CONJECTURES_KEY) else NO_CONJECTURES

    def _proof_lane(self) -> Lane:
        if self.proofs is None:
            self.proofs = self._lane(self.settings.proof_slots, self._most(self.settings.proof_tokens), read_statement)
        return self.proofs

    def _conjecture_lane(self) -> Lane:
        if self.conjectures is None:
            most = self._most(self.settings.conjecture_tokens)
            self.conjectures = self._lane(self.settings.proof_slots, most, read_seed)
        return self.conjectures

    def _most(self, tokens: int) -> int:
        """Longest completion in tokens: at most half of the context."""
        return min(tokens, self.weights.model.config.context // 2)


# ----------------------------------------------------------------------------------------------------------------------
# The engines of all weight versions, and one queue in front of them. A job is bound to an engine only when that engine
# has room. So when new weights arrive, waiting jobs run with them, running jobs finish with the old ones, and no job is
# lost.


class WeightsId(NamedTuple):
    """A version with its digest: after a learner went back to a checkpoint, one number can stand for two different
    weights."""

    version: int
    digest: str


@dataclass(frozen=True)
class JobAnswer:
    """The end of a job: its samples and their weight version. `finished` is None if that version is not served."""

    job: Job
    finished: FinishedJob | None
    version: WeightsId
    seconds: float = 0.0
    """Since an engine took the job."""


@dataclass
class EngineSet:
    """See the module's docstring."""

    engines: dict[WeightsId, Engine] = field(default_factory=dict)
    latest: WeightsId | None = None
    _kept: set[WeightsId] = field(default_factory=set)
    _waiting: deque[tuple[Job, WeightsId | None]] = field(default_factory=deque)
    _jobs: dict[tuple[WeightsId, object], tuple[Job, float]] = field(default_factory=dict)
    """The jobs that engines have taken, and when."""
    _past: Counters = field(default_factory=Counters)

    def install(self, version: WeightsId, engine: Engine) -> None:
        """Serve a version. Set `latest` to use it for jobs that request no particular version."""
        if version not in self.engines:  # a retired version may still have running jobs: keep its engine
            self.engines[version] = engine
        self._kept.add(version)

    def keep(self, versions: set[WeightsId]) -> None:
        """Retire all other versions: each is removed when its running jobs are finished."""
        self._kept = versions | ({self.latest} if self.latest is not None else set())

    def submit(self, job: Job, version: WeightsId | None) -> None:
        """Queue a job for a version; None is the latest at the time when it starts."""
        self._waiting.append((job, version))

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def running(self) -> int:
        return sum(engine.running + engine.waiting for engine in self.engines.values())

    @property
    def busy(self) -> bool:
        return bool(self.running) or (bool(self._waiting) and self.latest is not None)

    def step(self) -> list[JobAnswer]:
        """Start jobs for which there is room, run one pass of every engine with work, and return the ended jobs."""
        answers = self._feed()
        for version, engine in list(self.engines.items()):
            if engine.busy:
                for finished in engine.step():
                    job, began = self._jobs.pop((version, finished.key))
                    answers.append(JobAnswer(job, finished, version, time.perf_counter() - began))
            if version not in self._kept and not engine.busy:
                self._close(version)
        return answers

    def counters(self) -> Counters:
        """Sums over all engines, including removed ones."""
        total = Counters()
        for part in (self._past, *(engine.counters for engine in self.engines.values())):
            total.add(part)
        return total

    def _feed(self) -> list[JobAnswer]:
        """Submit waiting jobs to engines with room, in order for each version. Refuse jobs whose version is not
        served."""
        refused: list[JobAnswer] = []
        left: deque[tuple[Job, WeightsId | None]] = deque()
        while self._waiting:
            job, requested = self._waiting.popleft()
            version = self.latest if requested is None else requested
            if version is None:
                left.append((job, requested))
            elif version not in self.engines or (requested is not None and requested not in self._kept):
                refused.append(JobAnswer(job, None, version))
            elif self.engines[version].room(job):
                self.engines[version].submit(job)
                self._jobs[version, job.key] = job, time.perf_counter()
            else:
                left.append((job, requested))
        self._waiting = left
        return refused

    def _close(self, version: WeightsId) -> None:
        self._past.add(self.engines.pop(version).counters)
