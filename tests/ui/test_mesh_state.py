"""The monitor's fold of telemetry: totals, speeds, nodes that leave."""

from dataclasses import fields

import msgspec
import pytest

from common.lean import OutcomeKind, outcome_values
from common.protocol.messages import BrokerFacts, Heartbeat, NodeInfo, Point, ProofFound
from common.records.lately import Lately
from common.records.rows import Parts
from ui import mesh_state
from ui.mesh_state import GONE_AFTER, MeshState, evaluation_of


def info(node_id: str, role: str = "prover", started: float = 0.0) -> NodeInfo:
    return NodeInfo(node_id=node_id, role=role, host="h", pid=1, version="0", started=started)


def beat(node_id: str, time: float, role: str = "prover", **values: float) -> Heartbeat:
    return Heartbeat(node_id=node_id, role=role, time=time, state="running", values=values)


def test_totals_do_not_fall_when_a_node_is_killed() -> None:
    state = MeshState()
    state.see_registry([info("a"), info("b")], 0)
    state.see_heartbeat(beat("a", 1, roots_solved=7))
    state.see_heartbeat(beat("b", 1, roots_solved=1))
    state.see_registry([info("b")], 10)
    assert state.nodes["a"].state == "gone"
    assert state.totals()["prover.roots_solved"] == 8
    state.see_registry([info("b")], 11 + GONE_AFTER)
    assert "a" not in state.nodes
    assert state.totals()["prover.roots_solved"] == 8


def test_a_late_heartbeat_does_not_revive_a_gone_node() -> None:
    state = MeshState()
    state.see_registry([info("a")], 0)
    state.see_registry([], 1)
    state.see_heartbeat(beat("a", 2, expansions=1))
    assert state.nodes["a"].state == "gone"


def test_a_node_that_reconnects_is_alive_again() -> None:
    state = MeshState()
    state.see_registry([info("a")], 0)
    state.see_registry([], 1)
    state.see_registry([info("a")], 2)
    assert state.nodes["a"].state == "running"
    assert state.nodes["a"].gone_since is None


def test_rates_are_taken_over_the_window() -> None:
    state = MeshState()
    state.see_registry([info("a")], 0)
    for second in range(60):
        state.see_heartbeat(beat("a", second, expansions=30 * second))
        state.tick(second)
    assert state.rates()["prover.expansions"] == 30
    assert len(state.speeds) == 60


def test_a_proof_announced_twice_is_shown_once() -> None:
    state = MeshState()
    proof = ProofFound(theorem_id="t", attempt_id="1", purpose="train", time=0, lean="theorem t : True := trivial")
    assert state.see_proof(proof)
    assert not state.see_proof(proof)
    assert len(state.history()["proofs"]) == 1


def test_points_are_remembered_in_bounded_memory_and_those_of_a_history_are_not_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mesh_state, "KNOWN_POINTS", 50)
    state = MeshState(points=20)
    points = [Point(time=float(step), step=step, values={"loss": 1.0}) for step in range(200)]
    assert all(state.see_point(point) for point in points)
    assert not any(state.see_point(point) for point in points[-50:])
    assert [point.step for point in state.points] == list(range(180, 200))
    assert len(state._known_points) == 50


def test_overview_says_what_is_slow_once_a_learner_tells() -> None:
    state = MeshState()
    state.see_registry([info("learner-1", role="learner")], 1.0)
    assert state.overview(10)["why"] == ""
    told = Lately(
        4, 8, 1.0, 20.0, 0.0, Parts(**{each.name: 20.0 * (each.name == "lean_run") for each in fields(Parts)})
    )
    state.see_heartbeat(beat("learner-1", 2.0, "learner", **told.values()))
    assert state.overview(10)["why"].startswith("Lean is slow: an expansion waits 2.5 s for it, 100.0%")


def test_overview_lists_nodes_by_role_and_age() -> None:
    state = MeshState()
    state.see_registry([info("z", "ui"), info("young", started=5), info("old", started=1)], 10)
    assert [node["id"] for node in state.overview(10)["nodes"]] == ["old", "young", "z"]
    assert [node["uptime"] for node in state.overview(10)["nodes"]] == [9, 5, 10]


def test_the_page_gets_why_a_node_is_unhealthy() -> None:
    state = MeshState()
    sick = NodeInfo("b", role="broker", host="h", pid=1, version="0", started=0.0, problems={"disk": "full"})
    state.see_registry([msgspec.structs.replace(sick, facts=BrokerFacts(offenders=("the key prover floods",)))], 10)
    (shown,) = state.overview(10)["nodes"]
    assert shown["problems"] == {"disk": "full"} and shown["offenders"] == ("the key prover floods",)


def test_each_kind_of_outcome_is_a_total_of_its_own() -> None:
    state = MeshState()
    state.see_registry([info("a"), info("l", "lean-proxy"), info("m", "lean-proxy")], 0)
    counts = {kind: number for number, kind in enumerate(OutcomeKind, start=1)}
    state.see_heartbeat(beat("a", 1, **outcome_values(counts)))
    state.see_heartbeat(beat("l", 1, "lean-proxy", **outcome_values(counts)))
    state.see_heartbeat(beat("m", 1, "lean-proxy", failures=3, **outcome_values({OutcomeKind.LOST: 5})))
    totals = state.totals()
    assert [totals[f"prover.outcome_{kind}"] for kind in OutcomeKind] == list(counts.values())
    assert totals["lean-proxy.outcome_lost"] == counts[OutcomeKind.LOST] + 5 and totals["lean-proxy.failures"] == 3


def evaluation_point(time: float, step: int) -> Point:
    values = {"eval_solve_rate": 0.5, "eval_statements": 64.0, "eval_solved": 32.0, "eval_undecided": 0.0}
    return Point(time=time, step=step, values=values | {"eval_simulations": 16.0, "eval_beside": 1.0})


def test_evaluations_are_kept_when_a_long_run_has_pushed_their_points_out() -> None:
    state = MeshState(points=10)
    state.see_point(evaluation_point(1.0, 5))
    for step in range(50):
        state.see_point(Point(time=2.0 + step, step=step, values={"loss": 1.0}))
    (found,) = state.history()["evaluations"]
    assert (found["step"], found["solved"], found["statements"], found["beside"]) == (5, 32, 64, True)
    assert all("eval_solve_rate" not in point["values"] for point in state.history()["points"])


def test_an_evaluation_from_the_runs_file_and_from_its_point_is_one() -> None:
    state = MeshState()
    assert state.see_evaluation({"time": 3.25, "step": 7, "label": "step-7"})
    state.see_point(evaluation_point(3.25, 7))
    assert [each["label"] for each in state.history()["evaluations"]] == ["step-7"]


def test_the_evaluation_of_an_older_learner_has_its_rate_alone() -> None:
    found = evaluation_of(Point(time=1.0, step=5, values={"eval_solve_rate": 0.25}))
    assert found is not None and found["rate"] == 0.25 and found["statements"] is None
    assert evaluation_of(Point(time=1.0, step=5, values={"solve_rate": 0.25})) is None
