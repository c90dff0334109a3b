"""The decision to restart a crashed child, with times set by the test."""

from hypothesis import HealthCheck, given, settings, strategies as st

from node.mesh.restarts import GiveUp, RestartHistory, RestartRules

RULES = RestartRules(first_delay=1.0, factor=2.0, longest_delay=5.0, limit=3, window=100.0, stable=10.0)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.floats(0.01, 300), min_size=1, max_size=60))
def test_never_more_deaths_in_the_window_than_the_limit_and_delays_in_bounds(lives: list[float]) -> None:
    history, now, forgiven = RestartHistory(RULES), 0.0, []
    for life in lives:
        history.started(now)
        now += life
        decision = history.died(now, 1)
        if isinstance(decision, GiveUp):
            assert len([time for time in forgiven if now - time < RULES.window]) == RULES.limit
            return
        forgiven.append(now)
        assert RULES.first_delay <= decision.delay <= RULES.longest_delay
        assert len([time for time in forgiven if now - time < RULES.window]) <= RULES.limit
        now += decision.delay
