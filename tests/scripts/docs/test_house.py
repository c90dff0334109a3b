"""Counts of the code's structure, on a small tree and on the real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.docs import house

TREE = {
    "a/__init__.py": "",
    "a/user.py": '''"""Uses others."""

from a.room import (
    low,
    high,
)

TEXT = """
# no comment
"""
# a comment
ENTRY = "a.entry:main"
''',
    "a/entry.py": "import a.user  # not a line of its own\n\n\ndef main():\n    from a.room import low\n",
    "a/room/__init__.py": '"""A room."""\n',
    "a/room/low.py": "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from a.room import high\n",
    "a/room/middle.py": "from a.room.low import x\n",
    "a/room/high.py": "from a.room import middle\n" + "x = 1\n" * 150,
    "a/room/page.py": "x = 1\n",
    "a/run.py": 'PAGES = ("page",)\nNAMES = [f"a.room.{each}:main" for each in PAGES]\nFILE = "alone.py"\n',
    "a/alone.py": "x = 1\n",
    "tests/__init__.py": "",
    "tests/test_a.py": "from a.room import page\nfrom a import run\n",
    "Justfile": "run:\n    python -m a.run\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in TREE.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def test_files_and_lines_are_counted_without_tests_and_without_lines_of_strings(tree: Path) -> None:
    counts = house.static(tree)
    files = house.read(tree)
    assert counts["total"]["files"] == sum(name.startswith("a/") for name in TREE)
    assert counts["total"]["lines"] == sum(text.count("\n") for name, text in TREE.items() if name.startswith("a/"))
    user = files["a.user"]
    assert (user.lines, user.blank, user.imports, user.comments) == (12, 2, 4, 1)
    assert (files["a.entry"].imports, files["a.entry"].comments) == (2, 0)


def test_importers_are_imports_anywhere_and_entry_points_in_strings(tree: Path) -> None:
    found = house.importers(house.read(tree), tree)
    assert found["a.room.low"] == {"a.user", "a.entry", "a.room.middle"}
    assert found["a.room.high"] == {"a.user", "a.room.low"}
    assert found["a.entry"] == {"a.user"} and found["a.user"] == {"a.entry"}
    assert found["a.room.page"] == found["a.alone"] == {"a.run"}
    assert found["a.run"] == {"Justfile"}
    counts = house.static(tree)
    small = {"a.user", "a.entry", "a.room.page", "a.alone", "a.run", "a.room.middle"}
    assert counts["one_importer_small"]["importer_of"].keys() == small
    assert counts["one_importer"]["files"] == len(small)
    assert counts["one_importer"]["importer_in_same_room"] == len(small - {"a.room.page", "a.run"})
