"""Compiled files of pocket Lean."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from node.lean.olean.module import Module
from node.lean.olean.terms import Terms
from node.lean.process.fresh import Limits, run_fresh
from node.lean.toolchain.lean_toolchain import LeanToolchain

SOURCE = Path(__file__).with_name("source.lean").read_text(encoding="utf-8")


async def compile_text(text: str, folder: Path, name: str = "Main") -> Path:
    """A text as pocket Lean compiles it; the path of its .olean file."""
    source = folder / f"{name}.lean"
    source.write_text(text)
    olean = folder / f"{name}.olean"
    toolchain = LeanToolchain.pocket()
    command = [*toolchain.command, f"--root={folder}", "-o", str(olean), str(source)]
    environment = toolchain.with_modules([folder])
    finished = await run_fresh(command, environment=environment, folder=folder, limits=Limits())
    assert finished.code == 0, finished.output
    return olean


@contextmanager
def opened(path: Path) -> Iterator[Module]:
    """A module while it is read."""
    module = Module(path, Terms())
    try:
        yield module
    finally:
        module.close()
