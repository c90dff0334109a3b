"""LeanTree servers of ours as processes."""

from __future__ import annotations

import asyncio
import sys

from common.life.process import spawn_child

START_SECONDS = 120.0
"""For a command on a busy machine."""


async def start_server(port: int = 0, workers: int = 1) -> tuple[asyncio.subprocess.Process, str]:
    """`proofmesh leantree-server`, and its address."""
    argv = [sys.executable, "-m", "node.command.cli", "leantree-server", "--port", str(port), "--workers", str(workers)]
    child = await spawn_child(argv, stderr=asyncio.subprocess.PIPE)
    assert child.stderr is not None
    line = (await asyncio.wait_for(child.stderr.readline(), START_SECONDS)).decode()
    assert "http://" in line, line
    return child, line.split()[2].rstrip(",")
