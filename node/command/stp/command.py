"""`proofmesh stp`: self-play of a conjecturer and a prover (STP, arXiv 2502.00212), on a mesh of this machine.

stp prepare         make the initial data: from the bank, a trace, or a data set
stp run FILE        run a recipe, such as scripts/recipes/stp-pocket.toml; the same command resumes after a kill
stp resume RUN      resume a run with its recipe
stp status RUN      show rounds, counts and bottlenecks; writes pictures and stp.html into the run directory
stp show RUN WHAT   show the history of a conjecture or a statement, or examples of a round
stp focus RUN STATEMENT   play rounds around one hard statement, until it is proved or the budget ends
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from common.output.command import Exit, refuse

COMMANDS = {
    "prepare": "node.command.stp.prepare:main_prepare",
    "run": "node.command.stp.run:main_run",
    "resume": "node.command.stp.run:main_resume",
    "status": "node.command.stp.status:main_status",
    "show": "node.command.stp.status:main_show",
    "focus": "node.command.stp.run:main_focus",
}


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__.strip())
        return Exit.DONE if arguments else Exit.UNUSABLE
    name, *command_arguments = arguments
    if name not in COMMANDS:
        return refuse("proofmesh stp", f"no command `{name}`; there are {', '.join(COMMANDS)}")
    module, _, function = COMMANDS[name].partition(":")
    code: int = getattr(importlib.import_module(module), function)(command_arguments)
    return code
