"""Which package may import which: roles speak through messages only, libraries know no role, `common` knows nobody."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

TRAINING = {"common", "node.bank", "node.data", "node.lean", "node.llm", "node.model", "node.training"}
SEARCHING = {"common", "node.lean", "node.llm", "node.play", "node.prover"}
"""What all that trains models, or searches in this process, may import."""

MAY_IMPORT = {
    "common": set(),
    "broker": {"common"},
    # The monitor shows what others keep, by their own readers, each imported when a page asks for it: self-play's
    # rounds, the folder of an evaluation, the replay as its learner reads it. What is submitted goes through `proving`.
    "ui": {"common", "node.eval", "node.learner", "node.model", "node.play", "node.proving", "node.stp"},
    # Libraries.
    "node.lean": {"common"},
    "node.model": {"common"},
    "node.bank": {"common", "node.lean"},
    "node.llm": {"common", "node.lean", "node.model"},
    "node.data": {"common", "node.bank", "node.lean", "node.model"},
    "node.training": {"common", "node.data", "node.model"},
    "node.rewards": {"common", "node.lean", "node.llm"},
    "node.tuning": TRAINING | {"node.rewards"},
    "node.retrieval": {"common", "node.data", "node.lean", "node.model", "node.tuning"},
    "node.progress": {"common", "node.data", "node.llm", "node.model", "node.tuning"},
    # Roles.
    "node.learner": {"common", "node.bank", "node.data", "node.lean", "node.model", "node.training"},
    "node.inference": {"common", "node.llm", "node.model"},
    "node.prover": {"common", "node.lean", "node.llm", "node.retrieval"},
    "node.lean_proxy": {"common", "node.lean"},
    # What uses the parts of roles in one process, without a mesh.
    "node.play": {"common", "node.inference", "node.lean", "node.llm", "node.model", "node.prover"},
    "node.serve": {"common", "node.lean", "node.play", "node.retrieval"},
    "node.proving": SEARCHING,
    "node.agent": SEARCHING - {"node.llm"} | {"node.data", "node.model", "node.proving", "node.training"},
    "node.stp": TRAINING | {"node.play", "node.prover", "node.tuning"},
    "node.eval": SEARCHING | {"node.bank", "node.model"},
}
"""By package, the packages that it may import besides itself. `node.mesh` composes roles, `node.command` is the command
line, and `scripts` measures: they may import everything, and nothing here may import them. So may `proofmesh`, but for
what prints."""

_PROCESSES = {"text", "process", "toolchain"}

LEAN_MAY_IMPORT = {
    "text": set(),
    "process": set(),
    "backend": set(),
    "settings": set(),
    "olean": set(),
    "toolchain": {"text", "process", "olean"},
    "worker": {"text", "process", "toolchain", "backend", "settings"},
    "check": {"text", "process", "olean", "toolchain", "settings"},
    "trace": {"text", "process", "toolchain"},
    "gaps": {"text", "process", "toolchain", "worker", "check", "settings"},
    "requests": {"text", "backend", "gaps"},
    "opened": _PROCESSES | {"worker", "adapters", "backend", "check", "gaps", "requests", "settings"},
    "adapters": {"text", "process", "toolchain", "backend", "settings", "requests", "worker", "trace", "gaps"},
    "snippets": {"text", "process", "toolchain", "worker", "check", "gaps", "adapters"},
}
"""By room (folder or module) of `node.lean`, the rooms that it may import besides itself."""

MOST_FILES = 12
"""Most files of a room, `__init__.py` left out."""

EXCEPTIONS: dict[tuple[str, str], str] = {}
"""(importing module, imported module) to the reason why this one import is right all the same."""


@cache
def imported_modules(file: Path) -> list[str]:
    """Absolute names of the modules that a file imports anywhere in it, for types alone included."""
    return list(_imported_modules(file))


def _imported_modules(file: Path) -> Iterator[str]:
    for node in statements(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            # `from node import lean` and `from node.lean import text` name modules, too.
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def statements(node: ast.AST) -> Iterator[ast.stmt]:
    """All statements in a part of a program. Expressions, which are most of it, hold none."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for each in getattr(node, name, ()):
            if isinstance(each, ast.stmt):
                yield each
            yield from statements(each)


def package_of(module: str) -> str:
    """The package of this project that a module belongs to; empty for others."""
    first, *rest = module.split(".")
    if first == "node":
        return f"node.{rest[0]}" if rest else ""
    return first if first in ("common", "broker", "ui", "scripts", "tests", "proofmesh", "data") else ""


def room_of(module: str) -> str:
    """The room of `node.lean` that a module belongs to; empty for modules elsewhere."""
    parts = module.split(".")
    return parts[2] if parts[:2] == ["node", "lean"] and len(parts) > 2 else ""


def imports_below(folder: str) -> Iterator[tuple[str, str]]:
    """Every import in a folder, as (importing module, imported module)."""
    for file in sorted((ROOT / folder).rglob("*.py")):
        module = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        yield from ((module, target) for target in imported_modules(file) if (module, target) not in EXCEPTIONS)


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_a_package_imports_only_what_it_may(package):
    allowed = MAY_IMPORT[package] | {package, ""}
    wrong = [pair for pair in imports_below(package.replace(".", "/")) if package_of(pair[1]) not in allowed]
    assert wrong == []


def test_the_rooms_of_the_lean_library_import_in_one_direction():
    rooms = {room_of(module) for module, _ in imports_below("node/lean")} - {""}
    assert rooms == set(LEAN_MAY_IMPORT)
    wrong = [
        (module, target)
        for module, target in imports_below("node/lean")
        if room_of(module) and room_of(target) not in LEAN_MAY_IMPORT[room_of(module)] | {room_of(module), ""}
    ]
    assert wrong == []


def test_the_public_package_imports_nothing_that_prints_and_nobody_imports_it():
    printing = ("printing", "_progress", "_report", "view")
    assert [
        pair for pair in imports_below("proofmesh") if pair[1].startswith("node.command") and pair[1].endswith(printing)
    ] == []
    folders = ("broker", "common", "node", "ui")
    assert [pair for each in folders for pair in imports_below(each) if package_of(pair[1]) == "proofmesh"] == []


def test_no_node_imports_the_generators_of_the_data():
    folders = ("broker", "common", "node", "proofmesh", "ui")
    assert [pair for each in folders for pair in imports_below(each) if package_of(pair[1]) == "data"] == []


def test_every_package_of_a_node_has_its_place():
    packages = {f"node.{file.parent.name}" for file in (ROOT / "node").glob("*/__init__.py")}
    assert packages - set(MAY_IMPORT) == {"node.mesh", "node.command"}


def test_what_composes_roles_knows_no_command():
    assert [pair for pair in imports_below("node/mesh") if package_of(pair[1]) == "node.command"] == []


def test_a_room_shows_at_most_twelve_files():
    rooms = {
        folder.relative_to(ROOT).as_posix(): sum(file.name != "__init__.py" for file in folder.glob("*.py"))
        for top in ("broker", "common", "data", "node", "ui", "proofmesh", "scripts")
        for folder in (ROOT / top, *(ROOT / top).rglob("*/"))
    }
    assert {room: files for room, files in rooms.items() if files > MOST_FILES} == {}
