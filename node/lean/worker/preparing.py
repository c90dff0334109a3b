"""Checks at the start that the configured header elaborates. The process that loaded it becomes a worker."""

from __future__ import annotations

import re

from common.sizing import LEAN_SHARE, LEAN_WORKER_MB, Machine
from node.lean.process.child import Ending
from node.lean.text.headers import imports
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.toolchain.problems import LeanProblem
from node.lean.worker.pool import Pool
from node.lean.worker.process import LeanProcess, WorkerEnded
from node.lean.worker.runner import BadHeader

_ADVICE = {
    r"unknown module prefix|object file .* does not exist|unknown package": (
        "check the module's name, and compile missing modules with `lake build` in the project (`lake exe cache get` "
        "downloads those of Mathlib)"
    ),
    r"incompatible header|failed to read file .*olean|invalid .*olean": (
        "another Lean compiled these modules: remove [lean] toolchain to use the project's own, or build the project "
        "again"
    ),
    r"[Uu]nknown namespace|[Uu]nknown option|[Uu]nknown constant": (
        "correct opens and options in [lean], or import the modules that declare them"
    ),
}
"""Advice for the user, by a pattern of Lean's message."""


async def prepare(pool: Pool, machine: Machine | None = None) -> LeanProcess:
    """Make a worker load the configured header. If the header imports anything, the other workers load it in the
    background.

    `machine`: reduce the number of workers to those that fit into its memory, after measuring the header's memory.
    Returns the worker's process. Raises LeanProblem.
    """
    try:
        process = await pool.prepare()
    except (BadHeader, WorkerEnded, OSError) as error:
        raise LeanProblem(explained(error, pool.toolchain, pool.options.start_seconds)) from error
    if imports(pool.toolchain.default_header):
        if machine is not None:
            pool.limit(int(machine.memory_mb * LEAN_SHARE / (process.header_mb + LEAN_WORKER_MB)))
        pool.prepare_all()
    return process


def explained(error: BadHeader | WorkerEnded | OSError, toolchain: LeanToolchain, seconds: float) -> str:
    """The message for the user: the error of the configured Lean or header, and what to do."""
    lean = f"Lean {toolchain.version} ({toolchain.name})"
    header = f"the header is:\n{toolchain.default_header}" if toolchain.default_header else "the header is empty"
    if isinstance(error, BadHeader):
        advice = next((text for pattern, text in _ADVICE.items() if re.search(pattern, str(error))), "")
        return "\n".join(filter(None, [f"{lean}: {error}", header, advice and f"What to do: {advice}."]))
    if isinstance(error, WorkerEnded) and error.ending is Ending.TIMEOUT:
        return (
            f"{lean} did not finish the header in {seconds:g} s; {header}\nWhat to do: raise [lean] header_seconds, or "
            "start again: only the first import of a large library reads gigabytes from the disk."
        )
    return f"{lean} does not start as `{' '.join(toolchain.command)}`: {error}"
