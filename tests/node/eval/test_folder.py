"""The folder of an evaluation: kept records, torn lines, one process at a time, one evaluation."""

import pytest

from node.eval.folder import ATTEMPTS, Budgets, EvaluationFolder, FolderError, read
from node.prover.search.parameters import SearchParameters
from tests.files import limited_files
from tests.node.eval.small import plan, solved, statement, unsolved


def begun(path, *records):
    with EvaluationFolder(path) as folder:
        folder.begin(plan())
        folder.write(plan(), [statement("a"), statement("b")])
        for record in records:
            folder.add(record)


def test_half_a_line_of_a_killed_process_is_cut_off_and_the_next_record_is_whole(tmp_path):
    begun(tmp_path, solved("a"))
    with (tmp_path / ATTEMPTS).open("ab") as file:
        file.write(b'{"name": "b", "numb')
    assert read(tmp_path).attempts == (solved("a"),)
    with EvaluationFolder(tmp_path) as folder:
        assert folder.begin(plan()).attempts == (solved("a"),)
        folder.add(unsolved("b"))
    assert read(tmp_path).attempts == (solved("a"), unsolved("b"))


def test_a_record_that_does_not_fit_on_the_disk_is_told_and_goes_when_the_evaluation_goes_on(tmp_path):
    begun(tmp_path, solved("a"))
    with EvaluationFolder(tmp_path) as folder:
        folder.begin(plan())
        before = (tmp_path / ATTEMPTS).stat().st_size
        with limited_files(before + 20), pytest.raises(FolderError, match="cannot be written"):
            folder.add(unsolved("b"))
        assert (tmp_path / ATTEMPTS).stat().st_size == before, "not half a record"
    with EvaluationFolder(tmp_path) as folder:
        folder.begin(plan())
        folder.add(unsolved("b"))
    assert read(tmp_path).attempts == (solved("a"), unsolved("b"))


def test_a_folder_holds_one_evaluation(tmp_path):
    begun(tmp_path)
    other = plan(budgets=Budgets(simulations=128), seed=7)
    with EvaluationFolder(tmp_path) as folder, pytest.raises(FolderError) as problem:
        folder.begin(other)
    assert "budgets.simulations was 64 and is 128; seed was 0 and is 7" in str(problem.value)
    with EvaluationFolder(tmp_path) as folder, pytest.raises(FolderError, match=r"search\.c_base was .* and is 200"):
        folder.begin(plan(search=SearchParameters(c_base=200.0).changes()))


def test_one_process_works_on_a_folder(tmp_path):
    with EvaluationFolder(tmp_path), pytest.raises(FolderError, match="another evaluation is running in this folder"):
        EvaluationFolder(tmp_path)
    with EvaluationFolder(tmp_path):
        pass


def test_a_damaged_line_is_named(tmp_path):
    begun(tmp_path, solved("a"))
    with (tmp_path / ATTEMPTS).open("ab") as file:
        file.write(b"oops\n")
    with pytest.raises(FolderError, match=r"attempts\.jsonl, line 2: cannot be read"):
        read(tmp_path)
