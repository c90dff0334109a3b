"""Collecting files from paths, and ordering them by their imports."""

from pathlib import Path

from node.lean.check.files.sources import SourceFile, collect, in_order
from node.lean.text.statement import imports_of


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder.joinpath(*name.split("__")).with_suffix(".lean")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def only(folder: Path) -> dict[str, SourceFile]:
    (group,) = collect([folder])
    return {each.module: each for each in group}


def test_imports_stand_in_the_header_alone() -> None:
    text = (
        "/- import No -/\nimport A.B\npublic import C -- import D\nimport all E\ntheorem a : 1 = 1 := rfl\nimport F\n"
    )
    assert imports_of(text) == ("A.B", "C", "E")


def test_modules_are_named_by_their_path_and_hidden_folders_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, A="", Sub__B="")
    write(tmp_path / ".lake", X="")
    (tmp_path / "lakefile.lean").write_text("")
    assert set(only(tmp_path)) == {"A", "Sub.B"}


def test_a_file_that_is_imported_comes_along_unwanted(tmp_path: Path) -> None:
    write(tmp_path, A="import Sub.B\n", Sub__B="import Other\n", C="")
    (group,) = collect([tmp_path / "A.lean"])
    assert {each.module: each.wanted for each in group} == {"A": True, "Sub.B": False}


def test_a_circle_of_imports_is_told_and_the_rest_goes_on() -> None:
    files = [SourceFile(name, name, imports=needed) for name, needed in (("A", ("B",)), ("B", ("A",)), ("C", ()))]
    found = {each.module: problem for each, problem in in_order(files)}
    assert [problem for problem in found.values() if problem] == ["circular imports: A -> B -> A"]
    assert found["C"] == ""
    assert len(found) == 3
