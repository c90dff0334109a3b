"""The list of all runs, for the page that compares them."""

from __future__ import annotations

from typing import Any

from ui.runs import NotHere, Runs


def listing(runs: Runs) -> list[dict[str, Any]]:
    """Each run in short: name, kind, whether a mesh is watched, whether it has ended."""
    found = []
    for name in runs.names():
        try:
            run = runs.get(name)
        except NotHere:  # removed a moment ago
            continue
        found.append(
            {"name": name, "kind": run.kind, "live": run.mesh is not None, "finished": run.summary() is not None}
        )
    return found
