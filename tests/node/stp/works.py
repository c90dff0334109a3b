"""A run of self-play whose parts are called one by one: its recipe, its records and its data are real; nobody
answers its requests."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from node.play.attempts import TrainedAttempts
from node.stp.data.initial import data_of
from node.stp.network import network_of
from node.stp.records import FILE
from node.stp.settings import StpPlan, read_plan
from node.stp.store import StpStore
from node.stp.work import Proving, Work
from tests.node.stp.tiny_run import tiny_recipe


class Watching:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def part(self, name: str, total: int) -> None:
        pass

    def advance(self, done: int) -> None:
        pass


def tiny_plan(folder: Path, **stp: Any) -> StpPlan:
    """Of the tiny run, with other settings in [stp]."""
    file = folder / "tiny.toml"
    return read_plan(file if file.exists() else tiny_recipe(folder), {"stp": stp})


def work_of(plan: StpPlan) -> Work:
    """The run, its first row begun."""
    plan.directory.mkdir(parents=True, exist_ok=True)
    store, data = StpStore(plan.directory / FILE), data_of(plan)
    store.add_statements(data.statements)
    proving = Proving(cast(TrainedAttempts, SimpleNamespace(asking=None)), weights=None)
    return Work(plan, store, data, network_of(plan), proving, Watching())
