from pathlib import Path

import pytest

from common.files import copy_folder_whole, replacing, write_whole
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
