"""This process as the venue of an evaluation: the prover's searches with this machine's Lean workers."""

from __future__ import annotations

import os
import resource
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import psutil

from common.machine import read_machine, sizes
from node.bank.elaboration import elaboration_errors
from node.eval.folder import LeanFacts, Plan, StatementRecord
from node.eval.venue import digests, label_of, without_servers
from node.lean.backend import Backend
from node.lean.opened import open_lean
from node.lean.settings import LeanProcessSettings
from node.lean.toolchain.lean_toolchain import LeanToolchain, library
from node.llm.settings import ModelSettings
from node.play.here import LocalAttempts
from node.play.policies import parse
from node.prover.policies.premises import open_source
from node.prover.search.parameters import SearchParameters
from node.prover.settings import ProverSettings

GATHER_SECONDS = 15.0
"""How long proofs gather for a batch, which takes one second of both cores, whatever its size. If the process is killed
meanwhile, the next run plays the attempts again."""

GATHER_HEADERS = 20.0
"""The same in units of the time that the header's import takes: a batch imports it twice, which is a twentieth of the
time of two cores."""


class LoneVenue:
    """`Venue` in this process."""

    mesh = ""
    sampling = None

    def __init__(
        self,
        toolchain: LeanToolchain,
        settings: LeanProcessSettings,
        policy: str,
        *,
        searches: int = 0,
        models: ModelSettings | None = None,
        premises: str = "",
        search: SearchParameters | None = None,
        note: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`searches`: concurrent searches, 0 for as many as a prover has. `models`: settings of language models.
        `premises`: folder of a premise index. `search`: parameters of the search. Raises BadPolicy."""
        self.toolchain = toolchain
        self.asked = policy
        self.policy = without_servers(policy)
        self.label = label_of(parse(policy))
        self.weights = digests(parse(policy), note)
        if (source := open_source(premises)) is not None:
            self.weights["premises"] = source.digest
        self.lean = LeanFacts(
            version=toolchain.version,
            name=toolchain.name,
            library=library(toolchain.project),
            header=toolchain.default_header,
        )
        self._settings = settings
        self._models = models
        self._prover = ProverSettings(
            policy="",
            premises=premises,
            search=search or SearchParameters(),
        )
        self.leaves = self._prover.leaves
        self.searches = searches or sizes(read_machine()).searches
        self._note = note
        self._workers: Backend | None = None

    @property
    def gather_seconds(self) -> float:
        """Proofs wait longer with a header that takes long: each batch imports it again while the searches go on."""
        header = self._workers.header_seconds if self._workers is not None else 0.0
        return max(GATHER_SECONDS, GATHER_HEADERS * header)

    async def refusals(self, statements: Sequence[StatementRecord]) -> dict[str, str]:
        """Elaborates each statement once for each header and Lean version; the answers are cached across runs."""

        def begin(count: int) -> None:
            if count:
                self._note(f"elaborating {count} statements")

        return await elaboration_errors([each.theorem for each in statements], self.toolchain, begin=begin)

    @asynccontextmanager
    async def attempts(self, plan: Plan) -> AsyncIterator[LocalAttempts]:
        """A failing network fails the attempt, even if the policy also has a list of tactics: the list without the
        network would be another policy. Raises BadPolicy, ProvingFailed."""
        settings = replace(self._prover, leaves=plan.leaves, sampling=plan.sampling)
        threads = sizes(read_machine()).inference_threads
        async with (
            open_lean(self._settings, self.toolchain) as lean,
            LocalAttempts(lean, settings, threads=threads, models=self._models, note=self._note) as attempts,
        ):
            self._workers = lean.requests.backend
            await attempts.open(self.asked)
            yield attempts

    def lean_cpu(self) -> float | None:
        """CPU seconds of all child processes: these are the Lean processes."""
        return children_cpu()


# --- CPU seconds of this process and of the Lean processes that it started --------------------------------------------


def own_cpu() -> float:
    """CPU seconds of this process since its start."""
    return sum(os.times()[:2])


def children_cpu() -> float:
    """CPU seconds of all descendants of this process since its start, ended ones included.

    When a process has ended and its parent has waited for it, the kernel adds its time to the parent's. The times of
    the running descendants, and of the children that they have waited for, are added here.
    """
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = used.ru_utime + used.ru_stime
    for child in psutil.Process().children(recursive=True):
        try:
            times = child.cpu_times()
        except psutil.Error:  # it has just ended: its parent has its time
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total
