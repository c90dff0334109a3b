"""Chooses the source of a run for the monitor: its broker or its files."""

from __future__ import annotations

from pathlib import Path

from common.life.node import NodeSettings
from ui.run_files import RunFiles, is_run, run_folders
from ui.settings import TRAINING, UiSettings

NAMES_LISTED = 20


class NoSuchRun(Exception):
    """Neither a broker nor a folder has the run. The message names both places and lists the existing runs."""


async def choose(settings: UiSettings, node: NodeSettings) -> RunFiles | None:
    """The run's files, or None for its broker. Without a mesh, None means that only training runs are shown.

    Raises NoSuchRun.
    """
    folder = Path(settings.runs) / node.run
    files = RunFiles(folder) if settings.runs and is_run(folder) else None
    if not settings.mesh:
        if files is None and node.run not in (TRAINING, NodeSettings().run):
            raise NoSuchRun(_missing(settings, node, ""))
        return files
    if settings.patience is None:
        return None
    answered, at_work = await _ask(node, settings.patience)
    if at_work or (answered and files is None):
        return None
    if files is None:
        raise NoSuchRun(_missing(settings, node, f"no broker answers at {node.bus.url}, and "))
    return files


async def _ask(node: NodeSettings, patience: float) -> tuple[bool, bool]:
    """(whether the broker answers, whether it has nodes of the run)."""
    from common.bus import Bus, BusError

    try:
        bus = await Bus.connect(node.bus, run=node.run, name="ui", wait=patience)
    except BusError:
        return False, False
    try:
        return True, any(info.role != "ui" for info in await bus.nodes())
    except BusError:  # the broker has no buckets of this run
        return True, False
    finally:
        await bus.close()


def _missing(settings: UiSettings, node: NodeSettings, where: str) -> str:
    names = list(run_folders(Path(settings.runs))) if settings.runs else []
    more = f" and {len(names) - NAMES_LISTED} more" if len(names) > NAMES_LISTED else ""
    there = f"there are: {', '.join(names[:NAMES_LISTED])}{more}" if names else "it holds no run"
    waits = "; `--patience None` waits for the broker" if settings.mesh else ""
    return f"{where}{settings.runs or 'no folder'} has no run {node.run} ({there}){waits}"
