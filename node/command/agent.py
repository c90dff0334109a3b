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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from common.config import ConfigError, check_flags, config_file, load_lean
from common.output.visible import say
from node.agent.settings import AgentError, AgentSettings, Interrupted

if TYPE_CHECKING:
    from common.output.terminal import Console

BAD_INPUT, INTERRUPTED = 2, 130


@dataclass
class StatusSettings:
    """Show the results of an agent, also while it runs."""

    out: Annotated[Path, tyro.conf.Positional]
    """The agent's folder."""


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit code. Raises ConfigError."""
    arguments = list(argv)
    if arguments[:1] == ["status"]:
        return _status(arguments[1:])
    file = config_file(arguments)
    default = replace(AgentSettings(), lean=load_lean(file), config=file)
    settings = tyro.cli(AgentSettings, args=arguments, default=default, prog="proofmesh agent", description=__doc__)
    check_flags(settings)
    try:
        settings.check()
    except ValueError as error:
        raise ConfigError(str(error)) from error
    if not settings.projects:
        return _refuse("no repository given: name folders, or URL@COMMIT")
    return _run(settings)


def _run(settings: AgentSettings) -> int:
    from common.life import logging
    from common.output.terminal import lines
    from node.agent.agent import Agent
    from node.agent.report import report_of, show, write
    from node.agent.store import AgentStore
    from node.data.errors import TrainingError

    logging.configure("error")
    console = _console()
    try:
        code = Agent(settings, lambda text: console.print(lines(text), soft_wrap=True)).run()
        store = AgentStore(settings.out)
        try:
            report = report_of(store)
            show(report, console)
            for path in write(report, settings.out):
                say(path)
        finally:
            store.close()
        return code
    except AgentError as error:
        return _refuse(str(error))
    except Interrupted as error:
        say(f"proofmesh agent: {error}; the same command resumes", file=sys.stderr)
        return INTERRUPTED
    except TrainingError as error:
        say(f"proofmesh agent: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        return _refuse(
            f"{error.filename or settings.out}: cannot be written ({error.strerror}); the same command resumes"
        )


def _status(arguments: Sequence[str]) -> int:
    settings = tyro.cli(StatusSettings, args=list(arguments), prog="proofmesh agent status", description=__doc__)
    from node.agent.report import report_of, show
    from node.agent.store import AgentStore

    try:
        store = AgentStore(settings.out, read_only=True)
        try:
            show(report_of(store), _console(stderr=False))
        finally:
            store.close()
    except AgentError as error:
        return _refuse(str(error))
    return 0


def _console(*, stderr: bool = True) -> Console:
    from common.output.terminal import Console

    return Console(stderr=stderr, highlight=False)


def _refuse(message: str) -> int:
    say(f"proofmesh agent: {message}", file=sys.stderr)
    return BAD_INPUT


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
