"""`proofmesh agent PROJECT...`: learns from Lean repositories in turn, and proves their `sorry`s (as LeanAgent does).

    proofmesh agent path/to/project https://github.com/ORG/NAME@COMMIT --seconds 30
    proofmesh agent status runs/agent

Each repository is traced. Its theorems and their difficulties e^steps are stored in a database (agent.sqlite). The
network trains on the repositories in the order of their difficulty, with a share of all earlier data. After each one,
all earlier repositories are measured again. Then the trained network and the list of tactics search for a proof of
every `sorry`. A proof counts after Lean has verified its file. Projects are not built: run `lake build` in them first.
Files are only changed with --write.

The same command resumes after a kill or Ctrl-C, and accepts further repositories. The results are in OUT/report.md
and report.html.
Exit code: 0 done, 1 some repository or file was skipped, or training cannot go on, 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from common.config import ConfigError, config_file, load_lean
from common.output.command import Exit, UserError, command, refuse
from common.output.visible import say
from node.agent.settings import AgentError, AgentSettings, Interrupted

if TYPE_CHECKING:
    from common.output.terminal import Console


@dataclass
class StatusSettings:
    """Show the results of an agent, also while it runs."""

    out: Annotated[Path, tyro.conf.Positional]
    """The agent's folder."""


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit code. Raises ConfigError."""
    arguments = list(argv)
    if arguments[:1] == ["status"]:
        return command(StatusSettings, arguments[1:], _status, prog="proofmesh agent status", description=__doc__)
    file = config_file(arguments)
    default = replace(AgentSettings(), lean=load_lean(file), config=file)
    return command(
        AgentSettings, arguments, _learn, prog="proofmesh agent", description=__doc__, default=default, log="error"
    )


def _learn(settings: AgentSettings) -> int:
    from common.output.terminal import lines
    from node.agent.agent import Agent
    from node.agent.report import report_of, show, write
    from node.agent.store import AgentStore

    try:
        settings.check()
    except ValueError as error:
        raise ConfigError(str(error)) from error
    if not settings.projects:
        raise UserError("no repository given: name folders, or URL@COMMIT")
    console = _console()
    try:
        # 1. The work. It resumes by itself from what the folder holds.
        code = Agent(settings, lambda text: console.print(lines(text), soft_wrap=True)).run()
        # 2. The report is made from the database alone, so that it is the same after an interruption.
        with closing(AgentStore(settings.out)) as store:
            report = report_of(store)
            show(report, console)
            for path in write(report, settings.out):
                say(path)
        return code
    except Interrupted as error:
        return refuse("proofmesh agent", f"{error}; the same command resumes", Exit.INTERRUPTED)
    except OSError as error:
        where = error.filename or settings.out
        raise UserError(f"{where}: cannot be written ({error.strerror}); the same command resumes") from error


def _status(settings: StatusSettings) -> int:
    from node.agent.report import report_of, show
    from node.agent.store import AgentStore

    try:
        with closing(AgentStore(settings.out, read_only=True)) as store:
            show(report_of(store), _console(stderr=False))
    except AgentError as error:
        return refuse("proofmesh agent", error)
    return Exit.DONE


def _console(*, stderr: bool = True) -> Console:
    from common.output.terminal import Console

    return Console(stderr=stderr, highlight=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
