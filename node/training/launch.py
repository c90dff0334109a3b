"""Starts ranks, the processes that train one network together, for the stages and for reinforcement learning; and the
monitor's page beside them.

On one machine, the ranks are child processes that find each other through a file. On several machines, torchrun starts
them, and they find each other through its rendezvous, which listens on the address that is named.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from common.life.process import kept, kill_group, spawn_child
from common.life.waiting import wait_first
from common.machine import is_loopback, listenable, read_machine, thread_environment
from node.data.errors import TrainingError

RENDEZVOUS = "PROOFMESH_RENDEZVOUS"
"""A file through which ranks of one machine find each other. Ranks of torchrun have its environment instead."""

GRACE = 20.0
"""Seconds that ranks get for their last checkpoint after a signal; then they are killed."""

AFTERMATH = 3.0
"""Seconds that the other ranks get to report errors after one has crashed, before they are ended."""


def rank_environment(rank: int, ranks: int, threads: int, rendezvous: Path) -> dict[str, str]:
    """The variables that one of several ranks of this machine reads (the names are torchrun's, but for RENDEZVOUS)."""
    return {
        **thread_environment(threads_per_rank(threads, ranks)),
        RENDEZVOUS: str(rendezvous),
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(ranks),
        "LOCAL_WORLD_SIZE": str(ranks),
    }


def threads_per_rank(threads: int, ranks: int) -> int:
    """Threads of one rank on a CPU: as set, or all cores divided among the ranks of this machine."""
    return threads or max(1, read_machine().cores // ranks)


async def start_rank(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    stdin: int | IO[Any] | None = asyncio.subprocess.DEVNULL,
    stdout: int | IO[Any] | None = None,
    stderr: int | IO[Any] | None = None,
    limit: int = 2**16,
) -> asyncio.subprocess.Process:
    """Start `python COMMAND...` as a rank, or as the torchrun of several. It dies with this process."""
    return await spawn_child(
        [sys.executable, *command],
        env={**os.environ, **environment},
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        limit=limit,
    )


def torchrun(
    module: str, arguments: Sequence[str], *, machines: int, machine: int, ranks: int, where: str
) -> list[str]:
    """Arguments for `python` that start this machine's ranks of `module` through torchrun.

    `machines`: how many take part; `machine`: the number of this one, from 0; `where`: HOST:PORT of machine 0. Every
    machine gives the same values but for `machine`. Raises ValueError for a `where` that is not HOST:PORT.
    """
    host, _, port = where.rpartition(":")
    if not host or not port.isdigit():
        raise ValueError(f"the rendezvous of several machines is HOST:PORT of the first one, not {where!r}")
    return [
        *("-m", "node.training.launch", "--nnodes", str(machines), "--node-rank", str(machine)),
        *("--nproc-per-node", str(ranks), "--master-addr", host, "--master-port", port, "--max-restarts", "0"),
        *("-m", module, *arguments),
    ]


def launch(command: Sequence[str], ranks: int, threads: int, where: Path) -> int:
    """Run `python COMMAND...` as so many ranks of this machine; returns the exit code.

    Raises TrainingError when a rank dies, or does not end within GRACE seconds of a signal; `where` is the run
    directory, for the message.
    """
    return asyncio.run(_launch(command, ranks, threads, where))


async def _launch(command: Sequence[str], ranks: int, threads: int, where: Path) -> int:
    with tempfile.TemporaryDirectory(prefix="proofmesh-ranks-") as folder:
        rendezvous = Path(folder) / "rendezvous"
        processes: list[asyncio.subprocess.Process] = []
        too_late = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):  # before the first rank: none is left behind
            loop.add_signal_handler(number, _pass_on, processes, number, too_late)
        tasks: list[asyncio.Task[int]] = []
        try:
            for rank in range(ranks):
                process = await start_rank(command, rank_environment(rank, ranks, threads, rendezvous))
                processes.append(process)
                tasks.append(asyncio.create_task(process.wait()))
            waits = {wait: rank for rank, wait in enumerate(tasks)}
            watching = asyncio.create_task(_watch(waits, where))
            tasks.append(watching)
            await wait_first(watching, too_late)
            if watching.done():
                return watching.result()
            late = [waits[wait] for wait in waits if not wait.done()]
            raise TrainingError(
                f"ranks {late} did not end within {GRACE:g} s of the signal and were killed. The same command goes on "
                f"from the newest checkpoint in {where / 'checkpoints'}"
            )
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*(kill_group(process, grace=0) for process in processes))


async def _watch(waits: dict[asyncio.Task[int], int], where: Path) -> int:
    """Wait until all ranks have succeeded or one has failed. Raises TrainingError if a signal killed a rank."""
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
                return cause.result()  # the rank has printed its error
            name = signal.Signals(-cause.result()).name
            raise TrainingError(
                f"rank {waits[cause]} died ({name}); the other ranks were ended. The same command goes on from the "
                f"newest checkpoint in {where / 'checkpoints'}"
            )
    return 0


def _pass_on(processes: Sequence[asyncio.subprocess.Process], number: int, too_late: asyncio.Event) -> None:
    """Hand a signal to the ranks, and give them GRACE seconds."""
    for process in processes:
        if process.returncode is None:
            process.send_signal(number)
    asyncio.get_running_loop().call_later(GRACE, too_late.set)


# --- the monitor's page -----------------------------------------------------------------------------------------------

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


# --- torchrun's rendezvous: `python -m node.training.launch`, with torchrun's arguments -------------------------------
#
# torch's store listens on all addresses of a machine, whatever `--master-addr` says, and asks nobody for a key.


def run_torchrun(argv: Sequence[str]) -> None:
    """Run torchrun with its own arguments."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--node-rank", type=int)
    parser.add_argument("--master-addr")
    parser.add_argument("--master-port", type=int)
    named, _ = parser.parse_known_args(argv)
    # 1. The port opens before torch is imported, which takes seconds: a wrong address is said at once.
    if named.node_rank == 0:
        listen_only(opened(named.master_addr, named.master_port))
    # 2. The rest is torchrun's.
    from torch.distributed.run import main as torchrun

    torchrun(list(argv))


def opened(host: str, port: int) -> socket.socket:
    """A socket that listens on this address. Ends the program, with one line, if others could not reach it there."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        if is_loopback(str(address[0])) and not is_loopback(host):
            sys.exit(
                f"rendezvous {host}:{port}: {host} is {address[0]} on this machine, which no other machine reaches; "
                "write this machine's address in their network"
            )
        return socket.create_server(address[:2], family=family)
    except OSError as error:
        reason = str(error.strerror).partition(" (while")[0]
        sys.exit(
            f"rendezvous {host}:{port}: this machine cannot listen there ({reason}); write its own address in "
            "the network of the other machines, and a free port"
        )


def listen_only(listener: socket.socket) -> None:
    """Make torchrun's store use this socket, instead of all addresses of the machine."""
    from torch.distributed import TCPStore  # type: ignore[attr-defined]
    from torch.distributed.elastic.rendezvous import static_tcp_rendezvous as torchs

    class Named(torchs.StaticTCPRendezvous):
        def next_rendezvous(self) -> Any:
            if self._store is None:
                self._store = TCPStore(
                    self.master_addr,
                    self.master_port,
                    self.world_size,
                    is_master=True,
                    timeout=self.timeout,
                    multi_tenant=True,
                    master_listen_fd=listener.detach(),
                )
            return super().next_rendezvous()

    torchs.StaticTCPRendezvous = Named  # type: ignore[misc]


if __name__ == "__main__":
    run_torchrun(sys.argv[1:])
