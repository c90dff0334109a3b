"""`proofmesh join-trainer`: run this machine's ranks for a learner that trains on several machines.

    [learner.trainer] machines = 2, rendezvous = "FIRST-MACHINE:29500"        # the learner's configuration
    proofmesh join-trainer --rendezvous FIRST-MACHINE:29500 --machines 2 --machine 1      # the other machine

The ranks get network, data and commands from the learner's first rank: this machine needs no other files. They restart
whenever the group ends, because the learner restarts its ranks then, too.

Exit code: 0 stopped, 2 bad input.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec
import tyro

from common import config
from common.life.process import kill_group
from common.life.waiting import wait_first
from common.limits import Natural, Positive, Timeout
from common.machine import read_machine, thread_environment
from common.output.visible import say
from node.learner.trainer.messages import RANK_MODULE, ComputeConfig
from node.training.launch import start_rank, threads_per_rank, torchrun

RETRY = 2.0
"""Seconds before the ranks restart: the learner needs about as long to notice that the group has ended."""


@dataclass
class JoinSettings:
    """Join the ranks of a learner on another machine."""

    rendezvous: str
    """HOST:PORT of the learner's machine, as in its [learner.trainer]."""
    machines: Positive
    """Machines that train together, as in [learner.trainer]."""
    machine: Positive
    """Number of this machine: 1, 2, ... The learner's machine is 0."""
    ranks: Natural = 0
    """Ranks on this machine; 0: one for each GPU, one on a CPU. The same number on every machine."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """`auto`: GPUs if there are any, else the CPU."""
    bf16: Literal["auto", "on", "off"] = "auto"
    """Forward and backward in bfloat16; `auto`: where the hardware has it."""
    threads: Natural = 0
    """Threads of each rank on a CPU; 0: all cores divided among the ranks."""
    timeout: Timeout = 120.0
    """Seconds that ranks wait for each other, as in [learner.trainer]."""


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit code."""
    settings = tyro.cli(JoinSettings, args=list(argv), prog="proofmesh join-trainer", description=__doc__)
    config.check_flags(settings)
    try:
        command = command_line(settings)
    except ValueError as error:
        say(f"proofmesh join-trainer: {error}", file=sys.stderr)
        return 2
    return asyncio.run(join(command, threads_per_rank(settings.threads, resolved_ranks(settings))))


def resolved_ranks(settings: JoinSettings) -> int:
    """Ranks on this machine."""
    gpus = 0 if settings.device == "cpu" else read_machine().gpus
    return settings.ranks or max(1, gpus)


def command_line(settings: JoinSettings) -> list[str]:
    """Arguments for `python`. Raises ValueError for an impossible machine number or address."""
    if settings.machine >= settings.machines:
        raise ValueError(
            f"--machine {settings.machine} with --machines {settings.machines}: the numbers go from 0 (the learner's) "
            f"to {settings.machines - 1}"
        )
    compute = ComputeConfig(settings.device, settings.bf16, settings.threads, settings.timeout)
    return torchrun(
        RANK_MODULE,
        [msgspec.json.encode(compute).decode()],
        machines=settings.machines,
        machine=settings.machine,
        ranks=resolved_ranks(settings),
        where=settings.rendezvous,
    )


async def join(command: Sequence[str], threads: int) -> int:
    """Run the ranks and restart them when they end, until SIGINT or SIGTERM; returns the exit code."""
    stopping = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    while not stopping.is_set():
        process = await start_rank(command, thread_environment(threads))
        ended = asyncio.create_task(process.wait())
        try:
            await wait_first(ended, stopping)
        finally:
            await kill_group(process)
            await ended
        if not stopping.is_set():
            say(
                f"proofmesh join-trainer: the ranks ended with exit code {ended.result()}; joining again",
                file=sys.stderr,
            )
            await wait_first(stopping, timeout=RETRY)
    return 0
