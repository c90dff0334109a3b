"""Finds statements that do not elaborate under this Lean, with the errors. An import leaves them out. An evaluation
counts them separately, neither as solved nor as unsolved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from common.cache import cache_directory
from common.lean import Theorem
from common.sizing import read_machine
from node.bank.whitelist import StatementElaborator, Whitelist, key
from node.lean.process.fresh import Limits
from node.lean.toolchain.lean_toolchain import LeanToolchain

JOB_MB = 6000
"""Expected memory of a Lean with Mathlib loaded, for the default number of processes."""

LIMITS = Limits(seconds=600.0, memory_mb=8192)
"""Limits of a batch of 100 statements, including the import of the library."""


def whitelists() -> Path:
    """The folder of the whitelists, which record which statements elaborate."""
    return cache_directory() / "whitelists"


def jobs_of(requested: int) -> int:
    """Lean processes that run at the same time; for 0, as many as cores and memory allow."""
    machine = read_machine()
    return requested or max(1, min(machine.cores, machine.memory_mb // JOB_MB))


async def elaboration_errors(
    theorems: Sequence[Theorem],
    toolchain: LeanToolchain,
    *,
    folder: Path | None = None,
    jobs: int = 0,
    limits: Limits = LIMITS,
    begin: Callable[[int], None] = lambda count: None,
    report: Callable[[int], None] = lambda count: None,
) -> dict[str, str]:
    """Lean's errors by the names of theorems that do not elaborate. Names must be unique.

    Each statement runs once for each header and version of Lean. `folder` stores the results, by default `whitelists`.
    `begin` gets the number of statements to elaborate, `report` the number of those that are done.
    """
    whitelist = Whitelist.open(folder if folder is not None else whitelists(), toolchain)
    keys = [key(toolchain, theorem) for theorem in theorems]
    begin(len(set(keys) - whitelist.known.keys()))
    await StatementElaborator(toolchain, jobs_of(jobs), limits).run(theorems, whitelist, report)
    entries = zip(theorems, (whitelist.known[each] for each in keys), strict=True)
    return {theorem.name: entry.error for theorem, entry in entries if not entry.ok}
