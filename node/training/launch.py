"""Several ranks on this machine: started together, ended together when one dies.

torchrun does the same for several machines: `torchrun --nproc-per-node 8 -m node.training sft ...`.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from common.process import kill_group, spawn_child
from common.sizing import read_machine, thread_environment
from node.training.errors import TrainingError

RENDEZVOUS = "PROOFMESH_RENDEZVOUS"
"""A file through which ranks that `launch` started find each other; torchrun's have its environment instead."""

GRACE = 20.0
"""Seconds that ranks get for their last checkpoint after a signal."""

AFTERMATH = 3.0
"""Seconds in which the ranks that lost one may say what they know, before they are ended."""


def launch(arguments: Sequence[str], ranks: int, threads: int, where: Path) -> int:
    """Run `python -m node.training ARGUMENTS` as so many ranks; returns the exit code.

    Raises TrainingError when a rank dies; `where` is the run directory, to be named.
    """
    return asyncio.run(_launch(arguments, ranks, threads, where))


async def _launch(arguments: Sequence[str], ranks: int, threads: int, where: Path) -> int:
    with tempfile.TemporaryDirectory(prefix="proofmesh-ranks-") as folder:
        processes = [await _start(arguments, rank, ranks, threads, Path(folder)) for rank in range(ranks)]
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, _pass_on, processes, number)
        waits = {asyncio.create_task(process.wait()): rank for rank, process in enumerate(processes)}
        try:
            return await _watch(waits, where)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*(kill_group(process, grace=0) for process in processes))


async def _watch(waits: dict[asyncio.Task[int], int], where: Path) -> int:
    pending = set(waits)
    while pending:
        done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        failed = [wait for wait in done if wait.result() != 0]
        if failed and pending:
            # A rank that died takes the others' collectives with it: the one that died by a signal is the cause.
            more, pending = await asyncio.wait(pending, timeout=AFTERMATH)
            failed += [wait for wait in more if wait.result() != 0]
        if failed:
            killed = [wait for wait in failed if wait.result() < 0]
            cause = (killed or failed)[0]
            if not killed:
                return cause.result()  # it has said why
            name = signal.Signals(-cause.result()).name
            raise TrainingError(
                f"rank {waits[cause]} died ({name}); the other ranks were ended. The same command goes on from the "
                f"newest checkpoint in {where / 'checkpoints'}"
            )
    return 0


def _pass_on(processes: Sequence[asyncio.subprocess.Process], number: int) -> None:
    for process in processes:
        if process.returncode is None:
            process.send_signal(number)


async def _start(
    arguments: Sequence[str], rank: int, ranks: int, threads: int, folder: Path
) -> asyncio.subprocess.Process:
    env = {
        **os.environ,
        **thread_environment(threads or max(1, read_machine().cores // ranks)),
        RENDEZVOUS: str(folder / "rendezvous"),
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(ranks),
    }
    return await spawn_child([sys.executable, "-m", "node.training", *arguments], env=env)
