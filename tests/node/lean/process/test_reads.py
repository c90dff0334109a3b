"""What code in a Lean file can read: nothing of the user's but what its process was given."""

import asyncio
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from common.life.process import spawn_child
from node.lean.check.second.calling import SecondKernel
from node.lean.process.fresh import Limits, run_fresh
from node.lean.process.protections import Protections, detect, that_lean_starts_with
from node.lean.snippets.snippet import Snippet
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.trace.tracing import TraceLimits, elaborate
from node.lean.worker.process import LeanProcess, WorkerOptions
from node.serve.service import ServeSettings, make_checker
from tests.node.lean.files.verified import file_verifier

pytestmark = pytest.mark.lean

FOUND = asyncio.run(detect())
WAYS = {"Landlock": Protections(("reads",)), "a root of its own": Protections(("mounts", "root")), "all": FOUND}

NATIVE = """\
inductive Out where | ok (text : String) | failed (error : Nat)
@[extern "x"] opaque IO.FS.readFile (path : String) (world : Unit) : Out := .failed 0
def read (path : String) : String := match IO.FS.readFile path () with | .ok text => text | .failed _ => "refused"
"""
"""Pocket Lean has no `IO`. But it runs Lean's native function of the name that a file declares."""

SECRET = "a password that nobody may read"


@dataclass(frozen=True)
class Place:
    """Secrets, and a project folder next to them."""

    folder: Path

    @property
    def project(self) -> Path:
        return self.folder / "project"

    def attack(self) -> str:
        """A Lean text that reads what it should not."""
        secrets = [*map(str, sorted(self.folder.glob("secret*"))), str(self.project / "link")]
        secrets += ["/etc/passwd", f"/proc/{os.getpid()}/environ", f"/proc/{os.getpid()}/cmdline"]
        assert all(Path(path).read_bytes() for path in secrets)
        return NATIVE + "".join(f'#eval read "{path}"\n' for path in secrets)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    place.project.mkdir()
    for name, mode in (("secret", 0o600), ("secret_for_all", 0o644)):
        (tmp_path / name).write_text(SECRET)
        (tmp_path / name).chmod(mode)
    (place.project / "link").symlink_to(tmp_path / "secret")
    (place.project / "own").write_text("of the project")
    return place


@pytest.fixture(params=WAYS)
async def confined(request: pytest.FixtureRequest) -> LeanToolchain:
    """Pocket Lean, confined in each way that this system allows."""
    protections = WAYS[request.param]
    lean = LeanToolchain.pocket()
    kept = await that_lean_starts_with(protections, lean.command, lean.environment, lean.reads)
    if not protections.reads or kept.mechanisms != protections.mechanisms:
        pytest.skip(f"this system does not confine reading by {request.param}")
    return replace(lean, protections=protections)


async def compiled(lean: LeanToolchain, text: str, folder: Path) -> str:
    """What Lean prints about a text in a folder that it may read."""
    (folder / "Main.lean").write_text(text)
    command, keeper = [*lean.command, str(folder / "Main.lean")], lean.keeper((), [folder])
    finished = await run_fresh(command, environment=lean.environment, folder=folder, limits=Limits(), keeper=keeper)
    assert finished.code == 0, finished
    return finished.output


async def test_the_attack_reads_everything_where_nothing_is_confined(place: Place) -> None:
    output = await compiled(LeanToolchain.pocket(), place.attack(), place.project)
    assert output.count(SECRET) == 3 and "root:" in output and "refused" not in output


async def test_a_file_reads_its_folder_its_environment_without_secrets_and_no_other_file(
    place: Place, confined: LeanToolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROOFMESH_NATS_PASSWORD", SECRET)
    text = place.attack() + f'#eval read "{place.project / "own"}"\n#eval read "/proc/self/environ"\n'
    *refused, own, environment, _ = (await compiled(confined, text, place.project)).split("\n")
    assert refused == ['"refused"'] * 6 and own == '"of the project"'
    assert "LEAN_PATH" in environment and SECRET not in environment


async def test_other_folders_are_neither_listed_nor_run(place: Place, confined: LeanToolchain) -> None:
    (place.folder / "program").write_text("#!/bin/sh\necho done\n")
    (place.folder / "program").chmod(0o755)
    for program in ("os.listdir({!r})", "os.execv({!r} + '/program', ['program'])"):
        attempt = program.format(str(place.folder))
        code = f"import os\ntry:\n    {attempt}\n    print('done')\nexcept OSError: print('refused')"
        command = [sys.executable, "-I", "-S", "-c", code]
        process = await spawn_child(command, keeper=confined.keeper(), stdout=asyncio.subprocess.PIPE)
        said = (await process.communicate())[0].decode().strip()
        may_list = "root" in confined.protections.mechanisms and "listdir" in program
        assert said == "refused" or (said == "done" and may_list)


async def test_workers_and_traces_read_as_little(place: Place) -> None:
    lean = replace(LeanToolchain.pocket(), protections=FOUND)
    worker = await LeanProcess.start(lean, WorkerOptions(), place.attack())
    await worker.kill()
    evaluated = [each.message for each in worker.opening]
    traced = await elaborate(place.attack(), lean, place.project, TraceLimits())
    for messages in (evaluated, [message.data for message in traced.messages]):
        assert [text for text in messages if text == '"refused"'] == ['"refused"'] * 6
        assert not any(SECRET in text for text in messages)


@pytest.mark.parametrize("confined", ["all"], indirect=True)
@pytest.mark.parametrize("kernels", [1, pytest.param(2, marks=pytest.mark.slow)])
async def test_verification_gives_nothing_away_and_judges_as_before(
    place: Place, confined: LeanToolchain, kernels: int
) -> None:
    second = SecondKernel(confined) if kernels == 2 else None
    async with file_verifier(confined, at_once=1, second=second) as verifier:
        report = await verifier.verify_text(place.attack() + "theorem fine : 1 + 1 = 2 := rfl\n")
    if second:
        await second.close()
    assert SECRET not in str(report) and str(report).count("refused") >= 6
    assert [(each.name, each.accepted) for each in report.declarations] == [("fine", True)]


async def test_a_snippet_gets_nothing_and_an_honest_one_is_accepted(place: Place) -> None:
    checker = make_checker(ServeSettings(workers=1), replace(LeanToolchain.pocket(), protections=FOUND))
    try:
        cheat = await checker.check(Snippet(place.attack(), 60.0))
        honest = await checker.check(Snippet("theorem fine (n : Nat) : n + 0 = n := by simp", 60.0))
    finally:
        await checker.stop()
    assert SECRET not in str(cheat) and str(cheat.response).count("refused") >= 6
    assert honest.verdict.accepted
