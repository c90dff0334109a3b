"""`proofmesh doctor` where something is missing, broken, away or wrong: rows, JSON and exit codes."""

import asyncio
import contextlib
import hashlib
import io
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest

from common.files import CACHE_VARIABLE
from common.machine import listenable
from common.output.command import Exit, UserError
from common.settings import LeanSettings
from node.command.doctor import around, lean, main, material, rows
from node.command.doctor.rows import Row
from node.lean.toolchain.lean_toolchain import LeanProblem
from node.lean.toolchain.pocket import build
from tests import lean_project
from tests.authority import Authority
from tests.background import Background, RunOnBroker, on_bus


def doctor(*arguments: str | Path) -> tuple[int, dict[str, Any]]:
    """Run the command here; returns the exit code and its JSON document."""
    with contextlib.redirect_stdout(io.StringIO()) as output:
        code = main(["--json", *map(str, arguments)])
    document = json.loads(output.getvalue())
    assert code == document["exit"]
    return code, document


def row(document: dict[str, Any], name: str) -> dict[str, Any]:
    """The row of this name."""
    (found,) = [each for each in document["rows"] if each["name"] == name]
    return found


def states(document: dict[str, Any]) -> dict[str, str]:
    """The state of each row."""
    return {each["name"]: each["state"] for each in document["rows"]}


def listing(folder: Path) -> dict[str, tuple[int, str]]:
    """Every file below, with its time and a digest of its content; without what the tests' `lake` writes itself."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != lean_project.ASKED]
    return {str(path): (path.lstat().st_mtime_ns, hashlib.blake2b(path.read_bytes()).hexdigest()) for path in files}


@contextlib.contextmanager
def environment(cache: Path, elan_home: Path | None = None) -> Iterator[None]:
    """In the block, the cache is this folder, and elan's `lake` is first on PATH."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (lean_project.environ(elan_home, elan_home / "bin") if elan_home else {}).items():
            patch.setenv(name, value)
        patch.setenv(CACHE_VARIABLE, str(cache))
        yield


@pytest.fixture
def elan(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The toolchain of an $ELAN_HOME with `lake`, which is first on PATH; the cache is an empty folder."""
    home = tmp_path_factory.mktemp("elan")
    toolchain = lean_project.make_elan(home)
    with environment(tmp_path_factory.mktemp("cache"), home):
        yield toolchain


# --- a Lean that works ------------------------------------------------------------------------------------------------
@pytest.mark.lean
def test_with_pocket_lean_all_is_ok_or_not_there_cheats_are_refused_and_nothing_is_changed(tmp_path):
    """Its build is all that the cache has."""
    (tmp_path / build.library().name).symlink_to(build.library())
    with environment(tmp_path):
        before = listing(tmp_path)
        code, document = doctor("--only", "lean")
        assert listing(tmp_path) == before
    assert (code, document["state"]) == (Exit.DONE, "ok"), document
    assert {name for name, state in states(document).items() if state == "not met"} == {"module files"}
    facts = {each["name"]: each["facts"] for each in document["rows"]}
    assert facts["toolchain"]["version"] == "4.35.0" and facts["header"]["workers_that_fit"] >= 1
    assert facts["tactics"]["failed"] == [] and facts["sorry"]["accepted"]
    refused = facts["cheats"]["refused"]
    assert set(refused) == {"by_axiom", "by_sorry", "by_looking_away"}
    assert "sorry" in refused["by_sorry"] and "axiom" in refused["by_axiom"] and "kernel" in refused["by_looking_away"]


@pytest.mark.lean
async def test_a_header_that_lean_refuses_is_broken_with_leans_words_and_prove_does_not_start():
    checks = lean.LeanChecks(LeanSettings(opens=["Nowhere"]), ["lean"], time.monotonic() + 60)
    await checks._find()
    async with checks._stack:
        found = await checks._checked("header", checks._header, 30.0)
    assert (found.state, checks._prove().state, checks._verify().state) == ("broken", "broken", "not met")
    assert "unknown namespace `Nowhere`; the header is: open Nowhere" in found.seen and "correct opens" in found.advice


# --- projects that do not ---------------------------------------------------------------------------------------------
OLD = "leanprover/lean4:v4.9.0"


@pytest.mark.lean
@pytest.mark.parametrize(
    ("made", "files", "seen", "advice"),
    [
        ({"built": False}, {"lakefile.toml": "broken"}, "`lake env` failed in", "Run it there by hand"),
        ({"built": False}, {}, "is not built", "run `lake build`"),
        ({"built": False, "wants": OLD}, {}, "v4.9.0' is not installed", f"elan toolchain install {OLD}"),
        ({}, {"lakefile.lean": "import Lake\n"}, "lakefile.lean", "run `lake build`"),
    ],
    ids=["broken", "not built", "of another version", "with a new lakefile"],
)
def test_a_project_that_lean_cannot_use_has_one_broken_row_with_what_to_do(elan, tmp_path, made, files, seen, advice):
    project = lean_project.make_project(tmp_path / "demo", elan, **made)
    for name, content in ({material.MANIFEST: '{"packages": []}'} | files).items():  # Lake has resolved it
        (project / name).write_text(content)
    before = listing(tmp_path)
    code, document = doctor("--only", "lean", "--lean.project", project)
    found = row(document, "toolchain")
    assert (code, found["state"]) == (Exit.UNUSABLE, "broken")
    assert seen in found["seen"] and advice in found["advice"], found
    others = {name: state for name, state in states(document).items() if name != "toolchain"}
    commands = ("verify", "prove", "eval")
    assert {others.pop(name) for name in commands} == {"broken"} and set(others.values()) == {"not met"}
    assert listing(tmp_path) == before


# --- the broker -------------------------------------------------------------------------------------------------------
def test_a_broker_that_is_away_is_broken_and_certificates_that_have_run_out_or_soon_will_are_told(tmp_path: Path):
    url = f"nats://127.0.0.1:{listenable('127.0.0.1', 0)}"
    code, document = doctor("--only", "broker", "--url", url, "--wait", "0.2")
    found = row(document, "broker")
    assert (code, found["state"]) == (Exit.UNUSABLE, "broken")
    assert url in found["seen"] and "proofmesh up" in found["advice"]
    authority = Authority(tmp_path / "ours")
    (old, _), (soon, _), (new, _) = authority.issue("old", -1), authority.issue("soon", 3), authority.issue("new", 90)
    file = tmp_path / "mesh.toml"
    shown = {"node": old, "ui": soon, "serve": new, "broker": str(tmp_path / "none.pem")}
    file.write_text("".join(f'[{section}]\ncertificate = "{each}"\n' for section, each in shown.items()))
    code, document = doctor("--only", "broker", "--config", file, "--wait", "0.1")
    found = {section: row(document, f"[{section}] certificate") for section in shown}
    assert [each["state"] for each in found.values()] == ["broken", "warning", "ok", "broken"] and code == Exit.UNUSABLE
    assert "within 5 seconds" in found["node"]["advice"] and "2 days left" in found["ui"]["seen"]
    assert "none.pem cannot be read" in found["broker"]["seen"]


def test_a_stream_that_is_gone_is_broken_and_named(background: Background, mesh_run: RunOnBroker) -> None:
    gone = f"{mesh_run.name}-results"
    background.run(on_bus(mesh_run, lambda bus: bus._jetstream.delete_stream(gone)))
    code, document = doctor("--only", "broker", *mesh_run.flags)
    assert code == Exit.UNUSABLE and f"missing: {gone}" in row(document, "streams")["seen"]


# --- parts ------------------------------------------------------------------------------------------------------------
async def test_the_worst_row_decides_and_a_check_that_hangs_and_one_that_fails_become_rows():
    def of(*found: rows.State) -> int:
        return rows.exit_of([Row("group", "name", state, "") for state in found])

    assert of() == of("ok", "not met") == Exit.DONE and of("ok", "slow") == of("warning") == Exit.FAILED
    assert of("slow", "broken", "ok") == Exit.UNUSABLE

    async def hangs() -> Row:
        await asyncio.Event().wait()
        raise AssertionError

    (hung,) = await rows.checked("group", "name", hangs, 0.01, "kill it")
    assert (hung.state, hung.advice) == ("broken", "kill it")
    fails, refuses = ZeroDivisionError("by zero"), UserError("it is gone; bring it back; twice")
    (failed,), (refused,) = [
        await rows.checked("group", "name", AsyncMock(side_effect=error), 1.0) for error in (fails, refuses)
    ]
    assert (failed.state, failed.seen) == ("broken", "ZeroDivisionError: by zero")
    assert (refused.seen, refused.advice) == ("it is gone", "bring it back; twice")


TORCH = {"version": "2.9.0", "cuda": "", "import_seconds": 0.5, "cpu": "AVX2", "devices": []}
CARD = {"name": "a card", "free_mb": 100, "total_mb": 200, "bf16": False}


@pytest.mark.process
@pytest.mark.parametrize(
    ("torch", "cards", "found", "says"),
    [
        ({}, [], ["ok", "not met"], "2.9.0 (CPU build), AVX2, imported in 0.5 s"),
        ({"import_seconds": around.SLOW_IMPORT}, [], ["slow", "not met"], "imported in 10.0 s"),
        ({}, ["a card"], ["broken"], "a GPU that torch does not see"),
        ({"cuda": "13.0", "devices": [CARD]}, ["a card"], ["ok", "warning"], "a card (100 of 200 MB free, no bf16)"),
        (None, [], ["broken"], "ImportError: libcuda"),
    ],
)
async def test_torch_is_asked_in_a_process_of_its_own(monkeypatch, torch, cards, found, says):
    answer = TORCH | torch if torch is not None else None
    program = f"print('hello'); print({json.dumps(answer)!r})" if answer else "raise ImportError('libcuda')"
    monkeypatch.setattr(around, "_TORCH", program)
    monkeypatch.setattr(around, "gpu_names", lambda: cards)
    rows_found = await around.compute()
    assert [each.state for each in rows_found] == found and any(says in each.seen for each in rows_found)


def test_a_package_that_is_missing_or_of_another_version_or_commit_is_named(tmp_path):
    assert around.wrong("msgspec==0.0.1").startswith("msgspec: ")
    assert around.wrong("no-such-package==1; extra == 'dev'") == "no-such-package: missing"
    assert [text for each in around.requirements()[""] if (text := around.wrong(each))] == []
    (tmp_path / "lakefile.toml").write_text("")
    package = {"type": "git", "name": "std", "rev": "1" * 40}
    (tmp_path / material.MANIFEST).write_text(json.dumps({"packages": [package]}))
    git = tmp_path / ".lake/packages/std/.git"
    git.mkdir(parents=True)
    (git / "HEAD").write_text("2" * 40)
    problem = material.would_change(LeanSettings(project=str(tmp_path)))
    assert isinstance(problem, LeanProblem) and "222222222222" in str(problem)
    (git / "HEAD").write_text("1" * 40)
    assert material.would_change(LeanSettings(project=str(tmp_path))) is None
