"""Building the library: once per text, whole or not at all, one process at a time, with Lean's own words on failure."""

import subprocess
import sys
from pathlib import Path

import pytest

from node.lean.toolchain.pocket import build

BASE = "prelude\ninductive Answer : Type where\n  | yes : Answer\n  | no : Answer\n"
USER = "prelude\nimport Base\ndef Answer.keep (a : Answer) : Answer := a\n"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "sources"
    (folder / "Deep").mkdir(parents=True)
    (folder / "Base.lean").write_text(BASE)
    (folder / "Deep" / "User.lean").write_text(USER)
    return folder


def build_program(sources: Path, out: Path) -> str:
    """A Python program that builds and reports line by line."""
    return (
        "from functools import partial; from pathlib import Path; from node.lean.toolchain.pocket import build\n"
        f"build.build(Path({str(out)!r}), sources=Path({str(sources)!r}), report=partial(print, flush=True))"
    )


@pytest.mark.lean
def test_a_build_is_made_once_per_text(sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROOFMESH_CACHE", str(tmp_path / "cache"))
    lines: list[str] = []
    first = build.build(sources=sources, report=lines.append)
    assert (first / "Base.olean").exists()
    assert (first / "Deep" / "User.olean").exists()
    assert first.parent == tmp_path / "cache"
    lines.clear()
    assert build.build(sources=sources, report=lines.append) == first
    assert lines == [f"up to date: {first}"]
    (sources / "Base.lean").write_text(BASE + "-- changed\n")
    assert build.build(sources=sources) not in (first, None)


@pytest.mark.lean
def test_a_module_that_fails_is_named_with_leans_message_and_leaves_nothing(sources: Path, tmp_path: Path) -> None:
    (sources / "Deep" / "User.lean").write_text(USER + "def broken : Answer := Question.yes\n")
    with pytest.raises(build.PocketBuildError, match=r"Deep\.User(.|\n)*Question") as caught:
        build.build(tmp_path / "out", sources=sources)
    assert "User.lean:4" in str(caught.value)
    assert [path.name for path in tmp_path.iterdir() if path.name not in ("sources", ".out.lock")] == []


def test_a_directory_with_other_contents_is_left_alone(sources: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("years of work")
    with pytest.raises(build.PocketBuildError, match="not empty"):
        build.build(tmp_path / "out", sources=sources)
    assert (tmp_path / "out" / "thesis.txt").read_text() == "years of work"


@pytest.mark.lean
def test_a_damaged_build_is_made_again(sources: Path, tmp_path: Path) -> None:
    out = build.build(tmp_path / "out", sources=sources)
    whole = (out / "Base.olean").read_bytes()
    (out / "Base.olean").write_bytes(whole[:1000])
    assert (build.build(tmp_path / "out", sources=sources) / "Base.olean").read_bytes() == whole
    (out / "Deep" / "User.olean").unlink()
    assert (build.build(tmp_path / "out", sources=sources) / "Deep" / "User.olean").exists()


@pytest.mark.lean
def test_concurrent_builds_share_one(sources: Path, tmp_path: Path) -> None:
    program = build_program(sources, tmp_path / "out")
    started = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    outputs = [process.communicate(timeout=120)[0] for process in started]
    assert [process.returncode for process in started] == [0] * 4
    assert sum("built in" in output for output in outputs) == 1
    assert (tmp_path / "out" / "Deep" / "User.olean").exists()


@pytest.mark.lean
def test_a_build_killed_half_way_leaves_nothing_half_done(sources: Path, tmp_path: Path) -> None:
    program = build_program(sources, tmp_path / "out")
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert "Base" in process.stdout.readline()  # the first of two modules is compiled, the second is not
    process.kill()
    process.wait()
    assert build.built_key(tmp_path / "out") is None
    build.build(tmp_path / "out", sources=sources)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".out.lock", "out", "sources"]
