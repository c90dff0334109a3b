"""How sources of training data are named: one grammar, the old spellings, and what is refused."""

import json
from pathlib import Path

import pytest

from node.data import grammar, reading, tables
from node.data.errors import InputError
from node.data.grammar import PROGRESS, Source, modern
from node.data.rows import Step
from node.tuning.run_folder import RunFolder
from tests.node.training.small import rows, write_jsonl


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("transitions:bank", Source("transitions", "bank")),
        ("transitions:bank@all*0.25", Source("transitions", "bank", "all", 0.25)),
        ("text:hub:ORG/NAME/CONFIG@valid", Source("text", "hub:ORG/NAME/CONFIG", "valid")),
        ("lean:src/**/*.lean*3", Source("lean", "src/**/*.lean", "", 3.0)),
        ("proofs:traces/repo@1a2b/*.jsonl", Source("proofs", "traces/repo@1a2b/*.jsonl")),
    ],
)
def test_a_stage_names_its_sources(text: str, source: Source) -> None:
    assert tables.parse(text) == tables.parse(str(source)) == source


def test_other_trainers_need_no_kind_and_a_file_may_have_an_at_in_its_name(tmp_path: Path) -> None:
    assert reading.parse("runs/first") == Source("", "runs/first")
    assert grammar.parse("bank@warm", (PROGRESS,), PROGRESS) == Source("progress", "bank", "warm")
    (tmp_path / "repo@1a2b").mkdir()
    assert reading.parse(f"proofs:{tmp_path}/repo@1a2b") == Source("proofs", f"{tmp_path}/repo@1a2b")
    assert reading.parse(f"{tmp_path}/repo@val").split == "val"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("bank-all", "bank@all"),
        ("bank:my/bank", "my/bank@warm"),
        ("bank-all:my/bank", "my/bank@all"),
        ("transitions:bank-all*2", "transitions:bank@all*2"),
        ("proofs:bank-all-mine", "proofs:bank-all-mine"),
        ("transitions:bank", "transitions:bank"),
    ],
)
def test_old_spellings_are_read_with_a_note_that_names_the_new_one(old, new, capsys):
    grammar._note.cache_clear()
    assert modern(old) == new
    parse = tables.parse if old.startswith(("transitions", "proofs")) else reading.parse
    assert parse(old) == parse(old) == parse(new)
    noted = f"data `{old}`: write `{new}`; the old spelling is still read\n" if old != new else ""
    assert capsys.readouterr().err == noted


def test_the_order_of_rows_and_a_run_do_not_depend_on_the_spelling_of_the_data(tmp_path: Path) -> None:
    assert tables.parse("transitions:bank@all").seed == ("transitions", "bank-all")
    assert tables.parse("text:hub:a/b").seed == ("text", "hub:a/b")
    folder = RunFolder(tmp_path)
    folder.begin({"data": ["bank-all", "bank:mine"], "steps": 3})
    folder.check({"data": ["bank@all", "mine@warm"], "steps": 3})
    with pytest.raises(InputError, match="data was"):
        folder.check({"data": ["bank", "mine@warm"], "steps": 3})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("bank", "expected KIND:WHERE with KIND one of text, lean"),
        ("nothing:bank", "expected KIND:WHERE"),
        ("pairs:a.jsonl", "no prompts with completions, used unchanged are read here, but text or lean"),
        ("text:bank*0", "the weight must be more than 0"),
        ("text:", "expected KIND:WHERE"),
    ],
)
def test_names_that_are_none_are_refused(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        tables.parse(text)


def test_splits_and_weights_are_refused_where_they_mean_nothing(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "t.jsonl", rows(3))
    with pytest.raises(InputError, match="only banks and LeanDojo's folders have splits"):
        reading.read(reading.parse(f"{file}@val"))
    with pytest.raises(InputError, match="only banks, LeanDojo's folders and datasets of the hub have splits"):
        tables.open_source(tables.parse(f"transitions:{file}@val"))
    with pytest.raises(InputError, match="a bank has the splits warm and all"):
        reading.read(reading.parse("bank@test"))
    with pytest.raises(InputError, match="sources have no weights here"):
        reading.parse("bank*2")


def test_a_kind_reads_its_rows_alone_and_a_stage_reads_folders(tmp_path: Path) -> None:
    step = {"file": "A.lean", "theorem": "t", "state": "⊢ p", "tactic": "simp", "remaining_steps": 2}
    write_jsonl(tmp_path / "steps.jsonl", [step])
    [read] = reading.READERS["transitions"](reading.parse(f"transitions:{tmp_path}"))
    assert read == Step("A.lean:t", "⊢ p", "simp", remaining=2)
    assert reading.read(reading.parse(f"proofs:{tmp_path}")).is_empty
    [row] = tables.open_source(tables.parse(f"transitions:{tmp_path}")).once(9)
    assert row == {"theorem": "A.lean:t", "state": "⊢ p", "tactic": "simp", "remaining_steps": 2}
    theorem = {"full_name": "t", "traced_tactics": [{"tactic": "simp", "state_before": "⊢ p"}]}
    (tmp_path / "dojo").mkdir()
    (tmp_path / "dojo/train.json").write_text(json.dumps([theorem]))
    with pytest.raises(InputError, match="do not say how many remain"):
        tables.open_source(tables.parse(f"transitions:{tmp_path}/dojo"))
    warm = next(iter(tables.open_source(tables.parse("transitions:bank")).once(1)))
    assert {"theorem", "state", "tactic", "remaining_steps"} <= set(warm)
