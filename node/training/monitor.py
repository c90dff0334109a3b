"""Serves the monitor's page during a training run, in a child process that reads the run's files."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from common.life.process import kept
from common.ports import listenable
from node.training.launch import RENDEZVOUS

PORT = 5050
"""The monitor's usual one."""

PATIENCE = 5.0
"""Seconds for the page to close."""


@contextmanager
def monitor(directory: str, *, wanted: bool) -> Iterator[None]:
    """Serve the curves of the runs in `directory` for as long as the block lasts, if that is wanted.

    Of several ranks the parent serves them, or, under torchrun, the first rank. The monitor prints its address.
    """
    ours = os.environ.get("RANK", "0") == "0" and RENDEZVOUS not in os.environ
    if not (wanted and ours):
        yield
        return
    command = [sys.executable, "-m", "node.command.cli", "ui", "--no-mesh", "--run", "training", "--runs", directory]
    command += ["--port", str(_port())]
    process = subprocess.Popen([*kept(), *command], stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _port() -> int:
    """The usual port, or 0 for a free one when it is in use."""
    try:
        return listenable("127.0.0.1", PORT)
    except OSError:
        return 0
