"""Building the library: once per text, whole or not at all, one process at a time, with Lean's own words on failure;
old builds; and the launcher, which is a `lean` executable anywhere."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from common.life.process import spawn_child
from node.lean.toolchain.pocket import build, launcher
from tests.waiting import eventually

pytestmark = pytest.mark.lean

BASE = "prelude\ninductive Answer : Type where\n  | yes : Answer\n  | no : Answer\n"
USER = "prelude\nimport Base\ndef Answer.keep (a : Answer) : Answer := a\n"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "sources"
    (folder / "Deep").mkdir(parents=True)
    (folder / "Base.lean").write_text(BASE)
    (folder / "Deep" / "User.lean").write_text(USER)
    return folder


def program(code: str, *arguments: Path) -> list[str]:
    """The command of a Python program with `build` and `paths`, its arguments."""
    head = "import sys\nfrom pathlib import Path\nfrom node.lean.toolchain.pocket import build\n"
    return [sys.executable, "-c", f"{head}paths = [*map(Path, sys.argv[1:])]\n{code}", *map(str, arguments)]


BUILD = "build.build(paths[1], sources=paths[0], report=lambda line: print(line, flush=True))"


def test_a_build_is_made_once_per_text(sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROOFMESH_CACHE", str(tmp_path / "cache"))
    lines: list[str] = []
    first = build.build(sources=sources, report=lines.append)
    assert (first / "Base.olean").exists() and (first / "Deep" / "User.olean").exists()
    assert first.parent == tmp_path / "cache"
    lines.clear()
    assert build.build(sources=sources, report=lines.append) == first
    assert lines == [f"up to date: {first}"]
    (sources / "Base.lean").write_text(BASE + "-- changed\n")
    assert build.build(sources=sources) not in (first, None)


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


def test_a_damaged_build_is_made_again(sources: Path, tmp_path: Path) -> None:
    out = build.build(tmp_path / "out", sources=sources)
    whole = (out / "Base.olean").read_bytes()
    (out / "Base.olean").write_bytes(whole[:1000])
    assert (build.build(tmp_path / "out", sources=sources) / "Base.olean").read_bytes() == whole
    (out / "Deep" / "User.olean").unlink()
    assert (build.build(tmp_path / "out", sources=sources) / "Deep" / "User.olean").exists()


def test_concurrent_builds_share_one(sources: Path, tmp_path: Path) -> None:
    command = program(BUILD, sources, tmp_path / "out")
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    outputs = [process.communicate(timeout=120)[0] for process in started]
    assert [process.returncode for process in started] == [0] * 4
    assert sum("built in" in output for output in outputs) == 1
    assert (tmp_path / "out" / "Deep" / "User.olean").exists()


def test_a_build_killed_half_way_leaves_nothing_half_done(sources: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(program(BUILD, sources, tmp_path / "out"), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert "Base" in process.stdout.readline()  # the first of two modules is compiled, the second is not
    process.kill()
    process.wait()
    assert build.built_key(tmp_path / "out") is None
    build.build(tmp_path / "out", sources=sources)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".out.lock", "out", "sources"]


HOLD, PRUNE = (
    "print(build.hold(*paths), flush=True); sys.stdin.read()",
    "for _ in range(50): build.prune(*paths, keep=1)",
)


def place(cache: Path, name: str, used: int) -> Path:
    """A build that was last used at this time."""
    directory = cache / f"pocket-{name}"
    (directory / "Pocket").mkdir(parents=True)
    (directory / "Pocket" / "Nat.olean").write_bytes(b"compiled")
    build.seal(directory, name)
    os.utime(directory / build.SEAL, (used, used))
    return directory


def left(cache: Path) -> set[str]:
    return {path.name for path in cache.iterdir()}


def test_the_last_used_builds_stay(tmp_path: Path) -> None:
    for used, name in enumerate("abcd"):
        place(tmp_path, name, used)
    (tmp_path / "warm-start").mkdir()
    (tmp_path / ".pruned-pocket-z").mkdir()  # a process was killed while it pruned
    assert {path.name for path in build.prune(tmp_path)} == {"pocket-a", "pocket-b"}
    assert left(tmp_path) == {"pocket-c", "pocket-d", "warm-start"}


def test_a_build_that_a_process_holds_stays_until_the_process_is_killed(tmp_path: Path) -> None:
    oldest = place(tmp_path, "a", 0)
    for used, name in enumerate("bcd", start=1):
        place(tmp_path, name, used)
    pipe = subprocess.PIPE
    holder = subprocess.Popen(program(HOLD, oldest), stdin=pipe, stdout=pipe, text=True)
    assert holder.stdout is not None and holder.stdout.readline() == "True\n"
    os.utime(oldest / build.SEAL, (0, 0))  # holding it made it the last used one
    build.prune(tmp_path)
    assert left(tmp_path) == {"pocket-a", "pocket-c", "pocket-d"}
    holder.kill()
    holder.communicate()
    build.prune(tmp_path)
    assert left(tmp_path) == {"pocket-c", "pocket-d"}
    assert not build.hold(oldest)


def test_many_processes_prune_at_once(tmp_path: Path) -> None:
    for used in range(30):
        place(tmp_path, str(used), used)
    started = [subprocess.Popen(program(PRUNE, tmp_path)) for _ in range(4)]
    assert [process.wait(timeout=60) for process in started] == [0] * 4
    assert left(tmp_path) == {"pocket-29"} and build.built_key(tmp_path / "pocket-29") == "29"


def test_a_missing_library_is_explained() -> None:
    environment = {launcher.LIBRARY_VARIABLE: "/no/such/libleanshared.so"}
    command = [*build.command(), "--version"]
    outcome = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (outcome.returncode, "no such file" in outcome.stderr) == (1, True)


async def test_it_dies_with_its_parent() -> None:
    """A parent starts Lean on an endless input and is killed; Lean must not outlive it."""
    code = (
        "import os, subprocess\n"
        "environment = build.environment() | {'PROOFMESH_DIE_WITH_PARENT': str(os.getpid())}\n"
        "child = subprocess.Popen([*build.command(), '--stdin'], env=environment, stdin=subprocess.PIPE)\n"
        "print(child.pid, flush=True)\nchild.wait()\n"
    )
    parent = await spawn_child(program(code), stdout=asyncio.subprocess.PIPE)
    assert parent.stdout is not None
    child = psutil.Process(int(await parent.stdout.readline()))
    maps = Path(f"/proc/{child.pid}/maps")
    await eventually(lambda: "libleanshared" in maps.read_text())  # past its own prctl call
    parent.kill()
    await parent.wait()
    psutil.wait_procs([child], timeout=30)
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE  # an orphan's zombie waits for init
