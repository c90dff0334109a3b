import random
from pathlib import Path

import msgspec
import pytest

from common.curves import METRICS, encode_line
from common.output.command import UserError
from common.protocol.attempts import Transition
from common.records import transitions
from common.records.readers import DATABASE
from common.records.rows import WeightsRow
from common.records.store import Store
from common.records.transitions import TransitionReader
from node.learner.replay.replay import Replay
from node.learner.replay.shown import SUPERVISED, settings_of
from node.model import checkpoint
from node.training.documents import Room, transition_document
from tests.node.eval.small import outcomes, write
from tests.node.learner.builders import planned, proved, result, row
from tests.node.model.tiny import tiny_model, tiny_tokenizer
from tests.ui.monitors import ask
from ui.runs import Runs
from ui.views import NoQuery
from ui.views.data import AGES
from ui.views.training import training


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A run at step 40 with a proof that weights of step 10 found, and a disproof that those of step 30 found."""
    folder = tmp_path / "run"
    folder.mkdir()
    store = Store(folder / DATABASE)
    store.add_theorems([row("easy"), row("false")])
    for version, step in ((1, 10), (2, 30)):
        store.add_weights(WeightsRow(version, step, "d", f"w-{version}"), 1.0)
    told = [("easy", "train", proved(3, 0), 1), ("false", "disprove", proved(2, 10), 2)]
    for number, (name, purpose, verdict, weights) in enumerate(told, start=1):
        plan = planned(number, name, purpose)
        store.dispatch([plan], 1.0)
        answer = result(plan.attempt)
        statistics = msgspec.structs.replace(answer.statistics, weights_last=weights)
        store.record(msgspec.structs.replace(answer, statistics=statistics), verdict, 2.0)
    (folder / "config.toml").write_text("[learner.replay]\nheld_out = 0\n")
    (folder / METRICS).write_bytes(encode_line(3.0, 40, {"loss": 1.0}))
    (folder / SUPERVISED).parent.mkdir()
    transitions.write(folder / SUPERVISED, [Transition("⊢ bank", "rfl", 1)])
    return store


def test_rows_are_told_apart_by_where_they_come_from_and_how_old_they_are(store: Store, tmp_path: Path) -> None:
    run = Runs(tmp_path).get("run")
    found = ask(run, "replay")
    sources = {"proof": 3, "disproof": 2, "held-out": 0, "supervised": 1}
    assert found["sources"] == sources
    assert (found["rows_in_all"], found["total"], found["never_used"], found["step"]) == (5, 5, 5, 40)
    # 1. Ages are from the step of the weights that found a row to the run's step.
    ages = found["ages"]
    assert (ages["width"], ages["unknown"], len(ages["counts"]["proof"])) == (30 // AGES + 1, 0, AGES)
    counted = {name: [n for n, count in enumerate(counts) if count] for name, counts in ages["counts"].items()}
    assert counted == {"proof": [15], "disproof": [5]}
    newest = {"source": "disproof", "goal": "⊢ 11 = 11", "theorem": "false", "age": 10}
    assert found["rows"][0].items() >= newest.items()
    # 2. What is recorded meanwhile is there with the next look.
    plan = planned(4, "easy")
    store.dispatch([plan], 4.0)
    store.record(result(plan.attempt), proved(1, 50), 5.0)
    found = ask(run, "replay")
    assert (found["rows_in_all"], found["sources"]["proof"], found["rows"][0]["goal"]) == (6, 4, "⊢ 50 = 50")
    assert (found["rows"][0]["age"], found["ages"]["unknown"]) == (None, 1), "no weights found it"
    store.close()


def test_rows_are_found_sorted_cut_and_drawn_by_the_server(store: Store, tmp_path: Path) -> None:
    store.close()
    run = Runs(tmp_path).get("run")

    def states(**parameters: str | int) -> list[str]:
        return [each["goal"] for each in ask(run, "replay", **parameters)["rows"]]

    assert states(text="11 = 11") == ["⊢ 11 = 11"]
    assert states(text="run-2", source="disproof") == ["⊢ 11 = 11", "⊢ 10 = 10"]
    assert states(source="supervised") == ["⊢ bank"] == states(source="supervised", text="rfl")
    assert states(text="no such") == [] == states(source="no such")
    whole = states()
    assert states(order="oldest") == whole[::-1] and states(from_=2, limit=3) == whole[2:5] and states(from_=99) == []
    drawn = states(sample="4", seed="7")
    assert drawn == states(sample="4", seed="7") != states(sample="4", seed="8")
    assert len(set(drawn)) == 4 and set(drawn) <= set(whole) and len(states(sample="200")) == len(whole)


def test_the_buffer_is_what_the_learner_trains_on(tmp_path: Path) -> None:
    """Also of many states that are proved again and again, with a small window and held-out ones, read in parts."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "config.toml").write_text("[learner.replay]\nwindow = 40\nheld_out = 4\n")
    store, chance, run = Store(folder / DATABASE), random.Random(3), Runs(tmp_path)
    store.add_theorems([row("t")])
    for part in range(5):
        for number in range(20 * part + 1, 20 * part + 21):
            store.dispatch([planned(number, "t")], 1.0)
            store.record(result(planned(number, "t").attempt), proved(chance.randint(1, 4), chance.randint(0, 50)), 2.0)
        replay = Replay(store.path, settings_of(folder).replay)
        replay.fill(store.examples)
        shown = ask(run.get("run"), "replay", limit="200", order="oldest")
        numbers = [number for _, number in [*replay.held_out(), *replay.refs()]]
        assert [each["number"] for each in shown["rows"]] == numbers
        assert shown["sources"]["held-out"] == len(replay.held_out()) and shown["rows_in_all"] == len(replay) <= 40
    store.close()


def test_one_row_is_shown_with_the_tokens_that_the_trainer_reads(store: Store, tmp_path: Path) -> None:
    store.close()
    run = Runs(tmp_path).get("run")
    before = ask(run, "replay-row", number="1")
    assert "no checkpoint yet" in before["unread"] and before["state"] == "⊢ 0 = 0"
    checkpoint.save(tmp_path / "run" / "checkpoints" / "step-000003", tiny_model(3), tiny_tokenizer(), step=3)
    config, reader = tiny_model(3).config, TransitionReader(tmp_path / "run" / DATABASE)
    for number in (1, 5):
        shown = ask(run, "replay-row", number=str(number))
        read = reader.read(number)
        document = transition_document(tiny_tokenizer(), read, Room(config.context, config.longest_tactic))
        assert document is not None
        tokens = [token for name in ("input", "target") for token, _ in shown[name]["tokens"]]
        assert tuple(tokens) == document.tokens and shown["steps"] == document.remaining_steps
        assert shown["input"]["count"] == document.prompt and shown["checkpoint"] == "step-000003"
    reader.close()
    bank = ask(run, "replay-row", number="1", supervised="true")
    assert (bank["source"], bank["state"], bank["theorem"]) == ("supervised", "⊢ bank", "")
    with pytest.raises(UserError, match="not in the replay buffer"):
        ask(run, "replay-row", number="999")


def test_another_run_of_the_same_name_has_its_own_rows(store: Store, tmp_path: Path) -> None:
    store.close()
    run = Runs(tmp_path).get("run")
    assert ask(run, "replay")["rows_in_all"] == 5 and training(run, NoQuery())["versions"][0]["results"] == 1
    (tmp_path / "run" / DATABASE).rename(tmp_path / "old.sqlite")
    Store(tmp_path / "run" / DATABASE).close()
    assert ask(run, "replay")["rows"] == [] and training(run, NoQuery())["versions"] == []


def test_runs_of_other_kinds_and_damaged_ones_say_so(store: Store, tmp_path: Path) -> None:
    store.close()
    write(tmp_path / "evaluation", outcomes({"t": 1}))
    assert ask(Runs(tmp_path).get("evaluation"), "replay") == {"kind": "evaluation"}
    (tmp_path / "run" / "config.toml").write_text("[learner.replay]\nwindow = 'large'\n")
    with pytest.raises(UserError, match="window"):
        ask(Runs(tmp_path).get("run"), "replay")
    (tmp_path / "run" / "config.toml").unlink()
    (tmp_path / "run" / DATABASE).write_bytes(b"no database" * 100)
    with pytest.raises(UserError, match=r"proofs\.sqlite"):
        ask(Runs(tmp_path).get("run"), "replay")
