"""`proofmesh doctor`: looks at everything that proofmesh needs here, and says what works, what is slow, what is broken.

Takes at most two minutes, and changes nothing: not the project, not the cache, not the broker. Without --lean.project
it looks at pocket Lean.

Exit code: 0 all works, 1 something is slow or a warning, 2 something is broken (or bad flags).
"""

from __future__ import annotations

import asyncio
import dataclasses
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from functools import partial
from typing import Literal

from common.config import MeshOptions, config_file, load_lean
from common.output.command import command
from common.output.visible import as_json
from common.settings import BusSettings, LeanSettings, NodeSettings
from node.command.doctor import around
from node.command.doctor.rows import Row, checked, document, exit_of, table

ALL_SECONDS = 115.0
"""For everything together: two minutes, less what it takes to end."""

MOST_WAIT = 30.0
"""Seconds to wait for the broker, whatever the flag says: Lean needs the rest."""

Check = Callable[[], Awaitable["Row | list[Row]"]]

Group = Literal["system", "packages", "compute", "space", "broker", "lean", "kernels"]

GROUPS: tuple[Group, ...] = ("system", "packages", "compute", "space", "broker", "lean", "kernels")


@dataclasses.dataclass
class DoctorSettings(MeshOptions):
    """Say what works here, what is slow and what is broken."""

    only: tuple[Group, ...] = ()
    """Look only at these; empty: at everything."""

    lean: LeanSettings = dataclasses.field(default_factory=LeanSettings)
    """The Lean version, project and header; section [lean] of --config."""

    json: bool = False
    """Print one JSON document instead of a table."""


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit code. Raises ConfigError."""
    file = config_file(argv)
    default = DoctorSettings(lean=load_lean(file), config=file)
    return command(
        DoctorSettings,
        list(argv),
        _doctor,
        prog="proofmesh doctor",
        description=__doc__,
        default=default,
        log="error",
    )


async def _doctor(settings: DoctorSettings) -> int:
    node = settings.mesh()
    # A broker at the usual place is looked for; one at a place of its own should be there.
    asked = bool(settings.url) or node.bus.url != BusSettings().url
    began = time.monotonic()
    with _waiting(settings.json) as note:
        rows = [row async for row in looked_at(settings, node, note, asked=asked)]
    took = time.monotonic() - began
    if settings.json:
        print(as_json(document(rows, took)))
    else:
        from common.output.terminal import Console

        Console().print(table(rows, took))
    return exit_of(rows)


async def looked_at(
    settings: DoctorSettings, node: NodeSettings, note: Callable[[str], None], *, asked: bool
) -> AsyncGenerator[Row]:
    """Run the checks of the wanted groups, and yield their rows. `asked`: the broker should be there."""
    until = time.monotonic() + ALL_SECONDS
    wanted = settings.only or GROUPS
    wait = min(settings.wait, MOST_WAIT)
    # 1. What is around Lean. First how fast the cores are; then all at once, because most of it waits.
    note("the machine")
    if "system" in wanted:
        for row in await checked("system", "system", around.system, 20.0):
            yield row
    checks: dict[str, list[tuple[str, Check, float]]] = {
        "system": [("protections", around.protections, 45.0)],
        "packages": [("packages", around.packages, 10.0), ("nats-server", around.nats_server, 25.0)],
        "compute": [("torch", around.compute, around.TORCH_SECONDS)],
        "space": [("disk", around.disk, 20.0), ("memory", around.memory, 5.0)],
        "broker": [
            ("broker", partial(around.broker, node, wait, asked=asked), wait + 15.0),
            ("certificates", partial(around.certificates, settings.config, node), 5.0),
        ],
    }
    running = [checked(group, *check) for group in GROUPS if group in wanted for check in checks.get(group, [])]
    for rows in await asyncio.gather(*running):
        for row in rows:
            yield row
    # 2. Lean alone, so that its times are those of an idle machine.
    if parts := {"lean", "kernels"} & set(wanted):
        from node.command.doctor.lean import LeanChecks

        looking = LeanChecks(settings.lean, parts, until, note)
        async with aclosing(looking.rows()) as found:
            async for row in found:
                yield row


@contextmanager
def _waiting(quiet: bool) -> Iterator[Callable[[str], None]]:
    """Shows on a terminal what is looked at; yields the function that says it."""
    if quiet or not sys.stderr.isatty():
        yield lambda what: None
        return
    from common.output.terminal import Console

    with Console(stderr=True).status("looking") as status:
        yield lambda what: status.update(f"looking at {what} (all of it takes at most two minutes)")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
