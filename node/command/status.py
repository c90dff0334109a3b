"""`proofmesh status`: shows the registered nodes of a mesh, and the protections of its Lean processes.

Exit code: 0 all nodes are healthy, 1 a node is unhealthy or there is no broker or no node, 2 bad input. Without a
broker, it shows which protections Lean processes would have on this machine.
"""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from common.config import MeshOptions
from common.output.command import Exit, command
from common.output.visible import as_json, say
from common.output.words import duration
from common.report.table import Cell, Table, Tone

if TYPE_CHECKING:
    from common.protocol.messages import NodeFacts, NodeInfo
    from common.settings import NodeSettings

LONGEST_FACT = 500
"""Characters of a fact that are shown: the header of a lean-proxy may be long."""

_TONES: dict[str, Tone] = {"running": "good", "unhealthy": "bad", "draining": "warn", "starting": "warn"}


@dataclasses.dataclass
class StatusSettings(MeshOptions):
    """List the nodes of a mesh."""

    json: bool = False
    """Print one JSON document instead of tables."""


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit code. Raises ConfigError."""
    return command(StatusSettings, list(argv), _status, prog="proofmesh status", description=__doc__, log="error")


async def _status(settings: StatusSettings) -> int:
    from common.bus import BusError

    node = settings.mesh()
    try:
        nodes = await registered(node, settings.wait)
    except BusError as error:
        return await _without_broker(settings, node, str(error))
    if settings.json:
        print(as_json({"run": node.run, "broker": node.bus.url, "nodes": [_entry(info) for info in nodes]}))
    else:
        _show(node, nodes)
    return Exit.DONE if nodes and all(info.state != "unhealthy" for info in nodes) else Exit.FAILED


async def registered(node: NodeSettings, wait: float) -> list[NodeInfo]:
    """The registry's entries, by role and name. Raises BusError."""
    from common.bus import Bus, Role

    bus = await Bus.connect(node.bus, run=node.run, name="status", role=Role.VIEWER, wait=wait)
    try:
        return sorted(await bus.nodes(), key=lambda info: (info.role, info.node_id))
    finally:
        await bus.close()


def _entry(info: NodeInfo) -> dict[str, object]:
    import msgspec

    return {"uptime_s": round(time.time() - info.started, 1), **msgspec.to_builtins(info)}


def _show(node: NodeSettings, nodes: Sequence[NodeInfo]) -> None:
    from common.output.terminal import Console, line

    console = Console()
    if not nodes:
        console.print(line(f"no node of run {node.run!r} is registered at {node.bus.url}"))
        return
    headings = ("node", "state", "host", "process", "up", "capacity", "metrics")
    table = Table(headings, title=f"run {node.run} at {node.bus.url}")
    for info in nodes:
        capacity = ", ".join(f"{number} {what}" for what, number in info.capacity.items())
        state = Cell(info.state, _TONES.get(info.state, ""))
        up = duration(time.time() - info.started)
        table.add(info.node_id, state, info.host, str(info.pid), up, capacity, info.metrics_url)
    console.print(table)
    for info in nodes:
        if info.problems:
            _print_facts(f"{info.node_id} is unhealthy:", info.problems.items(), "red")
        if info.facts is not None:
            _print_facts(f"{info.node_id}:", _in_words(info.facts))


def _in_words(facts: NodeFacts) -> Iterator[tuple[str, object]]:
    """The facts of a node for people, as names and texts."""
    import msgspec

    from common.protocol.messages import LeanProxyFacts

    if isinstance(facts, LeanProxyFacts):
        yield "Lean", f"{facts.version} ({facts.name})"
        yield "project", facts.project or "none"
        if facts.options:
            yield "options", " ".join(facts.options)
        yield "header", facts.header or "none"
        if facts.verifier:
            yield "verifier", facts.verifier
        yield from ((each.name, each) for each in facts.protections)
        return
    for name, value in msgspec.structs.asdict(facts).items():
        if name == "offenders":
            yield from (("offender", each) for each in value)
            continue
        if name == "templates":
            value = ", ".join(f"{model}: {label}" for model, label in value.items())
        if name == "sampling":
            value = ", ".join(f"{key} {each}" for key, each in msgspec.to_builtins(value).items() if each)
        if value:
            yield name, value


def _print_facts(title: str, facts: Iterable[tuple[str, object]], colour: str = "") -> None:
    """Print one line for each fact, cut to LONGEST_FACT characters; missing protections are highlighted."""
    from common.output.terminal import Console, line
    from common.protocol.messages import Protection

    console = Console()
    console.print(line(title))
    for name, fact in facts:
        missing = isinstance(fact, Protection) and not fact.works
        text = f"  {name[:LONGEST_FACT]:<10} {str(fact)[:LONGEST_FACT]}{'…' * (len(str(fact)) > LONGEST_FACT)}"
        console.print(line(text, "yellow" if missing else colour))


async def _without_broker(settings: StatusSettings, node: NodeSettings, problem: str) -> int:
    """Without a mesh: show the protections that Lean processes would have on this machine."""
    from node.lean.process.protections import detect

    protections = (await detect()).each()
    if settings.json:
        local = {each.name: str(each) for each in protections}
        print(as_json({"run": node.run, "broker": node.bus.url, "problem": problem, "local": local}))
    else:
        say(f"proofmesh status: {problem}", file=sys.stderr)
        title = "Lean processes on this machine, if a lean-proxy ran here:"
        _print_facts(title, ((each.name, each) for each in protections))
    return Exit.FAILED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
