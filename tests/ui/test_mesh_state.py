import itertools
import math

import msgspec
import pytest

from common.lean import OutcomeKind, outcome_values
from common.protocol.messages import BrokerFacts, LogRecord, Point, ProofFound
from tests.message_values import heartbeat, node_info
from ui import mesh_state
from ui.mesh_state import GONE_AFTER, MeshState, evaluation_of


def test_totals_do_not_fall_when_a_node_is_gone_which_only_the_registry_revives() -> None:
    state = MeshState()
    state.see_registry([node_info("a"), node_info("b")], 0)
    state.see_heartbeat(heartbeat("a", time=1, roots_solved=7))
    state.see_heartbeat(heartbeat("b", time=1, roots_solved=1))
    state.see_registry([node_info("b")], 10)
    state.see_heartbeat(heartbeat("a", time=2, roots_solved=7))  # a late one
    assert state.nodes["a"].state == "gone" and state.totals()["prover.roots_solved"] == 8
    state.see_registry([node_info("a"), node_info("b")], 11)
    assert (state.nodes["a"].state, state.nodes["a"].gone_since) == ("running", None)
    state.see_registry([node_info("b")], 12)
    state.see_registry([node_info("b")], 13 + GONE_AFTER)
    assert "a" not in state.nodes and state.totals()["prover.roots_solved"] == 8


def test_rates_are_taken_over_the_window() -> None:
    state = MeshState()
    state.see_registry([node_info("a")], 0)
    for second in range(60):
        state.see_heartbeat(heartbeat("a", time=second, expansions=30 * second))
        state.tick(second)
    assert state.rates()["prover.expansions"] == 30


def test_points_are_remembered_in_bounded_memory_and_are_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mesh_state, "KNOWN_POINTS", 50)
    state = MeshState(points=20)
    points = [Point(time=float(step), step=step, values={"loss": 1.0}) for step in range(200)]
    assert all(state.see_point(point) for point in points)
    assert not any(state.see_point(point) for point in points[-50:])
    assert [point.step for point in state.points] == list(range(180, 200)) and len(state._known_points) == 50
    proof = ProofFound(theorem_id="t", attempt_id="1", purpose="train", time=0, lean="theorem t : True := trivial")
    assert state.see_proof(proof) and not state.see_proof(proof) and len(state.proofs) == 1


def test_sick_nodes_come_with_their_reasons_the_worst_first() -> None:
    state = MeshState()
    broken = node_info("b", "broker", problems={"disk": "full"})
    broken = msgspec.structs.replace(broken, state="unhealthy", facts=BrokerFacts(offenders=("the key prover floods",)))
    state.see_registry([node_info("a"), node_info("quiet"), broken], 10)
    state.see_heartbeat(heartbeat("quiet", time=10), 10.0)
    state.see_heartbeat(heartbeat("a", time=10, loop_lag_ms=900.0), 30.0)
    assert [(each["id"], each["why"]) for each in state.sick(30.0)] == [
        ("b", ["disk: full", "misbehaves: the key prover floods"]),
        ("a", ["its event loop stands still for 900 ms at a time"]),
        ("quiet", ["silent for 20 s"]),
    ]
    state.see_registry([node_info("a")], 31)
    assert {each["id"]: each["why"] for each in state.sick(40.0)}["quiet"] == ["gone for 9 s"]


def test_each_kind_of_outcome_is_a_total_of_its_own() -> None:
    state = MeshState()
    state.see_registry([node_info("a"), node_info("l", "lean-proxy"), node_info("m", "lean-proxy")], 0)
    counts = {kind: number for number, kind in enumerate(OutcomeKind, start=1)}
    state.see_heartbeat(heartbeat("a", time=1, **outcome_values(counts)))
    state.see_heartbeat(heartbeat("l", role="lean-proxy", **outcome_values(counts)))
    state.see_heartbeat(heartbeat("m", role="lean-proxy", failures=3, **outcome_values({OutcomeKind.LOST: 5})))
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
    (found,) = state.evaluations.values()
    assert (found["step"], found["solved"], found["statements"], found["beside"]) == (5, 32, 64, True)
    assert all("eval_solve_rate" not in point.values for point in state.points)
    # From the run's file and from its point, it is one.
    assert state.see_evaluation({"time": 3.25, "step": 7, "label": "step-7"})
    state.see_point(evaluation_point(3.25, 7))
    assert [each.get("label") for each in state.evaluations.values()][1:] == ["step-7"]
    # That of an older learner has its rate alone.
    older = evaluation_of(Point(time=1.0, step=5, values={"eval_solve_rate": 0.25}))
    assert older is not None and older["rate"] == 0.25 and older["statements"] is None
    assert evaluation_of(Point(time=1.0, step=5, values={"solve_rate": 0.25})) is None


def test_the_values_of_a_node_are_remembered_in_bounded_memory() -> None:
    state = MeshState()
    state.see_registry([node_info("a")], 0)
    for second in range(1, 20_000):
        late = {"late": 1.0} if second > 15_000 else {}
        state.see_heartbeat(heartbeat("a", time=second, expansions=second, **late), second)
    times, values = state.nodes["a"].memory.read()
    assert len(times) <= mesh_state.SAMPLES and times[0] == 1 and times[-1] > 19_990
    assert all(later - earlier >= mesh_state.REMEMBER_EVERY for earlier, later in itertools.pairwise(times))
    assert values["expansions"] == times
    assert [math.isnan(value) for value in values["late"]] == [time <= 15_000 for time in times]
    for number in range(100):  # a node that makes up names
        names = {f"name_{number}_{n}": 1.0 for n in range(10)}
        state.see_heartbeat(heartbeat("a", **names), 20_000 + 10 * number)
    assert len(state.nodes["a"].memory.read()[1]) == mesh_state.NAMES


def test_a_clock_is_told_by_the_heartbeat_that_was_fastest() -> None:
    state = MeshState()
    state.see_registry([node_info("a")], 0)
    assert state.nodes["a"].ahead is None
    for now, delay in ((100.0, 0.4), (101.0, 0.002), (102.0, 3.0)):
        state.see_heartbeat(heartbeat("a", time=now - delay + 60), now)
    assert state.nodes["a"].ahead == pytest.approx(60, abs=0.01)


def test_the_last_error_of_a_node_outlives_the_log_of_others() -> None:
    state = MeshState(logs=2)
    state.see_registry([node_info("a"), node_info("b")], 0)
    for node, level, event in (("a", "error", "broke"), ("a", "info", "works"), ("nobody", "error", "?")):
        state.see_log(LogRecord(node_id=node, role="prover", time=1.0, level=level, event=event))
    for _ in range(5):
        state.see_log(LogRecord(node_id="b", role="prover", time=1.0, level="info", event="noise"))
    error = state.nodes["a"].error
    assert error is not None and error.event == "broke" and state.nodes["b"].error is None
