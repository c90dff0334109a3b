"""Writes the configuration of a small mesh for studies: all roles on this machine, with endless learning."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import tomli_w

from node.mesh.plan import free_port

RUN = "study"

TINY_MODEL = {"vocab_size": 320, "depth": 1, "width": 16, "heads": 2, "kv_heads": 2, "hidden": 32, "context": 64}
TINY_WARM_START = {"steps": 4, "every": 2, "validation": 16, "decay": 0.0}


class Wanted(Protocol):
    """A study's settings of its mesh."""

    out: Path
    checkpoint: Path | None
    bank: str
    searches: int
    explore: int
    seed: int


def write_mesh(wanted: Wanted) -> Path:
    """The file, in a new folder. Raises OSError."""
    wanted.out.mkdir(parents=True)
    file = wanted.out / "mesh.toml"
    file.write_text(tomli_w.dumps(mesh(wanted)), encoding="utf-8")
    return file


def mesh(wanted: Wanted) -> dict[str, Any]:
    """The sections of the file. The broker has a fixed port, so that nodes find it again after a restart."""
    folder = wanted.out.resolve()
    learner: dict[str, Any] = {
        "seed": wanted.seed,
        "bank": wanted.bank,
        "keep_checkpoints": 2,
        "matchmaker": {
            "budget": 4,
            "budget_limit": 8,
            "disprove_chance": 0.1,
            "explore_chance": 1.0,
            "explore_candidates": wanted.explore,
        },
        "schedule": {"fresh": 20, "patience": 20.0, "steps_limit": 2, "checkpoint_every": 1},
        "trainer": {"batch": 8, "threads": 1},
    }
    if wanted.checkpoint is not None:
        learner["warm_start"] = {"checkpoint": str(wanted.checkpoint.resolve())}
    else:
        learner |= {"model": TINY_MODEL, "warm_start": TINY_WARM_START}
    return {
        "run": {"name": RUN, "dir": str(folder / "runs")},
        "broker": {"port": free_port(), "store": str(folder / "store")},
        "ui": {"port": 0},
        # The study kills nodes on purpose: no number of crashes may end the mesh.
        "up": {"restarts": 100_000, "grace": 20.0},
        "lean_proxy": {"workers": 2},
        "inference": {"threads": 1},
        "prover": {
            "policy": "inference",
            "searches": wanted.searches,
            "poll_seconds": 0.05,
            "policy_timeout": 3.0,
            "tactic_seconds": 2.0,
        },
        "learner": learner,
    }
