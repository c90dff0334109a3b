"""States with the premises that their tactics name."""

import json

import pytest

from node.retrieval.corpus import RetrievalError, read_corpus
from node.retrieval.queries import is_held_out, read_queries
from tests.node.retrieval.library import write_library


@pytest.fixture
def corpus(library_folder):
    return read_corpus(library_folder)


def test_held_out_theorems_are_not_among_those_of_training(library_folder, corpus):
    found = read_queries([library_folder], corpus, held_out=10)
    assert len(found.train) + len(found.held_out) == 240 and 10 < len(found.held_out) < 50
    assert all(is_held_out(query.theorem, 10) for query in found.held_out)
    assert not any(is_held_out(query.theorem, 10) for query in found.train)
    assert read_queries([library_folder], corpus, held_out=0).held_out == []


def test_premises_that_are_unknown_or_may_not_be_used_are_counted_and_left_out(tmp_path, corpus):
    folder = write_library(tmp_path, count=4)
    theorems = json.loads((folder / "theorems.json").read_text())
    for each, (name, path) in zip(theorems, [("Nowhere", ""), ("Lib.unseen", ""), ("late", "Main.lean")], strict=False):
        each["traced_tactics"][0]["annotated_tactic"][1][0] |= {"full_name": name, "def_path": path}
    theorems[3]["traced_tactics"].append(theorems[3]["traced_tactics"][0] | {"annotated_tactic": ["rfl", []]})
    (folder / "theorems.json").write_text(json.dumps(theorems))
    found = read_queries([folder], corpus, held_out=0)
    (query,) = found.train
    assert query.theorem == "main.t4" and corpus.premises[query.positives[0]].full_name.startswith("Lib.")
    assert (found.counts.unknown, found.counts.inaccessible, found.counts.without) == (1, 2, 1)


def test_leandojos_splits_say_what_is_held_out(tmp_path, corpus):
    folder = write_library(tmp_path)
    theorems = json.loads((folder / "theorems.json").read_text())
    (folder / "random").mkdir()
    for name, part in (("train", theorems[:200]), ("val", theorems[200:220]), ("test", theorems[220:])):
        (folder / "random" / f"{name}.json").write_text(json.dumps(part))
    found = read_queries([folder], corpus, held_out=3)
    assert [query.theorem for query in found.train] == [each["full_name"] for each in theorems[:200]]
    assert len(found.held_out) == 40


def test_what_is_no_list_of_theorems_is_told(tmp_path, corpus):
    with pytest.raises(RetrievalError, match=r"has neither theorems.json nor random/train.json"):
        read_queries([tmp_path], corpus, held_out=0)
    (tmp_path / "theorems.json").write_text('{"no": "list"}')
    with pytest.raises(RetrievalError, match="not a list of LeanDojo's theorems"):
        read_queries([tmp_path], corpus, held_out=0)
