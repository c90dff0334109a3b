"""The backend that [lean] names is the one that runs."""

import pytest

from common.settings import LeanSettings
from node.lean.adapters.leantree.backend import LeanTreeBackend
from node.lean.adapters.repl.backend import ReplBackend
from node.lean.opened import make_backend
from node.lean.settings import LeanProcessSettings
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.worker.pool import Pool
from node.lean.worker.process import worker_options


@pytest.mark.parametrize(
    ("lean", "kind"),
    [
        (LeanSettings(), Pool),
        (LeanSettings(backend="repl", repl_command="lake env 'my repl'"), ReplBackend),
        (LeanSettings(backend="leantree", leantree_url="http://localhost:8000"), LeanTreeBackend),
    ],
    ids=["worker", "repl", "leantree"],
)
def test_the_configured_backend_is_made_with_its_sizes(lean, kind):
    settings = LeanProcessSettings(lean=lean, workers=3, queue=5, heartbeats=7, memory_mb=99)
    backend = make_backend(settings, LeanToolchain(("lean",), {}), worker_options(settings))
    assert type(backend) is kind and backend.queue == 15
    if isinstance(backend, ReplBackend):
        assert backend.command == ("lake", "env", "my repl") and backend.workers == 3
    if isinstance(backend, Pool | ReplBackend):
        assert (backend.options.heartbeats, backend.options.memory_mb) == (7, 99)


@pytest.mark.parametrize(
    ("changes", "limits"),
    [
        ({}, (40_000, 5.0)),
        ({"lean": LeanSettings(project="mathlib4")}, (200_000, 25.0)),
        ({"lean": LeanSettings(toolchain="leanprover/lean4:v4.20.0")}, (200_000, 25.0)),
        ({"lean": LeanSettings(project="mathlib4"), "heartbeats": 7, "tactic_seconds": 0.5}, (7, 0.5)),
    ],
    ids=["pocket", "project", "toolchain", "set"],
)
def test_candidates_have_leans_own_limits_unless_lean_is_small(changes, limits):
    settings = LeanProcessSettings(**changes)
    assert (worker_options(settings).heartbeats, settings.resolved_tactic_seconds()) == limits
