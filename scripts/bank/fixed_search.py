"""Runs searches with the fixed list of tactics in one process: a prover's agent and a lean-proxy's pool, no broker."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from common.bus import Here
from common.lean import Theorem
from common.protocol import subjects
from common.protocol.attempts import Attempt, AttemptOutcome, Purpose
from node.lean.cache import OutcomeCache
from node.lean.requests import Requests
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.worker.options import WorkerOptions
from node.lean.worker.pool import Pool
from node.prover.agents.agent import Agent
from node.prover.agents.attempt_agent import Playing
from node.prover.agents.environment import LeanEnvironment
from node.prover.policies.fixed.policy import FixedPolicy
from node.prover.settings import ProverSettings

TACTIC_SECONDS = 5.0
PATIENCE = 600.0
"""Seconds to wait for a busy worker."""


@asynccontextmanager
async def local_requests(workers: int = 1) -> AsyncIterator[Requests]:
    """The lean-proxy's request handler, with its own pool of workers."""
    pool = Pool(LeanToolchain.pocket(), WorkerOptions(), workers=workers, queue=64)
    pool.start()
    try:
        yield Requests(pool, OutcomeCache(10_000), longest=TACTIC_SECONDS)
    finally:
        await pool.stop()


async def solve_all(theorems: Sequence[Theorem], simulations: int) -> list[bool]:
    """Whether a search with the fixed list of tactics proves each theorem within this number of simulations."""
    solved = []
    # Proofs are not verified here, and merging up to names may give wrong renamed ones.
    parameters = replace(ProverSettings(policy="fixed").search_parameters(), merging="text")
    async with local_requests() as requests:
        here = Here()
        here.serve(subjects.LEAN_RUN, requests.run)
        for theorem in theorems:
            attempt = Attempt(theorem.name, theorem.name, theorem, Purpose.EVAL, simulations, seed=0)
            environment = LeanEnvironment(here, theorem, tactic_timeout=TACTIC_SECONDS, patience=PATIENCE)
            agent = Agent(attempt, FixedPolicy(), environment, Playing("floors", leaves=1, parameters=parameters))
            solved.append((await agent.play()).outcome is AttemptOutcome.PROVED)
    return solved
