"""`proofmesh runs`: lists the runs that a broker keeps, and removes those that are over.

Exit code: 0 done, 1 refused or no broker, 2 bad input.
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from common.config import BrokerOptions
from common.output.command import Exit, UserError, command, refuse
from common.output.visible import as_json, say, visible
from common.output.words import number_of
from common.protocol.subjects import check_run_name
from common.report.table import Column, Table

if TYPE_CHECKING:
    from common.bus import Bus, BusSettings, StreamState

MIB = 1024 * 1024


@dataclass
class ListSettings(BrokerOptions):
    """List the runs on a broker: the size and messages of their streams, their last activity, their nodes at work."""

    json: bool = False
    """Print one JSON document instead of a table."""


@dataclass
class RemoveSettings(BrokerOptions):
    """Remove a run's streams, buckets and stored weights from a broker. Its folder, with its records, stays."""

    run: tyro.conf.Positional[str] = tyro.MISSING
    """Name of the run."""

    yes: bool = False
    """Do not ask."""


Settings = (
    Annotated[ListSettings, tyro.conf.subcommand("list")] | Annotated[RemoveSettings, tyro.conf.subcommand("remove")]
)


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit code. Raises ConfigError."""
    return command(Settings, list(argv), _runs, prog="proofmesh runs", description=__doc__, log="error")


async def _runs(settings: ListSettings | RemoveSettings) -> int:
    from common.bus import Bus, BusError, Role

    address = settings.mesh().bus
    try:
        async with AsyncExitStack() as stack:
            # A key reaches the runs of its account only.
            buses: dict[str, Bus] = {}
            for run, keyed in _accounts(address):
                bus = await Bus.connect(keyed, run=run, name="runs", role=Role.ADMIN, wait=settings.wait)
                stack.push_async_callback(bus.close)
                buses |= dict.fromkeys(await bus.runs(), bus)
            if isinstance(settings, ListSettings):
                return await _list(buses, address.url, settings.json)
            return await _remove(buses, address.url, settings)
    except BusError as error:
        return refuse("proofmesh runs", error, Exit.FAILED)


def _accounts(address: BusSettings) -> list[tuple[str, BusSettings]]:
    """A run and the key of its admin, for each run in a folder with the keys of several; else what the settings say."""
    named = address.key or os.environ.get("PROOFMESH_KEY", "")
    files = sorted(Path(named).glob("*/admin.nk")) if named else []
    return [(each.parent.name, dataclasses.replace(address, key=str(each))) for each in files] or [("runs", address)]


async def _list(buses: Mapping[str, Bus], url: str, json: bool) -> int:
    runs = {run: (await bus.runs())[run] for run, bus in sorted(buses.items())}
    nodes = {run: await _nodes(buses[run], run, streams) for run, streams in runs.items()}
    if json:
        listed = [
            {"run": run, "nodes": nodes[run], "streams": [dataclasses.asdict(stream) for stream in streams]}
            for run, streams in runs.items()
        ]
        print(as_json({"broker": url, "runs": listed}))
        return Exit.DONE
    if not runs:
        say(f"no run at {visible(url)}")
        return Exit.DONE
    from common.output.terminal import Console

    streams_of = Column("streams: messages, size", lines=True)
    table = Table(("run", "nodes", "last activity (UTC)", streams_of, "reserved"), title=f"runs at {url}")
    for run, streams in runs.items():
        content = "\n".join(_stream(run, stream) for stream in streams if stream.messages)
        reserved = sum(max(0, stream.max_bytes) for stream in streams)
        table.add(run, str(len(nodes[run])), _last(streams), content or "empty", f"{reserved / MIB:.0f} MiB")
    Console().print(table)
    return Exit.DONE


def _stream(run: str, stream: StreamState) -> str:
    """`results: 12, 3.4 MiB`."""
    kind = stream.name.rpartition(f"{run}-")[2]
    return f"{kind}: {stream.messages:,}, {stream.bytes / MIB:.1f} MiB"


def _last(streams: Sequence[StreamState]) -> str:
    """Time of the latest message, without fractions of a second."""
    return max((stream.last for stream in streams), default="")[:19].replace("T", " ") or "never"


async def _remove(buses: Mapping[str, Bus], url: str, settings: RemoveSettings) -> int:
    run = check_run_name(settings.run)
    if run not in buses:
        there = ", ".join(sorted(buses)) or "none"
        raise UserError(f"no run {run} at {visible(url)}; there are: {there}")
    bus = buses[run]
    runs = await bus.runs()
    if nodes := await _nodes(bus, run, runs[run]):
        at_work = f"{number_of(len(nodes), 'node')} of run {run} at work ({visible(', '.join(nodes))})"
        why = "stop the mesh first; a node that was killed is forgotten after some seconds"
        return refuse("proofmesh runs", f"{at_work}: {why}", Exit.FAILED)
    size = sum(stream.bytes for stream in runs[run])
    messages = sum(stream.messages for stream in runs[run])
    what = f"run {run}: {number_of(messages, 'message')}, {size / MIB:.1f} MiB"
    if not settings.yes and not await _confirmed(what):
        return Exit.FAILED
    await bus.remove(run)
    say(f"removed {what}")
    return Exit.DONE


async def _confirmed(what: str) -> bool:
    if not sys.stdin.isatty():
        say(f"proofmesh runs: {what}: not removed; --yes removes it without asking", file=sys.stderr)
        return False
    answer = await asyncio.to_thread(input, f"Remove {what}? [y/N] ")
    return answer.strip().lower() in ("y", "yes")


async def _nodes(bus: Bus, run: str, streams: Sequence[StreamState]) -> list[str]:
    """The names of a run's registered nodes; none if it has no registry. Raises BusError."""
    from common.bus import names

    if f"KV_{names.nodes_bucket(run)}" not in {stream.name for stream in streams}:
        return []
    return sorted(info.node_id for info in await bus.nodes(run))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
