"""The project that weighs like Mathlib: it builds, goes on after a kill, and proofs behind its header are judged."""

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest

from common.files import cache_directory
from data.generators import heavy
from data.generators.heavy import LIBRARY, SHAPES, Size
from node.command.cli import main
from tests.commands import Run
from tests.node.lean.olean.forging import opened
from tests.waiting import eventually

pytestmark = pytest.mark.generators

TRUE = """open Heavy.Order.Part000
theorem moved {α : Type} (f g : α → α) (s : Fan0 α) : ((s.map f).map g).x3 = g (f s.x3) := by
  simp
"""
NAMES = {"Moved": f"import {LIBRARY}\n{TRUE}", "Wrong": TRUE.replace("= g (f s.x3)", "= f (g s.x3)")}
"""A true file and a false one."""


def kind(text: str) -> str:
    """A pattern up to its numbers of variables."""
    return re.sub(r"\d+", "0", text)


def test_there_are_a_hundred_shapes_of_lemmas():
    assert len({shape.statement for shape in SHAPES}) >= 100
    assert len({kind(shape.statement) for shape in SHAPES}) >= 40, "not only in the number of their parts"


def test_the_imports_of_the_whole_are_deep_and_wide():
    graph = heavy.import_graph(Size())
    level: dict[str, int] = {}
    for name, imports in graph.items():
        level[name] = 1 + max((level[each] for each in imports), default=0)
    assert len(graph) == 2000 and 100 <= max(level.values()) <= 400
    assert max(map([*level.values()].count, set(level.values()))) >= 10, "modules that may be built at the same time"


def test_a_larger_library_has_the_modules_of_a_smaller_one():
    small, large = (heavy.import_graph(Size(modules)) for modules in (40, 90))
    assert small.items() <= large.items()
    name, imports = [*small.items()][-1]
    assert heavy.source(name, imports, Size(40)) == heavy.source(name, imports, Size(90))
    assert heavy.source(name, imports, Size(40)) != heavy.source(name, imports, Size(40, seed=2))


@pytest.mark.lean
@pytest.mark.parametrize(
    "size", [Size(7, fans=1, lemmas=6), pytest.param(Size(50, lemmas=30), marks=pytest.mark.slow)], ids=["7", "50"]
)
async def test_a_project_is_built_goes_on_after_a_kill_and_serves_as_a_header(size, tmp_path, called):
    project, root = tmp_path / "project", Path(heavy.__file__).parents[2]
    command = [sys.executable, "-m", "data.generators.heavy", "--out", str(project)]
    command += ["--modules", str(size.modules), "--fans", str(size.fans), "--lemmas", str(size.lemmas)]
    modules = project / heavy.BUILT
    process = await asyncio.create_subprocess_exec(*command, cwd=root, stdout=subprocess.DEVNULL)
    await eventually(lambda: len(compiled(modules)) >= 3, what="three compiled modules")
    process.kill()
    await process.wait()
    before = compiled(modules)
    assert len(before) < size.modules, "killed before its end"

    said: list[str] = []
    await asyncio.to_thread(heavy.build, project, size, said.append)
    after = compiled(modules)
    assert len(after) == size.modules + 1
    assert before.items() <= after.items(), "what is built is not built again"
    assert f" {len(before)} of them are compiled" in said[0]

    await judge_behind(modules, tmp_path, called)


@pytest.mark.lean
@pytest.mark.slow
@pytest.mark.timeout(7200)
async def test_the_whole_weighs_like_mathlib(tmp_path, called):
    # It stays in the cache: the first run takes half an hour of two cores, and later ones a minute.
    modules = await asyncio.to_thread(heavy.build, cache_directory() / "heavy", Size())
    files = sorted(compiled(modules))
    assert len(files) > 2000 and sum(file.stat().st_size for file in files) >= 1e9
    counts = [counted(file) for file in files[::50]]
    declarations, simp_lemmas = (sum(column) / len(counts) * len(files) for column in zip(*counts, strict=True))
    assert declarations >= 200_000 and simp_lemmas >= 10_000
    await judge_behind(modules, tmp_path, called)


def counted(olean: Path) -> tuple[int, int]:
    """Declarations and `simp` lemmas of a module."""
    with opened(olean) as module:
        simp = module.entries.get("Lean.Meta.simpExtension")  # a module that declares nothing has none
        return len(module.constants), len(simp.pointers) if simp else 0


async def judge_behind(modules: Path, folder: Path, called: Run) -> None:
    """`proofmesh verify` accepts a true file and rejects a false one, with the library as header. Its `simp` lemmas are
    used: without them `simp` does nothing here."""
    for name, text in NAMES.items():
        (folder / f"{name}.lean").write_text(text)
    lean = ("--lean.modules", modules, "--lean.imports", LIBRARY, "--")
    answer = await asyncio.to_thread(called, main, "verify", *lean, folder / "Moved.lean", folder / "Wrong.lean")
    assert answer.code == 1, answer
    told = [(line.split()[0], name) for line in answer.out.splitlines() for name in NAMES if f"{name}.lean" in line]
    assert sorted(told) == [("accepted", "Moved"), ("rejected", "Wrong")], answer


def compiled(folder: Path) -> dict[Path, int]:
    """The compiled modules in a folder, with the times at which they were written."""
    return {file: file.stat().st_mtime_ns for file in folder.rglob("*.olean")}
