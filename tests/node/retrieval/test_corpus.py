"""What a theorem may use: what its file declares above it, and what its imports declare; and BM25, the best of many
scores, nearest vectors, and the measures of rankings."""

import json

import numpy as np
import pytest

from common.lean import Context, Place, Theorem
from common.protocol.attempts import Attempt, Purpose
from node.prover.policies.attempt_policy import AttemptPolicies
from node.prover.policies.sources import MeshSources
from node.prover.settings import ProverSettings
from node.retrieval import index as vectors
from node.retrieval.corpus import (
    MOST_CHARACTERS,
    FileRow,
    PremiseRow,
    RetrievalError,
    corpus_of,
    premise_text,
    query_text,
    read_corpus,
    words,
)
from node.retrieval.index import NearestVectors, PremiseSource, accessible, imported_modules, inverted_file
from node.retrieval.queries import is_held_out, read_queries
from node.retrieval.ranking import Bm25, best_of, difference, rank_of, ranking
from tests.node.retrieval.library import write_library


def file_row(path, imports, *names):
    premises = [PremiseRow(name, f"theorem {name} : True := trivial", (line, 9), (line, 12)) for line, name in names]
    return FileRow(path, imports, tuple(premises))


def names(corpus, mask):
    return {premise.full_name for premise, allowed in zip(corpus.premises, mask, strict=True) if allowed}


@pytest.fixture
def corpus(library_folder):
    return read_corpus(library_folder)


CORPUS = corpus_of(
    [
        file_row("A.lean", (), (1, "a1"), (5, "a2")),
        file_row("B.lean", ("A.lean",), (1, "b1")),
        file_row("C.lean", ("B.lean",), (1, "c1"), (5, "c2"), (9, "c3")),
        file_row("D.lean", (), (1, "d1")),
    ],
    "digest",
)


def test_accessible_is_what_stands_above_and_what_is_imported_directly_or_not_and_a_mask_may_be_changed():
    mask = CORPUS.accessible(CORPUS.file("C.lean"), (5, 1))
    assert names(CORPUS, mask) == {"a1", "a2", "b1", "c1"}  # not c2 itself, not what is below, not D
    assert names(CORPUS, CORPUS.accessible(CORPUS.file("C"))) == {"a1", "a2", "b1", "c1", "c2", "c3"}
    assert names(CORPUS, CORPUS.imported([CORPUS.file("B")])) == {"a1", "a2", "b1"}
    CORPUS.accessible(2)[:] = False
    assert CORPUS.accessible(2).any() and CORPUS.everything().all()


INIT = [
    file_row("Init/Prelude.lean", (), (1, "p")),
    file_row("Init.lean", ("Init/Prelude.lean",), (1, "i")),
    file_row("Mine.lean", (), (1, "m")),
]


@pytest.mark.parametrize(
    ("files", "module", "found"),
    [
        ([file_row("A.lean", ("B.lean",), (1, "a")), file_row("B.lean", ("A.lean",), (1, "b"))], "B", {"a"}),
        (INIT, "Mine", {"p", "i"}),
        (INIT, "Init.Prelude", set()),
        ([file_row(".lake/packages/lib/A.lean", (), (1, "a")), file_row("M.lean", ("A.lean",), (1, "m"))], "M", {"a"}),
    ],
    ids=["imports in a circle", "Init", "what Init needs", "a file in another folder"],
)
def test_imports_are_followed(files, module, found):
    corpus = corpus_of(files, "x")
    assert names(corpus, corpus.accessible(corpus.file(module), (1, 1))) == found


def test_what_is_no_corpus_is_told_in_one_line_and_the_digest_is_that_of_the_file(tmp_path):
    with pytest.raises(RetrievalError, match=r"cannot be read .*; `proofmesh trace --format leandojo` writes"):
        read_corpus(tmp_path)
    (tmp_path / "corpus.jsonl").write_text('{"path": "A.lean"}\n')
    with pytest.raises(RetrievalError, match=r"line 1: not a file of a corpus: .*`imports`"):
        read_corpus(tmp_path)
    (tmp_path / "corpus.jsonl").write_text(json.dumps({"path": "A.lean", "imports": [], "premises": []}))
    with pytest.raises(RetrievalError, match="has no premises"):
        read_corpus(tmp_path)
    with pytest.raises(RetrievalError, match=r"`A.lean` occurs twice"):
        corpus_of([file_row("A.lean", (), (1, "a")), file_row("A.lean", (), (1, "b"))], "x")
    with pytest.raises(RetrievalError, match=r"no file `Nowhere.lean`; name one as the corpus does"):
        CORPUS.file("Nowhere")
    one, two = read_corpus(write_library(tmp_path / "a")), read_corpus(write_library(tmp_path / "b"))
    assert one.digest == two.digest
    (tmp_path / "b" / "corpus.jsonl").write_text((tmp_path / "b" / "corpus.jsonl").read_text().replace("late", "new"))
    assert read_corpus(tmp_path / "b").digest != one.digest


# --- by its header and its file, and what searches get ----------------------------------------------------------------
def test_a_header_and_in_a_file_what_stands_above_say_what_may_be_used_and_never_the_theorem_itself(corpus):
    assert names(corpus, accessible(corpus, "t", "import Lib.Other", None)) == {"Lib.unseen"}
    assert names(corpus, accessible(corpus, "Lib.unseen", "import Lib.Other", None)) == set()
    assert len(names(corpus, accessible(corpus, "t", "", None))) == 26
    assert names(corpus, accessible(corpus, "t", "import Unknown", None)) == set()
    above = "import Lib.Other\n\ntheorem late : True := trivial\n"
    assert names(corpus, accessible(corpus, "t", "", above)) == {"Lib.unseen", "late"}
    assert list(imported_modules("prelude\nimport A.B C -- D\npublic import E\nopen F")) == ["A.B", "C", "E"]


@pytest.mark.compute
async def test_searches_get_the_best_first_and_attempts_tactics_that_name_premises(premise_index):
    source = PremiseSource(premise_index)
    await source.open()
    first, *rest = await source.premises("⊢ kaba a = kaba y", Theorem("t", "", "x"), 4)
    assert (first.name, first.is_proof, len(rest)) == ("Lib.sach_law", True, 3)
    assert first.text == "theorem Lib.sach_law : sach x = sach y"
    placed = Theorem("t", "", "x", place=Place(Context.of("import Lib.Other\n"), "theorem t : x := by "))
    assert [each.name for each in await source.premises("⊢ kaba a", placed, 4)] == ["Lib.unseen"]
    settings = ProverSettings(policy="tactics", premises=str(premise_index))
    policies = AttemptPolicies(None, settings, MeshSources(None, (), (), patience=1.0))
    theorem, eight = Theorem("t", "", "x"), {"simulations": 8, "seed": 0}
    attempt = Attempt(attempt_id="a", theorem_id="t", theorem=theorem, purpose=Purpose.EVAL, **eight)
    advice = await policies.policy(attempt).advise("⊢ kaba a = kaba y", 4, 0)
    by_tactic = {each.tactic: each.source for each in advice.proposals}
    assert by_tactic["rw [Lib.sach_law]"] == "retrieved premises" and "rfl" in by_tactic


# --- states with the premises that their tactics name -----------------------------------------------------------------
def test_held_out_theorems_are_not_among_those_of_training_and_leandojos_splits_say_which_they_are(
    library_folder, corpus, tmp_path
):
    found = read_queries([library_folder], corpus, held_out=10)
    assert len(found.train) + len(found.held_out) == 240 and 10 < len(found.held_out) < 50
    assert all(is_held_out(query.theorem, 10) for query in found.held_out)
    assert not any(is_held_out(query.theorem, 10) for query in found.train)
    assert read_queries([library_folder], corpus, held_out=0).held_out == []
    folder = write_library(tmp_path)
    theorems = json.loads((folder / "theorems.json").read_text())
    (folder / "random").mkdir()
    for name, part in (("train", theorems[:200]), ("val", theorems[200:220]), ("test", theorems[220:])):
        (folder / "random" / f"{name}.json").write_text(json.dumps(part))
    found = read_queries([folder], corpus, held_out=3)
    assert [query.theorem for query in found.train] == [each["full_name"] for each in theorems[:200]]
    assert len(found.held_out) == 40


def test_premises_that_are_unknown_or_may_not_be_used_are_left_out_and_what_is_no_list_is_told(tmp_path, corpus):
    folder = write_library(tmp_path / "library", count=4)
    theorems = json.loads((folder / "theorems.json").read_text())
    for each, (name, path) in zip(theorems, [("Nowhere", ""), ("Lib.unseen", ""), ("late", "Main.lean")], strict=False):
        each["traced_tactics"][0]["annotated_tactic"][1][0] |= {"full_name": name, "def_path": path}
    theorems[3]["traced_tactics"].append(theorems[3]["traced_tactics"][0] | {"annotated_tactic": ["rfl", []]})
    (folder / "theorems.json").write_text(json.dumps(theorems))
    found = read_queries([folder], corpus, held_out=0)
    (query,) = found.train
    assert query.theorem == "main.t4" and corpus.premises[query.positives[0]].full_name.startswith("Lib.")
    assert (found.counts.unknown, found.counts.inaccessible, found.counts.without) == (1, 2, 1)
    with pytest.raises(RetrievalError, match=r"has neither theorems.json nor random/train.json"):
        read_queries([tmp_path], corpus, held_out=0)
    (tmp_path / "theorems.json").write_text('{"no": "list"}')
    with pytest.raises(RetrievalError, match="not a list of LeanDojo's theorems"):
        read_queries([tmp_path], corpus, held_out=0)


# --- premises and states as texts -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "code", "text", "is_proof"),
    [
        (
            "N.a",
            "@[simp] protected theorem a (b : Nat) :\n  b = b := by\n  omega",
            "theorem N.a (b : Nat) : b = b",
            True,
        ),
        ("Foo.bar", "def bar (n : Nat) : Nat :=\n  n + n", "def Foo.bar (n : Nat) : Nat := n + n", False),
        ("T", "inductive T where\n  | leaf\n  | node (l : T)", "inductive T where | leaf | node (l : T)", False),
        ("inst", "deriving instance Repr for T", "declaration inst deriving instance Repr for T", False),
    ],
)
def test_a_premise_is_its_statement_on_one_line(name, code, text, is_proof):
    assert premise_text(name, code) == (text, is_proof)


def test_a_states_conclusion_comes_first_and_words_are_names_their_parts_and_signs():
    assert query_text("n m : Nat\nh : n = m\n⊢ n + 0 = m") == "⊢ n + 0 = m , n m : Nat h : n = m"
    assert query_text("⊢ p\n\ncase b\nh : q\n⊢ q") == "⊢ p | ⊢ q , case b h : q"
    assert len(query_text("x : " + "y " * 9000 + "⊢ p")) == MOST_CHARACTERS
    assert query_text("no goals") == "⊢ no goals"
    assert words("List.map_append (l : α)") == ["List.map_append", "list", ".", "map", "append", *"(l:α)"]
    assert words("getElem?") == ["get", "elem", "?"]


# --- rankings ---------------------------------------------------------------------------------------------------------
SCORES = np.array([1.0, 3.0, 2.0, 3.0, 0.0, 3.0], dtype=np.float32)
MASK = np.array([True, True, True, True, True, False])


def test_the_best_are_within_the_mask_the_first_of_equal_ones_and_their_rank_is_in_the_middle():
    assert best_of(SCORES, MASK, 3) == [1, 3, 2] and best_of(SCORES, MASK, 1) == [1]
    assert best_of(SCORES, MASK, 99) == [1, 3, 2, 0, 4] and best_of(SCORES, np.zeros(6, dtype=bool), 3) == []
    assert rank_of(SCORES, MASK, [2, 4, 1]) == [3, 5, 1]
    assert rank_of(np.zeros(101, dtype=np.float32), np.ones(101, dtype=bool), [0]) == [51]


def test_bm25_finds_what_shares_words(library_folder):
    corpus = read_corpus(library_folder)
    best = Bm25(corpus).best("x : Nat\n⊢ tech x = tech y", corpus.everything(), 2)
    assert corpus.premises[best[0]].full_name == "Lib.tech_law" and Bm25(corpus).scores("⊢ ☃").sum() == 0


def test_measures_of_a_known_ranking():
    found = ranking([[1, 20], [2], [10], [11]], ["a", "b", "b", "c"])
    assert found.recall_1.mean == pytest.approx(0.5 / 4) and found.recall_10.mean == pytest.approx(2.5 / 4)
    assert found.mrr.mean == pytest.approx((1 + 1 / 2 + 1 / 10 + 1 / 11) / 4)
    assert found.recall_10.low <= found.recall_10.mean <= found.recall_10.high
    better = difference([[1]] * 30, [[99]] * 30, [str(number) for number in range(30)])
    assert (better.mean, better.low, better.high) == (1.0, 1.0, 1.0)


def random_vectors(count, width=16):
    """In clusters, as those of encoders are."""
    rng = np.random.default_rng(0)
    found = rng.standard_normal((40, width))[rng.integers(40, size=count)] + 0.4 * rng.standard_normal((count, width))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float16)


def test_an_inverted_file_finds_nearly_what_all_products_rank_highest(monkeypatch):
    monkeypatch.setattr(vectors, "SMALL", 200)
    monkeypatch.setattr(vectors, "EXACT", 200)
    many = random_vectors(4000)
    mask = np.random.default_rng(1).random(4000) < 0.5
    indexed, exact = NearestVectors(many, inverted_file(many)), NearestVectors(many)
    queries = many[:50].astype(np.float32)
    pairs = [(indexed.best(each, mask, 10), exact.best(each, mask, 10)) for each in queries]
    assert all(mask[number] for found, _ in pairs for number, _ in found)
    shared = [len({n for n, _ in found} & {n for n, _ in all_}) for found, all_ in pairs]
    assert np.mean(shared) > 9.5 and all(found[0] == all_[0] for found, all_ in pairs)


def test_few_allowed_ones_are_all_found_wherever_they_are(monkeypatch):
    monkeypatch.setattr(vectors, "SMALL", 200)
    monkeypatch.setattr(vectors, "EXACT", 2)
    many = random_vectors(4000)
    mask = np.zeros(4000, dtype=bool)
    mask[[5, 1000, 3999]] = True
    found = NearestVectors(many, inverted_file(many)).best(many[77].astype(np.float32), mask, 10)
    assert {number for number, _ in found} == {5, 1000, 3999}
    assert NearestVectors(many).best(many[0].astype(np.float32), np.zeros(4000, dtype=bool), 5) == []
