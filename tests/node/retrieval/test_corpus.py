"""What a theorem may use: what its file declares above it, and what its imports declare."""

import json

import pytest

from node.retrieval.corpus import FileRow, PremiseRow, RetrievalError, corpus_of, read_corpus
from tests.node.retrieval.library import write_library


def file_row(path, imports, *names):
    premises = [PremiseRow(name, f"theorem {name} : True := trivial", (line, 9), (line, 12)) for line, name in names]
    return FileRow(path, imports, tuple(premises))


def names(corpus, mask):
    return {premise.full_name for premise, allowed in zip(corpus.premises, mask, strict=True) if allowed}


CORPUS = corpus_of(
    [
        file_row("A.lean", (), (1, "a1"), (5, "a2")),
        file_row("B.lean", ("A.lean",), (1, "b1")),
        file_row("C.lean", ("B.lean",), (1, "c1"), (5, "c2"), (9, "c3")),
        file_row("D.lean", (), (1, "d1")),
    ],
    "digest",
)


def test_accessible_is_what_stands_above_and_what_is_imported_directly_or_not():
    mask = CORPUS.accessible(CORPUS.file("C.lean"), (5, 1))
    assert names(CORPUS, mask) == {"a1", "a2", "b1", "c1"}  # not c2 itself, not what is below, not D
    assert names(CORPUS, CORPUS.accessible(CORPUS.file("C"))) == {"a1", "a2", "b1", "c1", "c2", "c3"}
    assert names(CORPUS, CORPUS.imported([CORPUS.file("B")])) == {"a1", "a2", "b1"}


def test_a_mask_that_was_given_out_may_be_changed():
    CORPUS.accessible(2)[:] = False
    assert CORPUS.accessible(2).any() and CORPUS.everything().all()


def test_files_that_import_each_other_end():
    corpus = corpus_of([file_row("A.lean", ("B.lean",), (1, "a")), file_row("B.lean", ("A.lean",), (1, "b"))], "x")
    assert names(corpus, corpus.imported([0])) == {"a", "b"}


def test_every_file_imports_init_but_those_that_init_needs():
    corpus = corpus_of(
        [
            file_row("Init/Prelude.lean", (), (1, "p")),
            file_row("Init.lean", ("Init/Prelude.lean",), (1, "i")),
            file_row("Mine.lean", (), (1, "m")),
        ],
        "x",
    )
    assert names(corpus, corpus.accessible(2, (1, 1))) == {"p", "i"}
    assert names(corpus, corpus.accessible(0, (1, 1))) == set()


def test_imports_by_module_find_files_in_other_folders():
    corpus = corpus_of(
        [file_row(".lake/packages/lib/Lib/A.lean", (), (1, "a")), file_row("Main.lean", ("Lib/A.lean",), (1, "m"))], "x"
    )
    assert names(corpus, corpus.accessible(corpus.file("Main"), (1, 1))) == {"a"}
    assert corpus.file("Lib.A") == 0


def test_what_is_no_corpus_is_told_in_one_line(tmp_path):
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


def test_the_digest_is_that_of_the_file(tmp_path):
    one, two = read_corpus(write_library(tmp_path / "a")), read_corpus(write_library(tmp_path / "b"))
    assert one.digest == two.digest
    (tmp_path / "b" / "corpus.jsonl").write_text((tmp_path / "b" / "corpus.jsonl").read_text().replace("late", "new"))
    assert read_corpus(tmp_path / "b").digest != one.digest
