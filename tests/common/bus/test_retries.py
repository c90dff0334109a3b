from common.bus.asking import FIRST, LONGEST, RetryDelay
from common.bus.connection import RECONNECT_LONGEST, RETRY_AFTER_BOUNDS, ServiceTime, reconnect_delay


def test_unanswered_requests_wait_twice_as_long_each_time_up_to_a_limit() -> None:
    delay = RetryDelay()
    pauses = [delay.after(None, 0.5) for _ in range(12)]
    assert pauses[:4] == [FIRST, 2 * FIRST, 4 * FIRST, 8 * FIRST]
    assert pauses[-1] == LONGEST


def test_busy_requests_wait_about_as_long_as_they_were_told() -> None:
    delay = RetryDelay()
    assert delay.after(0.4, 0.5) == 0.4
    assert delay.after(0.4, 0.5) > 0.4
    assert RetryDelay().after(100.0, 0.5) == LONGEST
    assert RetryDelay().after(-1.0, 0.5) == 0.0


def test_jitter_spreads_the_pauses_around_the_estimate() -> None:
    assert RetryDelay().after(1.0, 0.0) == 0.5
    assert RetryDelay().after(1.0, 1.0) == 1.5


def test_many_failures_do_not_overflow() -> None:
    delay = RetryDelay()
    for _ in range(5_000):
        pause = delay.after(None, 0.5)
    assert pause == LONGEST
    assert reconnect_delay(100_000, 1.0) == RECONNECT_LONGEST


def test_a_server_says_when_a_slot_will_be_free() -> None:
    time = ServiceTime(initial=1.0)
    assert time.retry_after(4) == 0.25
    for _ in range(100):
        time.observe(8.0)
    assert 1.9 < time.retry_after(4) <= 2.0
    assert ServiceTime(0.0).retry_after(1) == RETRY_AFTER_BOUNDS[0]
    assert ServiceTime(1000.0).retry_after(1) == RETRY_AFTER_BOUNDS[1]
