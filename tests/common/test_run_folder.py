import os
from pathlib import Path

import pytest

from common.files import append_line
from common.run_folder import changes, cut_torn_line, explained, owned

ROOT = Path(__file__).parents[2]


class InUse(Exception):
    pass


def test_a_second_owner_is_refused_and_gets_the_folder_when_the_first_is_done(tmp_path):
    with owned(tmp_path / "run", InUse), pytest.raises(InUse), owned(tmp_path / "run", InUse):
        pass
    with owned(tmp_path / "run", InUse):
        pass


def test_changes_name_settings_in_sections_and_those_that_a_side_lacks():
    before = {"model": {"width": 64, "depth": 2}, "seed": 0, "gone": 1}
    now = {"model": {"width": 128, "depth": 2}, "seed": 0, "new": "x" * 100}
    assert [str(each) for each in changes(before, now)] == [
        "gone was 1, is None",
        "model.width was 64, is 128",
        f"new was None, is {'x' * 57}...",
    ]
    assert changes(now, now) == []


def test_a_torn_line_is_cut_whole_lines_stay(tmp_path):
    file = tmp_path / "lines"
    cut_torn_line(file)
    append_line(file, b"one\n")
    append_line(file, b"two\n")
    with file.open("ab") as handle:
        handle.write(b"thr")
    for _ in range(2):
        cut_torn_line(file)
        assert file.read_bytes() == b"one\ntwo\n"


def test_an_unwritable_folder_is_explained_in_the_words_of_its_kind(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InUse, match=r"file.*cannot be written \(.+\)"), explained(tmp_path, InUse):
        os.mkdir(tmp_path / "file" / "run")  # noqa: PTH102 (an OSError of the system, with a file name)
