"""The check at the start: does the configured header elaborate? The process that loaded it goes on as a worker."""

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
        "the module is not there, or not compiled: `lake build` in the project compiles what is missing (`lake exe "
        "cache get` fetches Mathlib's)"
    ),
    r"incompatible header|failed to read file .*olean|invalid .*olean": (
        "these modules were compiled by another Lean: take the toolchain that the project wants (leave [lean] "
        "toolchain out), or build the project again"
    ),
    r"[Uu]nknown namespace|[Uu]nknown option|[Uu]nknown constant": (
        "correct opens and options in [lean], or import what they need"
    ),
}
"""What to do, by a pattern of Lean's message."""


async def prepare(pool: Pool, machine: Machine | None = None) -> LeanProcess:
    """Have a worker load the configured header, and the others in the background if it imports anything.

    `machine`: no more workers than fit into its memory, now that it is known what a header takes. Returns the worker's
    process. Raises LeanProblem.
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
    """What is wrong with the configured Lean or header, and what to do."""
    lean = f"Lean {toolchain.version} ({toolchain.name})"
    header = f"the header is:\n{toolchain.default_header}" if toolchain.default_header else "the header is empty"
    if isinstance(error, BadHeader):
        advice = next((text for pattern, text in _ADVICE.items() if re.search(pattern, str(error))), "")
        return "\n".join(filter(None, [f"{lean}: {error}", header, advice and f"What to do: {advice}."]))
    if isinstance(error, WorkerEnded) and error.ending is Ending.TIMEOUT:
        return (
            f"{lean} was not done with the header after {seconds:g} s; {header}\nWhat to do: raise [lean] "
            "header_seconds. The first import of a large library reads gigabytes from the disk, later ones do not."
        )
    return f"{lean} does not start as `{' '.join(toolchain.command)}`: {error}"
