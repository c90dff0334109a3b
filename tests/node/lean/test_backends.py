"""The backend that [lean] names is the one that runs; and the cache of outcomes."""

import pytest

from common.lean import Branch, Outcome, OutcomeKind, Step, Theorem
from common.settings import LeanSettings
from node.lean.adapters.leantree.backend import LeanTreeBackend
from node.lean.adapters.repl.backend import ReplBackend
from node.lean.backend import OutcomeCache
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


TRUE = Theorem("t", "", "True")
GOALS = Outcome(OutcomeKind.GOALS, (Branch("⊢ A", (0,)), Branch("⊢ B", (1,))))


def test_an_outcome_is_remembered_with_the_states_that_it_leads_to():
    cache = OutcomeCache(10)
    cache.learn(TRUE, (), "constructor", GOALS)
    assert cache.outcome(TRUE, (), "constructor") is GOALS
    assert cache.outcome(Theorem("other name", "", "True"), (), "constructor") is GOALS
    assert cache.state(TRUE, [Step("constructor", 1, GOALS.layout)]) == "⊢ B"
    assert cache.parses(TRUE, "constructor")
    assert not cache.parses(Theorem("t", "", "True", "open Nat"), "constructor")
    assert cache.outcome(TRUE, [Step("constructor", 1, GOALS.layout)], "constructor") is None


@pytest.mark.parametrize("kind", [OutcomeKind.TIMEOUT, OutcomeKind.MEMORY, OutcomeKind.CRASHED, OutcomeKind.LOST])
def test_what_may_come_out_otherwise_next_time_is_not_remembered(kind):
    cache = OutcomeCache(10)
    cache.learn(TRUE, (), "simp", Outcome(kind))
    assert cache.outcome(TRUE, (), "simp") is None


def test_an_error_without_its_message_does_not_answer_a_request_that_needs_the_message():
    cache = OutcomeCache(10)
    cache.learn(TRUE, (), "simp", Outcome(OutcomeKind.ERROR))
    assert cache.outcome(TRUE, (), "simp") is None
    assert cache.outcome(TRUE, (), "simp", message=False) == Outcome(OutcomeKind.ERROR)
    cache.learn(TRUE, (), "simp", Outcome(OutcomeKind.ERROR, message="no progress"))
    assert cache.outcome(TRUE, (), "simp") is not None


def test_the_least_recently_used_outcome_is_forgotten_first():
    cache = OutcomeCache(2)
    proved = Outcome(OutcomeKind.PROVED)
    cache.learn(TRUE, (), "a", proved)
    cache.learn(TRUE, (), "b", proved)
    assert cache.outcome(TRUE, (), "a") is proved
    cache.learn(TRUE, (), "c", proved)
    assert [cache.outcome(TRUE, (), tactic) for tactic in "abc"] == [proved, None, proved]
