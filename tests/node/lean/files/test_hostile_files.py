"""Collecting files from paths. One hostile or unreadable file gets a line with its problem, and the files around it are
judged all the same."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from node.command.cli import main
from node.lean.check.files.report import FileReport
from node.lean.check.files.sources import BOM, SourceFile, collect, in_order
from node.lean.text.statement import imports_of
from tests.commands import Called
from tests.hostile import harmless
from tests.node.lean.files.verified import Verifying

TRUE = "theorem t : True := trivial\n"


def problems(folder: Path) -> dict[str, str]:
    return {Path(each.shown).name: each.problem for group in collect([folder]) for each in group}


# --- finding and reading ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (Path.mkdir, "it is a folder, not a file"),
        (os.mkfifo, "it is a pipe, a socket or a device, not a file"),
        (lambda file: file.symlink_to("nowhere"), "No such file or directory"),
        (lambda file: file.symlink_to("X.lean"), "the link leads in a circle"),
        (lambda file: file.symlink_to("/etc/hostname"), "a link that leads out of the folder"),
        (lambda file: file.write_bytes(b"-- \xe9\n"), "not UTF-8 (invalid continuation byte at byte 3)"),
        (lambda file: file.write_bytes(b"x" * (8 * 2**20 + 1)), "the file has 8.0 MB, more than 8 MB: split it"),
        (lambda file: file.write_text(f"\ufeff{TRUE}"), BOM),
    ],
    ids=["folder", "pipe", "link", "circle", "outside", "latin", "large", "bom"],
)
def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, make: Callable[[Path], object], problem: str) -> None:
    (tmp_path / "A.lean").write_text(TRUE)
    make(tmp_path / "X.lean")
    assert problems(tmp_path) == {"A.lean": "", "X.lean": problem}


def test_a_file_name_that_no_import_can_name_gets_a_module_of_its_own(tmp_path: Path) -> None:
    for name in (b"a\n b\x1b[2J.lean", b"bad\xff.lean", b"bad\xfe.lean", "«q».lean".encode(), "Übung 1.lean".encode()):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text(TRUE)
    (group,) = collect([tmp_path])
    modules = {Path(each.shown).name: each.module for each in group}
    assert modules.pop("Übung 1.lean") == "Übung 1"
    assert len(set(modules.values())) == 4 and all(name.startswith("File_") for name in modules.values())


# --- with Lean --------------------------------------------------------------------------------------------------------


def rows(report: FileReport) -> list[tuple[str, int, str]]:
    assert report.problem == ""
    return [(each.name, each.line, each.reason) for each in report.declarations]


@pytest.mark.lean
async def test_a_comment_that_is_never_closed_is_named_and_not_the_theorem_before_it(verifying: Verifying) -> None:
    never_closed = f"{TRUE}\n/- to do /- inner -/\ntheorem u : True := trivial\n"
    behind, inside = await verifying.of_each(never_closed, "theorem t : True := by\n  /- why\n  trivial\n")
    assert rows(behind) == [
        ("t", 1, ""),
        ("/- to do /- inner -/ theorem u : True := trivial", 3, "line 3: this comment is never closed"),
    ]
    assert [each.accepted for each in inside.declarations] == [False, False]


@pytest.mark.lean
async def test_theorems_behind_exit_are_not_judged(verifying: Verifying) -> None:
    behind, comment = await verifying.of_each(
        TRUE + "#exit\n\nnamespace A\n/-- Doc. -/\ntheorem u : True := trivial\nexample : 1 = 2 := rfl\nend A\n",
        TRUE + "-- #exit\ntheorem u : True := trivial\n",
    )
    reason = "not judged: it is behind the `#exit` in line 2"
    assert rows(behind) == [("t", 1, ""), ("A.u", 6, reason), ("example", 7, reason)]
    assert rows(comment) == [("t", 1, ""), ("u", 3, "")]


@pytest.mark.lean
async def test_a_character_unknown_to_lean_is_shown_and_the_theorem_before_it_is_judged(verifying: Verifying) -> None:
    (code,) = await verifying.of_each(TRUE + "\0theorem u : True := trivial\n-- \0\n")
    assert [each.name for each in code.declarations if each.accepted] == ["t", "u"]
    assert r"expected token: here is the character \x00" in [each.reason for each in code.declarations]


@pytest.mark.lean
def test_verify_judges_the_files_around_hostile_ones(tmp_path: Path, called: Called) -> None:
    root = os.fsencode(tmp_path)
    files = {
        b"Good.lean": TRUE.encode(),
        b"a\naccepted  Forged: t\x1b[2J\x1b]0;x\x07.lean": TRUE.encode(),
        b"not-utf8-\xff.lean": TRUE.encode(),
        b"Bom.lean": b"\xef\xbb\xbf" + TRUE.encode(),
        b"Latin.lean": b"-- \xe9\n",
        b"Name.lean": "theorem «a\naccepted  Forged: b\x1b[31m\u202e» : True := trivial\n".encode(),
    }
    for name, content in files.items():
        Path(os.fsdecode(root + b"/" + name)).write_bytes(content)
    os.mkfifo(tmp_path / "Pipe.lean")
    (tmp_path / "Link.lean").symlink_to("nowhere")
    (tmp_path / "Dir.lean").mkdir()
    ran = called(main, "verify", tmp_path)
    out, errors = ran.out, ran.err
    assert harmless(out) and harmless(errors) and "Traceback" not in errors
    assert ran.code == 2
    shown = out.replace(str(tmp_path), "").splitlines()
    verdicts = [line.split(" (axioms")[0] for line in shown]
    assert sorted(verdicts) == [
        r"accepted  /Good.lean:1: t",
        r"accepted  /Name.lean:1: a\naccepted  Forged: b\x1b[31m\u202e",
        r"accepted  /a\naccepted  Forged: t\x1b[2J\x1b]0;x\x07.lean:1: t",
        r"accepted  /not-utf8-\udcff.lean:1: t",
    ]
    assert sorted(line.partition(str(tmp_path))[2] for line in errors.splitlines() if "verify: /" in line) == [
        f"/Bom.lean: {BOM}",
        "/Dir.lean: it is a folder, not a file",
        "/Latin.lean: not UTF-8 (invalid continuation byte at byte 3)",
        "/Link.lean: No such file or directory",
        "/Pipe.lean: it is a pipe, a socket or a device, not a file",
    ]


def sources_in(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder.joinpath(*name.split("__")).with_suffix(".lean")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def only(folder: Path) -> dict[str, SourceFile]:
    (group,) = collect([folder])
    return {each.module: each for each in group}


def test_imports_stand_in_the_header_alone() -> None:
    text = "/- import No -/\nimport A.B\npublic import C -- import D\nimport all E\ndef a := 1\nimport F\n"
    assert imports_of(text) == ("A.B", "C", "E")


def test_modules_are_named_by_their_path_and_hidden_folders_are_left_out(tmp_path: Path) -> None:
    sources_in(tmp_path, A="", Sub__B="")
    sources_in(tmp_path / ".lake", X="")
    (tmp_path / "lakefile.lean").write_text("")
    assert set(only(tmp_path)) == {"A", "Sub.B"}


def test_a_file_that_is_imported_comes_along_unwanted(tmp_path: Path) -> None:
    sources_in(tmp_path, A="import Sub.B\n", Sub__B="import Other\n", C="")
    (group,) = collect([tmp_path / "A.lean"])
    assert {each.module: each.wanted for each in group} == {"A": True, "Sub.B": False}


def test_a_circle_of_imports_is_told_and_the_rest_goes_on() -> None:
    files = [SourceFile(name, name, imports=needed) for name, needed in (("A", ("B",)), ("B", ("A",)), ("C", ()))]
    found = {each.module: problem for each, problem in in_order(files)}
    assert [problem for problem in found.values() if problem] == ["circular imports: A -> B -> A"]
    assert found["C"] == "" and len(found) == 3
