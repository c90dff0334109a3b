"""What is trained on: the replay buffer, the batches, how fresh and how often used they are, and proofmesh replay."""

import json
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from common.output.command import Exit
from common.protocol.attempts import Transition
from common.records import transitions
from common.records.readers import UnreadableRecords
from common.records.rows import Example
from common.records.store import Store
from common.records.transitions import TransitionReader
from node.learner.learning.loop import Usage
from node.learner.replay.command import main
from node.learner.replay.replay import USES, Replay, ReplaySettings, epochs, sample
from node.learner.run import RunDirectory
from node.model import checkpoint
from node.training.documents import Room, transition_document
from tests.commands import Run
from tests.node.learner.builders import planned, proved, result, row, rows, shown
from tests.node.model.tiny import tiny_model, tiny_tokenizer

SMALL = ReplaySettings(window=10, segment=4)


def kept(replay: Replay) -> list[int]:
    return [number for _, number in replay.refs()]


def test_a_transition_is_held_once(tmp_path: Path) -> None:
    replay = Replay(tmp_path, SMALL)
    assert replay.add(rows(2, 1, 2, 2, 3)) == 3
    assert replay.add([Example(9, Transition("⊢ 1", "simp", 1))]) == 1
    assert kept(replay) == [2, 1, 5, 9]  # what is proved again is newer than what is not


def test_the_target_is_the_shortest_known_way_and_a_longer_proof_only_makes_it_newer() -> None:
    def proofs(*steps: int, of: str = "⊢ p", start: int) -> list[Example]:
        return [Example(start + place, Transition(of, "simp", each), 2.0) for place, each in enumerate(steps)]

    replay = Replay(Path("proofs.sqlite"), ReplaySettings(window=2, held_out=0))
    replay.add(proofs(5, start=1))
    replay.add(proofs(1, of="⊢ q", start=2))
    assert replay.add(proofs(7, 3, 4, 3, start=3)) == 0 and kept(replay) == [2, 4]
    assert replay.weights(replay.refs()) == [2.0, 2.0] and replay.last_id == 6
    replay.add(proofs(1, of="⊢ r", start=7))  # the window is full: what was proved least lately leaves
    assert kept(replay) == [4, 7]
    replay.add(proofs(1, 1, of="⊢ s", start=8) + proofs(9, start=10))
    assert kept(replay) == [8, 10]  # what has left the window begins again


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 15), max_size=60), st.lists(st.integers(0, 60), max_size=4))
def test_a_buffer_filled_in_parts_and_one_that_a_start_makes_are_equal(numbers: list[int], parts: list[int]) -> None:
    everything = []
    for place, each in enumerate(rows(*numbers)):
        longer = msgspec.structs.replace(each.transition, remaining_steps=1 + place % 3)
        everything.append(each._replace(transition=longer))
    steady, parted, fresh = (Replay(Path("proofs.sqlite"), SMALL) for _ in range(3))
    steady.add(everything)
    for place in sorted(parts):
        parted.add(everything[:place])
    parted.add(everything)
    fresh.fill(lambda after, limit: [each for each in everything if each.number > after][:limit])
    assert steady.refs() == parted.refs() == fresh.refs() and steady.held_out() == fresh.held_out()
    assert steady.last_id == fresh.last_id == len(numbers)


def test_what_an_algorithm_leaves_out_is_not_trained_on_and_weights_count_in_batches(tmp_path: Path) -> None:
    replay = Replay(tmp_path, ReplaySettings(held_out=0))
    assert replay.weights(replay.refs()) is None
    weighed = zip(rows(1, 2, 3), (0.0, 1.0, 3.0), strict=True)
    assert replay.add([each._replace(weight=weight) for each, weight in weighed]) == 2
    refs = replay.refs()
    assert kept(replay) == [2, 3] and replay.last_id == 3 and replay.weights(refs) == [1.0, 3.0]
    drawn = Counter(number for _, number in sample([], refs, 4000, 0.0, 1, replay.weights(refs)))
    assert 0.72 < drawn[3] / 4000 < 0.78 and drawn[2] + drawn[3] == 4000


def test_recorded_transitions_are_read_by_their_numbers_while_others_are_recorded(tmp_path: Path) -> None:
    store = Store(tmp_path / "proofs.sqlite")
    reader = TransitionReader(store.path)
    store.add_theorems([row("t")])
    for number in (1, 2):
        store.dispatch([planned(number)], now=1.0)
        store.record(result(planned(number).attempt), proved(2, first=10 * number), now=2.0)
        read = [reader.read(each) for each in range(1, 2 * number + 1)]
        assert read == [each.transition for each in store.examples()]
    with pytest.raises(UnreadableRecords, match=r"proofs.sqlite: transition 5 is missing"):
        reader.read(5)
    reader.close()
    store.close()


def test_transitions_of_a_bank_are_written_anew_and_read_and_damage_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "supervised.sqlite"
    transitions.write(path, [Transition("⊢ old", "rfl", 1)] * 3)
    content = [Transition("⊢ p", "rfl", 2), Transition("⊢ q", "rfl", 1)]
    refs = transitions.write(path, content)
    reader = TransitionReader(path)
    assert [reader.read(number) for _, number in refs] == content
    with pytest.raises(UnreadableRecords, match="missing"):
        reader.read(3)
    refs = transitions.write(path, [Transition("⊢ p" * 2000, "rfl", 2)] * 4)
    path.write_bytes(path.read_bytes()[:4096] + b"x" * (path.stat().st_size - 4096))
    with pytest.raises(UnreadableRecords, match=r"transition 4 cannot be read \(.*malformed"):
        TransitionReader(path).read(refs[-1][1])


def test_batches_mix_supervised_and_replayed_transitions_and_an_epoch_shows_each_once() -> None:
    supervised, replayed = ([(base, index) for index in range(100)] for base in "sr")
    batch = sample(supervised, replayed, 2000, 0.1, seed=1)
    assert len(batch) == 2000 and 0.07 < sum(base == "s" for base, _ in batch) / 2000 < 0.13
    assert batch == sample(supervised, replayed, 2000, 0.1, seed=1) != sample(supervised, replayed, 2000, 0.1, seed=2)
    assert {base for base, _ in sample(supervised, [], 50, 0.1, seed=1)} == {"s"}
    assert {base for base, _ in sample([], replayed, 50, 0.1, seed=1)} == {"r"}
    seen = [ref for step in range(5) for ref in epochs(supervised, 20, seed=1, step=step)]
    assert sorted(seen) == supervised and epochs(supervised, 20, 1, 0) != epochs(supervised, 20, 1, 5)


@pytest.fixture
def replay(tmp_path: Path) -> Replay:
    """Eight transitions with the numbers 1 to 8."""
    replay = Replay(tmp_path / "proofs.sqlite", ReplaySettings(window=10, held_out=0))
    replay.add(rows(*range(8)))
    return replay


def uses(replay: Replay) -> Path:
    return Path(replay.source).with_name(USES)


def told(replay: Replay) -> Usage:
    """The first four were found with the weights of step 100, others with those of step 130; one without weights."""
    usage, window = Usage(uses(replay), replay.source), replay.refs()
    found = [(number, 100 if number <= 4 else None if number == 8 else 130) for number in range(1, 9)]
    usage.add([each for each in found if each[0] > usage.new_after(window)], window)
    return usage


def test_age_and_uses_are_counted_over_batches_and_within_one_and_a_repeated_step_once(replay: Replay) -> None:
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


# --- proofmesh replay: shown as the network reads it ------------------------------------------------------------------
WINDOW = 5


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    """A run with seven transitions in its records."""
    directory = RunDirectory(tmp_path, "run")
    directory.open()
    directory.config.write_text(f"[learner.replay]\nwindow = {WINDOW}\n", encoding="utf-8")
    store = Store(directory.database)
    store.add_theorems([row("t")])
    for plan, verdict in ((planned(1), proved(4)), (planned(2), proved(3, first=4))):
        store.dispatch([plan], now=1.0)
        store.record(result(plan.attempt), verdict, now=2.0)
    store.close()
    directory.close()
    return directory


@pytest.mark.parametrize("argv", [[], ["burn", "here"], ["show", "nowhere"], ["show", "Not A Name"]])
def test_what_is_no_run_directory_is_refused_and_not_made(argv: list[str], tmp_path: Path) -> None:
    assert main([*argv[:1], *(str(tmp_path / name) for name in argv[1:])]) == Exit.UNUSABLE
    assert list(tmp_path.iterdir()) == []


def test_rows_are_shown_with_the_exact_tokens_that_the_trainer_reads(directory: RunDirectory, called: Run) -> None:
    without = called(main, "show", directory.path)
    assert without.code == Exit.UNUSABLE and "no checkpoint yet" in without.err
    checkpoint.save(directory.checkpoints / "step-000003", tiny_model(3), tiny_tokenizer(), step=3)
    before = {path: path.stat().st_mtime_ns for path in directory.path.rglob("*")}
    shown = [json.loads(line) for line in called(main, "show", directory.path, "--rows", 99, "--json").out.splitlines()]
    assert {path: path.stat().st_mtime_ns for path in directory.path.rglob("*")} == before
    # 1. What the ranks read: the same documents, by the same references.
    store, replay = Store(directory.database), Replay(directory.database, ReplaySettings(window=WINDOW))
    replay.fill(store.examples)
    store.close()
    assert sorted(each["number"] for each in shown) == sorted(n for _, n in [*replay.refs(), *replay.held_out()])
    reader, tokenizer, config = TransitionReader(directory.database), tiny_tokenizer(), tiny_model(3).config
    for each in shown:
        read = transition_document(tokenizer, reader.read(each["number"]), Room(config.context, config.longest_tactic))
        assert read is not None and (*each["input_tokens"], *each["target_tokens"]) == read.tokens
        assert each["input"].startswith("<|bos|><|state|>") and each["target"].endswith("<|eos|>")
        assert (each["theorem"], each["purpose"], each["times_trained"]) == ("t", "train", 0)
    reader.close()
    # 2. Filter and sample.
    one = shown[0]
    texts = called(main, "show", directory.path, "--filter", one["attempt"], "--sample", 1).out
    assert texts.count("input, ") == 1 and f"attempt {one['attempt']}" in texts
    assert "0 of 0 rows" in called(main, "show", directory.path, "--filter", "\x1b[31m").out
