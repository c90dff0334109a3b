from pathlib import Path

import pytest

from common.curves import ABOUT, METRICS, About, Tail, encode_line, read_about, write_about
from common.files import append_line
from tests.files import limited_files


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
