"""Trackers of experiments: TensorBoard, trackio and W&B get the curves of a run, besides its own files.

One setting names them, in trainers, learners, self-play and evaluations: `tensorboard`, `trackio:PROJECT`,
`wandb:PROJECT`, or several with commas. W&B writes to the run's folder and sends nothing, unless WANDB_MODE says
otherwise; `wandb sync` uploads it. A run that goes on keeps its name and its record.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import structlog

from common.output.command import UserError

log = structlog.get_logger("tracker")

PROJECT = "proofmesh"
"""The project, if none is named."""


class Tracker(ABC):
    """One record. The packages of others raise what they like."""

    @abstractmethod
    def write(self, step: int, values: Mapping[str, float]) -> None:
        """One point of each curve."""

    @abstractmethod
    def close(self) -> None:
        """Wait until all is written."""


class Tensorboard(Tracker):
    """Event files in the run's folder (https://github.com/lanpa/tensorboardX); they need no project."""

    def __init__(self, _: str, run: Path, settings: Mapping[str, Any]) -> None:
        self._folder, self._settings = run / "tensorboard", settings
        self._writer: Any = None

    def write(self, step: int, values: Mapping[str, float]) -> None:
        if self._writer is None:
            from tensorboardX import SummaryWriter

            # Steps after this one are played again, if the run goes on from a checkpoint. Without its own name, the
            # file of a process would replace that of another one which began in the same second.
            own = f".{time.time_ns()}"
            self._writer = SummaryWriter(str(self._folder), purge_step=step + 1, filename_suffix=own)
            self._writer.add_text("settings", f"`{self._settings}`")
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


class Trackio(Tracker):
    """A run of a trackio project (https://github.com/gradio-app/trackio)."""

    def __init__(self, project: str, run: Path, settings: Mapping[str, Any]) -> None:
        import trackio

        self._run = trackio.init(project=project, name=run.name, config=dict(settings), resume="allow", embed=False)

    def write(self, step: int, values: Mapping[str, float]) -> None:
        self._run.log(dict(values), step=step)

    def close(self) -> None:
        self._run.finish()


class Wandb(Tracker):
    """A run of a W&B project, offline (https://docs.wandb.ai)."""

    def __init__(self, project: str, run: Path, settings: Mapping[str, Any]) -> None:
        import wandb

        self._run = wandb.init(
            project=project,
            name=run.name,
            # The same for each process of the run: W&B joins what they send.
            id=hashlib.blake2b(str(run.absolute()).encode(), digest_size=8).hexdigest(),
            resume="allow",
            dir=str(run),
            mode=os.environ.get("WANDB_MODE", "offline"),
            config=dict(settings),
            settings=wandb.Settings(silent=True, console="off"),
        )
        # W&B's own steps only grow; a run that goes on from a checkpoint repeats some of ours.
        self._run.define_metric("*", step_metric="step")

    def write(self, step: int, values: Mapping[str, float]) -> None:
        self._run.log({**values, "step": step})

    def close(self) -> None:
        self._run.finish()


TRACKERS: Mapping[str, tuple[Callable[[str, Path, Mapping[str, Any]], Tracker], str]] = {
    "tensorboard": (Tensorboard, "tensorboardX"),
    "trackio": (Trackio, "trackio"),
    "wandb": (Wandb, "wandb"),
}
"""Each with its package. The extra of the same name installs it."""


def check_tracker(setting: str) -> list[tuple[str, str]]:
    """(tracker, project) of each that the setting names. Raises UserError for one that is unknown or not installed."""
    found = []
    for each in filter(None, (part.strip() for part in setting.split(","))):
        name, _, project = each.partition(":")
        if name not in TRACKERS:
            known = ", ".join(TRACKERS)
            raise UserError(f"tracker {each!r}: there is no tracker {name!r}; use {known}, as in `trackio:PROJECT`")
        if importlib.util.find_spec(TRACKERS[name][1]) is None:
            raise UserError(
                f"tracker {each!r} needs the package `{TRACKERS[name][1]}`: `pip install 'proofmesh[{name}]'`"
            )
        found.append((name, project or PROJECT))
    return found


class Tracked:
    """All trackers of a run. Training goes on without one that fails: the run's own files have the same curves."""

    def __init__(self, setting: str, run: Path, settings: Mapping[str, Any]) -> None:
        """`settings`: what the record says about the run. Raises UserError."""
        self._trackers: dict[str, Tracker] = {}
        for name, project in check_tracker(setting):
            run.mkdir(parents=True, exist_ok=True)
            try:
                self._trackers[name] = TRACKERS[name][0](project, run, settings)
            except Exception as error:
                raise UserError(f"tracker {name!r} cannot be used: {type(error).__name__}: {error}") from error

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """Give one point of each curve to all trackers."""
        self._each(lambda tracker: tracker.write(step, values))

    def close(self) -> None:
        """Wait until all is written."""
        self._each(lambda tracker: tracker.close())

    def _each(self, what: Callable[[Tracker], None]) -> None:
        for name, tracker in list(self._trackers.items()):
            try:
                what(tracker)
            except Exception as error:
                del self._trackers[name]
                log.warning("a tracker has failed and gets nothing more", tracker=name, error=repr(error))
