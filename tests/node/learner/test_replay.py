from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.protocol.attempts import Transition
from node.learner.replay.replay import Replay, ReplaySettings, epochs, rebuild, sample
from node.learner.replay.segments import SegmentError, SegmentReader, SegmentWriter, data_path, index_path, read_index

SMALL = ReplaySettings(window=10, segment=4)


def rows(*numbers: int, start: int = 1) -> list[tuple[int, Transition]]:
    return [(start + index, Transition(f"⊢ {number}", "rfl", 1)) for index, number in enumerate(numbers)]


def contents(replay: Replay) -> list[str]:
    return [SegmentReader(Path(base)).read(position).state for base, position in replay.refs()]


def test_the_window_holds_the_newest_and_drops_segments_that_left_it(tmp_path: Path) -> None:
    replay = Replay(tmp_path, SMALL)
    assert replay.add(rows(*range(25))) == 25
    assert contents(replay) == [f"⊢ {number}" for number in range(15, 25)]
    assert len(list(tmp_path.glob("*.index"))) == 4
    replay.close()


def test_a_transition_is_held_once(tmp_path: Path) -> None:
    replay = Replay(tmp_path, SMALL)
    assert replay.add(rows(1, 2, 1, 1, 3)) == 3
    assert replay.add([(9, Transition("⊢ 1", "simp", 1))]) == 1
    assert len(replay) == 4


def test_adding_again_changes_nothing(tmp_path: Path) -> None:
    replay = Replay(tmp_path, SMALL)
    replay.add(rows(1, 2, 3))
    assert replay.add(rows(1, 2, 3)) == 0 and replay.last_id == 3


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 15), max_size=60), st.lists(st.integers(0, 60), max_size=4))
def test_restarts_and_a_rebuild_give_the_buffer_that_never_stopped(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[int], restarts: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("replay")
    everything = rows(*numbers)
    steady = Replay(folder / "steady", SMALL)
    steady.add(everything)
    cut = Replay(folder / "cut", SMALL)
    for place in sorted(restarts):
        cut.add(everything[:place])
        cut.close()
        cut = Replay(folder / "cut", SMALL)
    cut.add(everything)
    assert contents(cut) == contents(steady)
    cut.close()
    count = rebuild(folder / "cut", SMALL, lambda after: [row for row in everything if row[0] > after][:7])
    again = Replay(folder / "cut", SMALL)
    assert count == len(again) and contents(again) == contents(steady)


def test_a_torn_end_is_cut_off_and_written_again(tmp_path: Path) -> None:
    base = tmp_path / "segment-000001"
    writer = SegmentWriter(base)
    writer.append(rows(1, 2, 3))
    writer.close()
    with data_path(base).open("r+b") as file:
        file.truncate(data_path(base).stat().st_size - 3)
    with index_path(base).open("ab") as file:
        file.write(b"half an entry")
    assert len(read_index(base)) == 2
    writer = SegmentWriter(base)
    assert (writer.count, writer.last_id) == (2, 2)
    writer.append(rows(3, start=3))
    reader = SegmentReader(base)
    assert [reader.read(position).state for position in range(3)] == ["⊢ 1", "⊢ 2", "⊢ 3"]


def test_a_reader_follows_a_segment_that_grows(tmp_path: Path) -> None:
    writer, reader = SegmentWriter(tmp_path / "s"), SegmentReader(tmp_path / "s")
    with pytest.raises(SegmentError, match="transition 0 is missing"):
        reader.read(0)
    writer.append(rows(1))
    assert reader.read(0).state == "⊢ 1"
    writer.append(rows(2, start=2))
    assert reader.read(1).state == "⊢ 2"


def test_damage_is_noticed(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path / "s")
    writer.append(rows(1))
    with data_path(tmp_path / "s").open("r+b") as file:
        file.seek(8)
        file.write(b"X")
    with pytest.raises(SegmentError, match="damaged"):
        SegmentReader(tmp_path / "s").read(0)


def test_batches_mix_supervised_and_replayed_transitions() -> None:
    supervised = [("s", index) for index in range(100)]
    replayed = [("r", index) for index in range(100)]
    batch = sample(supervised, replayed, 2000, 0.1, seed=1)
    assert len(batch) == 2000 and 0.07 < sum(base == "s" for base, _ in batch) / 2000 < 0.13
    assert batch == sample(supervised, replayed, 2000, 0.1, seed=1) != sample(supervised, replayed, 2000, 0.1, seed=2)
    assert {base for base, _ in sample(supervised, [], 50, 0.1, seed=1)} == {"s"}
    assert {base for base, _ in sample([], replayed, 50, 0.1, seed=1)} == {"r"}


def test_an_epoch_shows_each_transition_once() -> None:
    refs = [("s", index) for index in range(100)]
    seen = [ref for step in range(5) for ref in epochs(refs, 20, seed=1, step=step)]
    assert sorted(seen) == refs
    assert epochs(refs, 20, 1, 0) != epochs(refs, 20, 1, 5)


def test_failed_tactics_are_kept_and_older_segments_have_none(tmp_path: Path) -> None:
    @dataclass
    class Older:
        state: str
        tactic: str
        remaining_steps: int

    writer = SegmentWriter(tmp_path / "segment-000001")
    writer.append([(1, Older("⊢ p", "rfl", 2))])  # type: ignore[list-item]
    writer.close()
    replay = Replay(tmp_path, SMALL)
    with_failed = Transition("⊢ q", "rfl", 1, ("simp", "omega"))
    assert replay.add([(1, Transition("⊢ p", "rfl", 2)), (2, with_failed), (3, Transition("⊢ q", "rfl", 1))]) == 1
    replay.close()
    again = Replay(tmp_path, SMALL)
    read = [SegmentReader(Path(base)).read(position) for base, position in again.refs()]
    again.close()
    assert read == [Transition("⊢ p", "rfl", 2), with_failed]
