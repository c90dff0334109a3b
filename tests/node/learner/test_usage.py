"""How fresh and how often used the transitions of batches are."""

from __future__ import annotations

from pathlib import Path

import pytest

from node.learner.learning.loop import Usage
from node.learner.replay.replay import USES, Replay, ReplaySettings
from tests.node.learner.builders import rows, shown


@pytest.fixture
def replay(tmp_path: Path) -> Replay:
    """Eight transitions with the numbers 1 to 8."""
    replay = Replay(tmp_path / "proofs.sqlite", ReplaySettings(window=10, held_out=0))
    replay.add(rows(*range(8)))
    return replay


def uses(replay: Replay) -> Path:
    """The file of the counts."""
    return Path(replay.source).with_name(USES)


def told(replay: Replay) -> Usage:
    """The first four were found with the weights of step 100, others with those of step 130; one without weights."""
    usage, window = Usage(uses(replay), replay.source), replay.refs()
    found = [(number, 100 if number <= 4 else None if number == 8 else 130) for number in range(1, 9)]
    usage.add([each for each in found if each[0] > usage.new_after(window)], window)
    return usage


def test_age_and_uses_are_counted_over_batches_and_within_one_and_a_step_that_is_repeated_counts_once(
    replay: Replay,
) -> None:
    usage, refs = told(replay), replay.refs()
    assert usage.seen([refs[0], refs[5], ("supervised", 0)], 150) == [refs[0], refs[5], ("supervised", 0)]
    assert usage.values() == {"replay_age_steps": (50 + 20) / 2, "replay_uses_mean": 1.0, "replay_uses_max": 1.0}
    usage.seen([refs[7]], 151)
    assert usage.values() == {"replay_uses_mean": 1.0, "replay_uses_max": 1.0}  # no weights found it: it has no age
    assert usage.values() == {}
    for _ in range(3):
        usage.seen([refs[0], refs[0], refs[1]], 152)
    usage.seen([refs[0], refs[6]], 153)
    values = usage.values()
    assert values["replay_uses_mean"] == ((3 + 3 + 1) / 3 + (4 + 1) / 2) / 2 and values["replay_uses_max"] == 4
    assert shown("learner_replay_uses_max") == 4 and shown("learner_replay_age_steps") == values["replay_age_steps"]


def test_a_buffer_that_grows_and_forgets_is_followed(replay: Replay) -> None:
    usage = told(replay)
    replay.add(rows(*range(8, 20), start=9))
    window = replay.refs()
    assert usage.new_after(window) == 10  # transitions that have left the window are skipped
    usage.add([(number, 140) for number in range(11, 21)], window)
    usage.seen(window, 141)
    assert usage.values() == {"replay_age_steps": 1.0, "replay_uses_mean": 1.0, "replay_uses_max": 1.0}
    assert usage.new_after(window) == 20
    replay.add(rows(12, start=21))  # proved again: the transition with the number 13 comes last
    window = replay.refs()
    usage.add([(21, 150)], window)
    usage.seen(window, 151)
    assert window[-1] == (replay.source, 13) and usage.values()["replay_uses_max"] == 2


def test_counts_are_kept_for_the_next_process(replay: Replay) -> None:
    usage, refs = told(replay), replay.refs()
    usage.seen([refs[0], refs[7]], 150)
    usage.save()
    again = told(replay)
    again.seen([refs[0], refs[1]], 151)
    assert again.values()["replay_uses_max"] == 2
    uses(replay).write_bytes(b"damaged")
    fresh = told(replay)
    fresh.seen([refs[0]], 152)
    assert fresh.values()["replay_uses_max"] == 1
