"""Runs a program for set-up: its whole output goes to a log file, and selected lines to the user."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

Say = Callable[[str], None]


def run(
    command: Sequence[str],
    log: Path,
    *,
    say: Say = lambda line: None,
    milestone: Callable[[str], str | None] = lambda line: None,
    environment: Mapping[str, str] | None = None,
    seconds: float | None = None,
) -> tuple[int, list[str]]:
    """Run a command to its end; returns its exit code and the lines of its output, standard error included.

    `milestone` turns a line of output into a line for the user, or into None. `environment` is added to this process's.
    Raises TimeoutError, and kills the command, if it takes longer than `seconds`.
    """
    lines: list[str] = []
    too_late = threading.Event()
    with log.open("a", encoding="utf-8") as file:
        print(f"$ {' '.join(command)}", file=file, flush=True)
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**os.environ, **(environment or {})},
        ) as process:
            assert process.stdout is not None

            def kill() -> None:
                too_late.set()
                process.kill()

            # A timer, because reading the output blocks.
            timer = threading.Timer(seconds or 0, kill)
            if seconds is not None:
                timer.start()
            try:
                for line in process.stdout:
                    file.write(line)
                    lines.append(line.rstrip())
                    if (shown := milestone(line)) is not None:
                        say(shown)
            finally:
                timer.cancel()
    if too_late.is_set():
        raise TimeoutError(f"{command[0]} took longer than {seconds:g} s")
    return process.returncode, lines
