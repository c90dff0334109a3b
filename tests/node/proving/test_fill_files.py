"""Files are replaced whole, or left as they are."""

import os
import stat

import pytest

from node.proving.fill_run import NotWritten, write_file


def test_a_file_is_replaced_with_its_mode_and_through_links(tmp_path):
    file, link = tmp_path / "x.lean", tmp_path / "link.lean"
    file.write_bytes(b"old")
    file.chmod(0o640)
    link.symlink_to(file)
    write_file(link, b"old", b"new")
    assert file.read_bytes() == b"new" and stat.S_IMODE(file.stat().st_mode) == 0o640 and link.is_symlink()
    assert [each.name for each in sorted(tmp_path.iterdir())] == ["link.lean", "x.lean"]


def test_a_file_that_has_changed_is_left_and_so_is_one_that_is_gone(tmp_path):
    file = tmp_path / "x.lean"
    file.write_bytes(b"other")
    with pytest.raises(NotWritten, match="has changed"):
        write_file(file, b"old", b"new")
    assert file.read_bytes() == b"other" and len(list(tmp_path.iterdir())) == 1
    file.unlink()
    with pytest.raises(NotWritten, match="No such file"):
        write_file(file, b"old", b"new")


def test_a_write_protected_file_is_left_also_by_root(tmp_path):
    file = tmp_path / "x.lean"
    file.write_bytes(b"old")
    file.chmod(0o444)
    with pytest.raises(NotWritten, match="write-protected"):
        write_file(file, b"old", b"new")
    assert file.read_bytes() == b"old"


def test_a_folder_that_takes_no_file_is_told(tmp_path, monkeypatch):
    """As a file system that is mounted read-only says it; root passes over permission bits."""
    file = tmp_path / "x.lean"
    file.write_bytes(b"old")

    def refused(*_: object, **__: object) -> None:
        raise OSError(30, os.strerror(30))

    monkeypatch.setattr("tempfile.mkstemp", refused)
    with pytest.raises(NotWritten, match="Read-only file system"):
        write_file(file, b"old", b"new")
