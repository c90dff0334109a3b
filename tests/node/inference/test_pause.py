import pytest

from node.inference.pause import PauseClock


def test_a_hold_pauses_until_its_end_and_no_longer() -> None:
    clock = PauseClock(started=0.0)
    assert not clock.paused(0.0)
    assert clock.hold(1, until=5.0, now=1.0)
    assert clock.paused(4.9) and clock.remaining(4.0) == 1.0
    assert not clock.paused(5.0) and clock.remaining(6.0) == 0.0


def test_a_renewed_hold_lasts_longer_and_a_released_one_ends() -> None:
    clock = PauseClock(started=0.0)
    clock.hold(1, until=5.0, now=1.0)
    assert clock.hold(1, until=9.0, now=4.0)
    assert clock.paused(8.0)
    assert clock.release(1, now=8.5)
    assert not clock.paused(8.5)


def test_stale_words_are_refused() -> None:
    clock = PauseClock(started=0.0)
    clock.hold(3, until=10.0, now=1.0)
    assert not clock.hold(2, until=20.0, now=2.0)
    assert not clock.release(2, now=2.0)
    assert clock.remaining(2.0) == 8.0
    assert not clock.hold(4, until=1.5, now=2.0), "already over"


def test_a_learner_that_counts_from_the_start_again_is_heard_when_nothing_holds() -> None:
    clock = PauseClock(started=0.0)
    clock.hold(7, until=2.0, now=1.0)
    assert clock.hold(0, until=9.0, now=3.0)


@pytest.mark.parametrize("end", ["expiry", "release", "still held"])
def test_the_share_of_time_paused(end: str) -> None:
    clock = PauseClock(started=100.0)
    clock.hold(1, until=160.0 if end == "still held" else 130.0, now=110.0)
    if end == "release":
        clock.hold(1, until=150.0, now=120.0)
        clock.release(1, now=130.0)
    now = 130.0 if end == "still held" else 140.0
    assert clock.fraction(now) == pytest.approx(20.0 / (now - 100.0))
    assert clock.fraction(now) == pytest.approx(20.0 / (now - 100.0)), "asking changes nothing"


def test_holds_add_up() -> None:
    clock = PauseClock(started=0.0)
    for start in (0.0, 20.0, 40.0):
        clock.hold(int(start), until=start + 5.0, now=start)
    assert clock.fraction(60.0) == pytest.approx(15.0 / 60.0)
