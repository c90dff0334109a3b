"""When rounds are over, and when a run is."""

from node.stp.readers import is_finished, rounds_are_over
from node.stp.records import Part, RoundKind, RoundRow, Stage
from node.stp.settings import StpSettings


def row(number: int, kind: RoundKind = RoundKind.SELF_PLAY, stage: Stage = Stage.DONE, cycle: int = 1) -> RoundRow:
    seconds = {Part.PROVING: 60.0}
    return RoundRow(number, 0 if kind is RoundKind.INITIAL else cycle, kind, stage, None, None, 0.0, 0.0, seconds)


FIRST, LAST = row(0, RoundKind.INITIAL), row(3, RoundKind.FINAL)
TWO = [FIRST, row(1), row(2)]


def test_a_cycle_has_so_many_rounds_whatever_the_cycles_before_it_had():
    settings = StpSettings(rounds=2)
    assert rounds_are_over(TWO, 1, settings, all_solved=False)
    assert not rounds_are_over(TWO[:2], 1, settings, all_solved=False)
    assert not rounds_are_over([*TWO, LAST], 2, settings, all_solved=False)


def test_all_solved_ends_only_a_run_that_is_to_end_then():
    assert not rounds_are_over(TWO, 1, StpSettings(), all_solved=True)
    assert rounds_are_over(TWO, 1, StpSettings(until_solved=True), all_solved=True)
    assert is_finished(TWO, StpSettings(until_solved=True), all_solved=True)


def test_a_run_is_finished_after_the_last_training_from_the_base():
    settings = StpSettings(rounds=2, cycles=2)
    assert not is_finished(TWO, settings, all_solved=False)
    assert not is_finished([*TWO, LAST], settings, all_solved=False)
    later = [*TWO, LAST, row(4, cycle=2), row(5, RoundKind.FINAL, cycle=2)]
    assert is_finished(later, settings, all_solved=False)
    unfinished = row(5, RoundKind.FINAL, Stage.TRAINED, cycle=2)
    assert not is_finished([*later[:-1], unfinished], settings, all_solved=False)
