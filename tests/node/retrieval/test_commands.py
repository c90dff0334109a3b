"""`proofmesh train retriever` and `proofmesh premises`, on a made-up library; each command in this process, but for one
that is killed."""

import asyncio
import io
import json
import shutil
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file

from node.data.errors import NotFinite
from node.retrieval import command, index, train_command
from node.retrieval.corpus import RetrievalError, read_corpus
from node.retrieval.index import PremiseIndex
from node.retrieval.queries import read_queries
from node.retrieval.train_command import RetrieverSettings, Shape
from node.tuning.run_folder import RunFolder
from tests.files import truncate
from tests.node.retrieval.conftest import SHAPE
from tests.waiting import eventually

pytestmark = pytest.mark.compute


def test_training_ranks_premises_of_held_out_theorems_above_bm25_and_does_nothing_again(
    retriever, library_folder, capfd
):
    found = json.loads((retriever / "evaluation.json").read_text())
    assert found["after"]["dense"]["recall_10"]["mean"] > 0.9 > 0.6 > found["before"]["dense"]["recall_10"]["mean"]
    assert found["after"]["advantage"]["low"] > 0.2 and (retriever / "model" / "modules.json").is_file()
    steps = [json.loads(line)["step"] for line in (retriever / "metrics.jsonl").read_text().splitlines()]
    assert steps == sorted(steps) and steps[-1] == 60
    before = (retriever / "model" / "model.safetensors").read_bytes()
    arguments = ["--data", str(library_folder), "--out", str(retriever), *SHAPE, "--batch", "16", "--rate", "0.05"]
    assert train_command.main([*arguments, "--steps", "60"]) == 0
    assert (retriever / "model" / "model.safetensors").read_bytes() == before
    assert train_command.main([*arguments, "--steps", "50"]) == 2
    assert "holds a run with other settings (steps was 60, is 50)" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--data is missing"),
        (["--data", "X"], "--from-scratch: give either this flag or --base MODEL"),
        (["--data", "nowhere", "--from-scratch"], "nowhere/corpus.jsonl: cannot be read"),
        (["--data", "LIBRARY", "--base", "./nowhere"], "./nowhere: no such folder"),
        (["--data", "LIBRARY", "--base", "LIBRARY"], "has no model"),
        (["--data", "LIBRARY", "--from-scratch", "--negatives", "500"], "0 training examples remain"),
        (["--data", "LIBRARY", "--from-scratch", "--held-out", "1"], "no state to train on"),
        (["--data", "X", "--from-scratch", "--shape.width", "30"], "must be a multiple of --shape.heads"),
        (["--data", "X", "--from-scratch", "--batch", "0"], "--batch"),
    ],
)
def test_what_cannot_be_trained_is_told_in_one_line(library_folder, tmp_path, monkeypatch, capfd, arguments, said):
    monkeypatch.chdir(tmp_path)
    given = [str(library_folder) if each == "LIBRARY" else each for each in arguments]
    assert train_command.main([*given, "--out", str(tmp_path / "out")]) == 2
    *_, last = capfd.readouterr().err.strip().splitlines()
    assert last.startswith("proofmesh train retriever: ") and said in last


@pytest.mark.slow
def test_a_loss_that_is_no_number_ends_the_training_and_is_in_no_checkpoint(library_folder, tmp_path):
    from node.retrieval.training import begin_model, train  # with sentence-transformers, which takes a second

    settings = RetrieverSettings([library_folder], from_scratch=True, shape=Shape(width=8), save_every=1, steps=9)
    corpus = read_corpus(library_folder)
    queries = read_queries(settings.data, corpus, held_out=10)
    folder = RunFolder(tmp_path / "out")
    folder.begin({"kind": "retriever"})
    model = begin_model(settings, corpus, queries.train)
    next(model.parameters()).data[:] = float("nan")
    with pytest.raises(NotFinite, match=r"loss of step 1 is not a number; there is no checkpoint yet.*smaller --rate"):
        train(model, queries.train, corpus, folder, settings)
    assert folder.last() is None and not folder.model.exists()


def test_search_finds_what_was_trained_and_only_what_may_be_used_and_eval_tells_recall_beside_bm25(
    premise_index, capsys, monkeypatch, library_folder
):
    def found(*more):
        arguments = ["search", "x : Nat\\n⊢ kaba a b = kaba y", "--index", str(premise_index), "--json", *more]
        assert command.main(arguments) == 0
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    rows = found("--count", "3")
    assert (rows[0]["name"], rows[0]["file"], len(rows)) == ("Lib.sach_law", "Lib/Basic.lean", 3)
    assert [row["name"] for row in found("--accessible-from", "Lib.Other")] == ["Lib.unseen"]
    above = found("--file", "Lib/Basic.lean", "--line", "3")
    assert {row["name"] for row in above} == {"Lib.sach_law", "Lib.sand_law"}
    monkeypatch.setattr("sys.stdin", io.StringIO("⊢ kaba x = y"))
    assert command.main(["search", "-", "--index", str(premise_index), "--count", "1"]) == 0
    assert "Lib.sach_law" in capsys.readouterr().out
    assert command.main(["eval", "--index", str(premise_index), "--data", str(library_folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["dense"]["queries"] == found["bm25"]["queries"] > 10
    assert found["accessible"] == 24 and found["dense"]["recall_10"]["mean"] > found["bm25"]["recall_10"]["mean"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["find"], "no command `find`; name one of index, search, eval"),
        (["search", "⊢ p", "--index", "nowhere"], "nowhere: has no index of premises"),
        (["search", " ", "--index", "INDEX"], "the state is empty"),
        (["search", "⊢ p", "--index", "INDEX", "--line", "3"], "--line needs a file"),
        (["search", "⊢ p", "--index", "INDEX", "--file", "Gone.lean"], "no file `Gone.lean`"),
        (["eval", "--index", "INDEX"], "--data is missing"),
        (["index", "--corpus", "nowhere", "--model", "m"], "nowhere/corpus.jsonl: cannot be read"),
        (["index", "--corpus", "LIBRARY", "--model", "MODEL", "--out", "LIBRARY"], "something else (no index.json)"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_line(
    library_folder, retriever, premise_index, tmp_path, monkeypatch, capfd, arguments, said
):
    monkeypatch.chdir(tmp_path)
    places = {"INDEX": str(premise_index), "LIBRARY": str(library_folder), "MODEL": str(retriever)}
    assert command.main([places.get(each, each) for each in arguments]) == 2
    line = capfd.readouterr().err.strip().splitlines()[-1]
    assert line.startswith("proofmesh premises: ") and said in line


def test_an_index_that_was_interrupted_goes_on_and_is_the_same_and_a_damaged_one_is_told(
    library_folder, premise_index, tmp_path, monkeypatch
):
    monkeypatch.setattr(index, "PART", 8)
    corpus, whole = read_corpus(library_folder), PremiseIndex(premise_index)
    encoded = []

    def counted(model, texts):
        if len(encoded) == 2:
            raise KeyboardInterrupt
        encoded.append(len(texts))
        return whole_encode(model, texts)

    whole_encode = index.encode_premises
    monkeypatch.setattr(index, "encode_premises", counted)
    with pytest.raises(KeyboardInterrupt):
        index.build(tmp_path / "out", corpus, whole.model, "m")
    with pytest.raises(RetrievalError, match="no index of premises"):
        PremiseIndex(tmp_path / "out")
    encoded.append(-1)
    assert index.build(tmp_path / "out", corpus, whole.model, "m") is True
    assert encoded == [8, 8, -1, 8, 2] and np.array_equal(PremiseIndex(tmp_path / "out").vectors, whole.vectors)
    assert index.build(tmp_path / "out", corpus, whole.model, "elsewhere") is False
    assert {path.name for path in (tmp_path / "out").iterdir()} == {path.name for path in premise_index.iterdir()}
    folder = shutil.copytree(premise_index, tmp_path / "copy")
    truncate(folder / "vectors.npy")
    with pytest.raises(RetrievalError, match=r"the index is damaged .*make it again with --force"):
        PremiseIndex(folder)


# --- a training that is killed ----------------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.process
async def test_a_killed_training_ends_with_the_weights_of_one_that_was_not(library_folder, tmp_path):
    async def started(out):
        arguments = ["--data", str(library_folder), "--out", str(out), *SHAPE, "--steps", "400", "--batch", "16"]
        entry = "import sys; from node.retrieval.train_command import main; sys.exit(main(sys.argv[1:]))"
        line = [sys.executable, "-c", entry, *arguments, "--save-every", "20", "--log-every", "5"]
        return await asyncio.create_subprocess_exec(*line, stderr=asyncio.subprocess.DEVNULL)

    child = await started(tmp_path / "killed")
    checkpoints = tmp_path / "killed" / "checkpoints"
    try:
        await eventually(lambda: len(list(checkpoints.glob("*/complete.json"))) >= 2, timeout=120)
    finally:
        child.kill()
        await child.wait()
    assert not (tmp_path / "killed" / "model").exists()
    half_written = checkpoints / "checkpoint-999"
    half_written.mkdir()
    (half_written / "model.safetensors").write_bytes(b"half")
    for name in ("killed", "whole"):
        assert await (await started(tmp_path / name)).wait() == 0
    killed, whole = (load_file(tmp_path / name / "model" / "model.safetensors") for name in ("killed", "whole"))
    assert all((killed[key] == whole[key]).all() for key in whole)
    lines = (tmp_path / "killed" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == list(range(5, 401, 5)) and not half_written.exists()
