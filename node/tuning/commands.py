"""Shared code of the commands `proofmesh train hf-sft|grpo|retriever|progress`: flags, exit codes, errors in one line.

Exit code: 0 trained, 1 training could not go on, 2 wrong arguments or data, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import tyro

from common import config
from common.output.visible import say
from node.data.errors import TrainingError
from node.tuning.settings import check_flags

S = TypeVar("S")


def main(
    program: str, description: str | None, settings_type: type[S], argv: Sequence[str], run: Callable[[S], None]
) -> int:
    """Parses the flags, runs the command and returns the exit code. `run` imports heavy packages and prints the
    result."""
    settings = tyro.cli(settings_type, args=list(argv), prog=program, description=description)
    try:
        check_flags(settings)
    except config.ConfigError as error:
        return _refused(program, str(error), 2)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        run(settings)
    except KeyboardInterrupt:  # before the first step, or a second Ctrl-C
        return _refused(program, "interrupted", 130)
    except ImportError as error:
        return _refused(program, f"needs the package `{error.name}`: pip install 'proofmesh[trainers]'", 2)
    except TrainingError as error:
        return _refused(program, str(error), error.exit_code)
    return 0


def left_out(counts: Mapping[str, Any]) -> str:
    """The numbers of left-out examples by reason, as the end of a sentence."""
    return "".join(f"; left out: {count:,} {reason}" for reason, count in counts.items())


def _refused(program: str, message: str, code: int) -> int:
    say(f"{program}: {message}", file=sys.stderr)
    return code
