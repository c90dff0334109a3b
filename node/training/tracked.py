"""Sends the curves to trackio, too (https://github.com/gradio-app/trackio).

trackio is an optional package, imported only on request. It writes to a local database and does not use the network,
unless its own environment variables configure it otherwise.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from node.data.errors import InputError


class Tracked:
    """One run of a trackio project; a run that goes on keeps its name, and appends."""

    def __init__(self, project: str, run: Path, settings: dict[str, Any]) -> None:
        """Raises InputError without the package."""
        if importlib.util.find_spec("trackio") is None:
            raise InputError("--trackio needs the package `trackio`: `pip install 'proofmesh[trackio]'`, or trackio")
        import trackio

        self._run = trackio.init(project=project, name=run.name, config=settings, resume="allow", embed=False)

    def write(self, step: int, values: dict[str, float]) -> None:
        self._run.log(values, step=step)

    def close(self) -> None:
        """Wait until all is written."""
        self._run.finish()
