"""`proofmesh train progress` on tiny data: what it learns, what it refuses, and going on."""

import json
from dataclasses import replace

import pytest
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from common.seeds import split
from node.progress import command
from node.progress.data import Question, question, questions, read
from node.progress.model import begin
from tests.node.progress.conftest import LEARNING, flags, jsonl, rows

pytestmark = pytest.mark.compute  # imports transformers


def test_theorems_are_held_out_whole_and_equal_questions_have_the_answer_of_the_shortest_proof(lines, tmp_path):
    train, held_out = split(read(str(lines)), 5)
    assert train and held_out
    assert not {row.theorem for row in train} & {row.theorem for row in held_out}
    row = [*read(str(lines))][1]
    found = questions([replace(row, steps_remaining=steps) for steps in (3.0, 1.0, 2.0)])
    assert [each.steps for each in found] == [1.0] and row.prefix in found[0].text
    assert question("⊢ p", "exact h", "intro h") == "Goal:\n⊢ p\n\nPrefix:\nintro h\n\nCandidate tactic:\nexact h"
    named = rows(4)
    bare = [{name: value for name, value in row.items() if name != "theorem"} for row in named]
    found = read(str(jsonl(tmp_path / "bare.jsonl", bare)))
    assert len({row.theorem for row in found}) == len({row["theorem"] for row in named})


def test_the_errors_are_what_they_say_and_lengths_alone_predict_what_they_decide():
    from node.progress.training import baselines, measures  # with transformers' Trainer, which takes seconds

    found = measures([0.0, 1.0, 4.0], [0, 1, 2])
    errors = [found[name] for name in ("mean_absolute_error", "root_mean_squared_error", "rank_correlation")]
    assert errors == pytest.approx([2 / 3, (4 / 3) ** 0.5, 1.0], abs=1e-4)
    assert found["by_distance"]["2"]["mean_absolute_error"] == 2.0
    assert measures([3.0, 1.0, 1.0, 0.0], [0, 1, 1, 2])["rank_correlation"] == -1.0
    assert measures([1.0, 1.0], [0, 1])["rank_correlation"] is None
    asked = [Question(question("⊢ " + "x" * 20 * steps, "simp"), float(steps)) for steps in range(6)]
    found = baselines(asked, asked)
    truth = [each.steps for each in asked]
    assert measures(found["lengths"], truth)["mean_absolute_error"] < 0.01
    assert measures(found["mean"], truth)["mean_absolute_error"] == 1.5


def test_a_model_learns_what_the_data_says_and_a_finished_run_is_not_repeated_nor_another_one_begun(
    trained, lines, capsys
):
    found = json.loads((trained / "summary.json").read_text())["held_out"]
    model, mean = found["model"], found["mean"]
    assert model["mean_absolute_error"] < 0.6 * mean["mean_absolute_error"] and model["rank_correlation"] > 0.8
    before = (trained / "model" / "model.safetensors").stat().st_mtime_ns
    assert command.main(flags(lines, trained, *LEARNING)) == 0
    assert (trained / "model" / "model.safetensors").stat().st_mtime_ns == before
    capsys.readouterr()
    assert command.main(flags(lines, trained, *LEARNING, "--seed", "3")) == 2
    assert "seed was 0, is 3" in capsys.readouterr().err


def test_a_trained_model_is_read_as_leandojo_reads_its_own_and_answers_alike_alone_and_in_a_batch(trained):
    """As its scorer does: transformers' classes, one number for a text of goal, prefix and tactic."""
    tokenizer, kind = AutoTokenizer.from_pretrained(trained / "model"), {"num_labels": 1, "problem_type": "regression"}
    model = AutoModelForSequenceClassification.from_pretrained(trained / "model", **kind)

    def steps(goal, tactic):
        text = f"Goal:\n{goal}\n\nPrefix:\n\n\nCandidate tactic:\n{tactic}\n".strip()
        inputs = tokenizer(text, return_tensors="pt", truncation=True, padding=True)
        return model(**inputs).logits.item()

    assert steps("x y : Nat\n⊢ near (x + 17)", "finish") < steps("x y : Nat\n⊢ farthest (x + 17)", "thrice") - 1
    model = begin(str(trained / "model"), 512, "cpu", seed=0)
    texts = [question(row["goal"], row["tactic"] * length) for row in rows(5) for length in (1, 4)]
    assert model.predict(texts) == pytest.approx([model.predict([text])[0] for text in texts], abs=1e-4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"goal": None}, "line 4: `goal` is missing"),
        ({"tactic": 5}, "line 4: `tactic` is 5; it must be a text"),
        ({"steps_remaining": None}, "line 4: `steps_remaining` is missing"),
        ({"steps_remaining": -1}, "line 4: `steps_remaining` is -1; it must be between 0 and"),
        ({"steps_remaining": "two"}, "line 4: `steps_remaining` is 'two'; it must be a number"),
        ({"steps_remaining": True}, "line 4: `steps_remaining` is True; it must be a number"),
    ],
)
def test_a_row_that_is_wrong_is_one_line_and_code_2(changes, message, tmp_path, capsys):
    found = rows(8)
    found[3] = {name: value for name, value in (found[3] | changes).items() if value is not None}
    data = jsonl(tmp_path / "rows.jsonl", found)
    assert command.main(flags(data, tmp_path / "out")) == 2
    said = capsys.readouterr().err
    assert said.startswith("proofmesh train progress: ") and message in said and said.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--data", "nowhere"], "--data nowhere: no such file or folder"),
        (["--seed", "0", "some/model"], "--from-scratch: give either this flag or the name of a model"),
        (["--shape.heads", "3"], "--shape.width 32: must be a multiple of --shape.heads 3"),
        (["--held-out", "1"], "all theorems are held out"),
        (["--rate", "0"], "--rate: expected `float` > 0.0"),
        (["--data", "empty.jsonl"], "is empty"),
        (["--no-from-scratch", "."], "no config.json"),
    ],
)
def test_what_is_wrong_is_one_line_and_code_2(more, message, lines, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.jsonl").touch()
    assert command.main(flags(lines, tmp_path / "out", *more)) == 2
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1


def test_a_text_has_room_for_a_state():
    command.ProgressSettings(from_scratch=True, max_tokens=8).check()
    with pytest.raises(ValueError, match="max-tokens 7: must be at least 8"):
        command.ProgressSettings(from_scratch=True, max_tokens=7).check()


def test_a_trained_model_is_trained_on_and_an_adapter_is_merged(trained, lines, tmp_path):
    arguments = [str(trained / "model"), "--data", str(lines), "--out", str(tmp_path / "out"), "--device", "cpu"]
    assert command.main([*arguments, "--steps", "2", "--lora", "--lora.rank", "2", "--keep-out"]) == 0
    names = load_file(tmp_path / "out" / "model" / "model.safetensors").keys()
    assert names == load_file(trained / "model" / "model.safetensors").keys()
