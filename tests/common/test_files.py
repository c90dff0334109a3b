import os
from pathlib import Path

import pytest

from common.curves import ABOUT, METRICS, About, Tail, encode_line, read_about, write_about
from common.files import append_line, copy_folder_whole, replacing, write_whole
from common.run_folder import changes, cut_torn_line, explained, owned
from tests.files import limited_files


def test_a_file_is_replaced_whole_or_left_as_it_was_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    write_whole(path, b"older")
    write_whole(path, b"old")
    with limited_files(1000), pytest.raises(OSError):
        write_whole(path, b"x" * 5000)
    with pytest.raises(ValueError), replacing(path) as temporary:
        temporary.write_bytes(b"half")
        raise ValueError
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_a_folder_is_copied_whole_or_not_at_all(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "a").write_bytes(b"x" * 5000)
    target = tmp_path / "copies" / "target"
    with limited_files(1000), pytest.raises(OSError):
        copy_folder_whole(source, target)
    assert list(target.parent.iterdir()) == []
    copy_folder_whole(source, target)
    assert (target / "a").read_bytes() == (source / "a").read_bytes()
    (source / "a").write_bytes(b"other")
    copy_folder_whole(source, target)
    assert len((target / "a").read_bytes()) == 5000 and list(target.parent.iterdir()) == [target]


def test_a_tail_reads_what_is_new_and_leaves_a_torn_line_for_later(tmp_path: Path) -> None:
    file = tmp_path / METRICS
    tail = Tail(file)
    assert tail.read().points == []
    lines = [encode_line(float(step), step, {"loss": 1.0 / (step + 1)}) for step in range(3)]
    file.write_bytes(lines[0] + b"not a line\n" + lines[1] + lines[2][:10])
    first = tail.read()
    assert [point.step for point in first.points] == [0, 1] and first.again
    with file.open("ab") as more:
        more.write(lines[2][10:])
    second = tail.read()
    assert [(point.step, point.values) for point in second.points] == [(2, {"loss": 1 / 3})] and not second.again
    assert tail.read().points == []


def test_a_run_that_took_lines_back_is_read_again(tmp_path: Path) -> None:
    file, part = tmp_path / METRICS, tmp_path / "part"
    lines = [encode_line(0.0, step, {}) for step in range(5)]
    file.write_bytes(b"".join(lines))
    tail = Tail(file)
    tail.read()
    part.write_bytes(b"".join([*lines[:2], *lines[:4]]))  # longer than it was: only the file itself tells
    part.replace(file)
    news = tail.read()
    assert news.again and [point.step for point in news.points] == [0, 1, 0, 1, 2, 3]
    file.write_bytes(lines[0])
    assert tail.read().again


def test_a_folder_says_what_it_holds_or_is_none(tmp_path: Path) -> None:
    assert read_about(tmp_path) is None
    about = About(stage="sft", steps=10, parameters=5, started=2.0)
    write_about(tmp_path, about)
    assert read_about(tmp_path) == about
    (tmp_path / ABOUT).write_bytes(b'{"stage": "sf')
    assert read_about(tmp_path) is None


def test_line_is_appended_whole_or_not_at_all_and_a_torn_one_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    append_line(path, b'{"step": 1}\n')
    with limited_files(path.stat().st_size + 5), pytest.raises(OSError):
        append_line(path, b'{"step": 2, "values": "many"}\n')
    assert path.read_bytes() == b'{"step": 1}\n'
    path.write_bytes(path.read_bytes() + b'{"st')
    append_line(path, b'{"step": 3}\n')
    assert path.read_bytes().split(b"\n") == [b'{"step": 1}', b'{"st', b'{"step": 3}', b""]


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
    told = "gone was 1, is None\nmodel.width was 64, is 128\n" + f"new was None, is {'x' * 57}..."
    assert "\n".join(map(str, changes(before, now))) == told and changes(now, now) == []


def test_a_torn_line_is_cut_whole_lines_stay(tmp_path):
    file = tmp_path / "lines"
    cut_torn_line(file)
    for line in (b"one\n", b"two\n"):
        append_line(file, line)
    file.write_bytes(file.read_bytes() + b"thr")
    for _ in range(2):
        cut_torn_line(file)
        assert file.read_bytes() == b"one\ntwo\n"


def test_an_unwritable_folder_is_explained_in_the_words_of_its_kind(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InUse, match=r"file.*cannot be written \(.+\)"), explained(tmp_path, InUse):
        os.mkdir(tmp_path / "file" / "run")  # noqa: PTH102 (an OSError of the system, with a file name)
