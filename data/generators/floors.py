"""Measures baselines of the bank: how many statements are proved by single tactics and by searches without a model.

python -m data.generators.floors                     # single tactics after `intros`
python -m data.generators.floors --search 16         # and a search with the fixed tactic list, no model
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from common.bus import Here
from common.lean import Theorem
from common.protocol import subjects
from common.protocol.attempts import Attempt, AttemptOutcome, Purpose
from data.generators.lean_check import closed_by
from data.generators.profiles import FLOOR_TACTICS
from node.bank.bank import SPLITS, BankTheorem, load_statements, stratified
from node.lean.backend import OutcomeCache
from node.lean.requests import Requests
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.worker.pool import Pool
from node.lean.worker.process import WorkerOptions
from node.prover.agent import Agent, Playing
from node.prover.environment import LeanEnvironment
from node.prover.policies.fixed import FixedPolicy
from node.prover.settings import ProverSettings

# ----------------------------------------------------------------------------------------------------------------------
# Runs searches with the fixed list of tactics in one process: a prover's agent and a lean-proxy's pool, no broker.

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
    parameters = ProverSettings(policy="fixed").search_parameters()
    async with local_requests() as requests:
        here = Here()
        here.serve(subjects.LEAN_RUN, requests.run)
        for theorem in theorems:
            attempt = Attempt(theorem.name, theorem.name, theorem, Purpose.EVAL, simulations, seed=0)
            environment = LeanEnvironment(here, theorem, tactic_timeout=TACTIC_SECONDS, patience=PATIENCE)
            agent = Agent(attempt, FixedPolicy(), environment, Playing("floors", leaves=1, parameters=parameters))
            solved.append((await agent.play()).outcome is AttemptOutcome.PROVED)
    return solved


# ----------------------------------------------------------------------------------------------------------------------
# Measures baselines of the bank: how many statements are proved by single tactics and by searches without a model.

MOST_BY_ONE = 0.15
MOST_BY_ANY = 0.30
"""Promised limits for the test split: the share closed by one tactic, and by any of them."""


def floors(statements: Sequence[BankTheorem]) -> dict[str, float]:
    """The share of statements that each tactic proves after `intros`, and `any`: the share that some tactic proves."""
    theorems = [statement.theorem for statement in statements]
    closed = {tactic: closed_by(theorems, tactic) for tactic in FLOOR_TACTICS}
    shares = {tactic: sum(results) / len(theorems) for tactic, results in closed.items()}
    shares["any"] = sum(map(any, zip(*closed.values(), strict=True))) / len(theorems)
    return shares


def search_floor(statements: Sequence[BankTheorem], simulations: int) -> list[bool]:
    """Whether a search with the fixed list of tactics proves each statement."""
    return asyncio.run(solve_all([statement.theorem for statement in statements], simulations))


def by_level(statements: Sequence[BankTheorem], solved: Sequence[bool]) -> dict[int, float]:
    """The solve rate at each level."""
    total = Counter(statement.level for statement in statements)
    won = Counter(statement.level for statement, done in zip(statements, solved, strict=True) if done)
    return {level: won[level] / total[level] for level in sorted(total)}


def main() -> int:
    """Entry point of `python -m data.generators.floors`. Exit code 1 if the test split exceeds a promised limit."""
    parser = argparse.ArgumentParser(description="Floors of the theorem bank.")
    parser.add_argument("--split", choices=SPLITS, default="test")
    parser.add_argument("--search", type=int, default=0, metavar="SIMULATIONS", help="also search with the fixed list")
    parser.add_argument(
        "--limit", type=int, default=0, help="a stratified sample of this size instead of the whole split"
    )
    arguments = parser.parse_args()
    statements = load_statements(arguments.split)
    if arguments.limit:
        statements = stratified(statements, min(arguments.limit, len(statements)), seed=0)
    print(f"{arguments.split}: {len(statements)} statements, closed after `intros` by")
    shares = floors(statements)
    for tactic, share in shares.items():
        print(f"  {tactic:<16}{share:7.1%}")
    if arguments.search:
        solved = search_floor(statements, arguments.search)
        print(f"  fixed tactic list, {arguments.search} simulations: {sum(solved) / len(solved):.1%}")
        for level, share in by_level(statements, solved).items():
            print(f"    level {level}       {share:7.1%}")
    within_limits = shares["any"] <= MOST_BY_ANY and all(shares[tactic] <= MOST_BY_ONE for tactic in FLOOR_TACTICS)
    return 0 if within_limits or arguments.split != "test" else 1


if __name__ == "__main__":
    sys.exit(main())
