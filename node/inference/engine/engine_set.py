"""The engines of all weight versions, and one queue in front of them: no threads, no clocks, no messages.

A job is bound to an engine only when that engine has room. So when new weights arrive, waiting jobs run with them,
running jobs finish with the old ones, and no job is lost.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from node.inference.engine.engine import Engine
from node.inference.engine.job import Counters, FinishedJob, Job
from node.inference.weights.shelf import WeightsId


@dataclass(frozen=True)
class JobAnswer:
    """The end of a job: its samples and their weight version. `finished` is None if that version is not served."""

    job: Job
    finished: FinishedJob | None
    version: WeightsId


@dataclass
class EngineSet:
    """See the module's docstring."""

    engines: dict[WeightsId, Engine] = field(default_factory=dict)
    latest: WeightsId | None = None
    _kept: set[WeightsId] = field(default_factory=set)
    _waiting: deque[tuple[Job, WeightsId | None]] = field(default_factory=deque)
    _jobs: dict[tuple[WeightsId, object], Job] = field(default_factory=dict)
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
                    answers.append(JobAnswer(self._jobs.pop((version, finished.key)), finished, version))
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
                self._jobs[version, job.key] = job
            else:
                left.append((job, requested))
        self._waiting = left
        return refused

    def _close(self, version: WeightsId) -> None:
        self._past.add(self.engines.pop(version).counters)
