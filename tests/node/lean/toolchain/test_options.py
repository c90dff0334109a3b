"""A Lake project's options reach Lean: those that Lake names, in its old words and its new ones, and no others."""

import json

import pytest

from common.lean import OutcomeKind, Step, Theorem
from common.protocol.messages import LeanRunRequest
from common.settings import LeanSettings
from node.lean.backend import OutcomeCache
from node.lean.check.verify.verifier import Verifier
from node.lean.requests import Requests
from node.lean.toolchain.find import find
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.worker.pool import Pool
from node.lean.worker.process import WorkerOptions
from tests import lean_project

pytestmark = pytest.mark.lean


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("elan")
    lean_project.make_elan(home)
    return home


@pytest.fixture
def project(home, tmp_path):
    """A built project, its compiled module being empty: nothing is imported from it."""
    folder = lean_project.make_project(tmp_path / "demo", home, built=False)
    module = folder / ".lake/build/lib/lean/Demo/Basic.olean"
    module.parent.mkdir(parents=True)
    module.touch()
    return folder


def found(project, home) -> LeanToolchain:
    return find(LeanSettings(project=str(project)), lean_project.environ(home, home / "bin"))


def options(toolchain: LeanToolchain) -> list[str]:
    return list(toolchain.command[1:])


def test_lake_is_asked_about_a_file_of_the_project(home, project):
    (project / lean_project.SETUP).write_text(
        json.dumps({"name": "Demo.Basic", "options": {"pp.unicode.fun": True, "maxSynthPendingDepth": 3, "a.b": "c"}})
    )
    toolchain = found(project, home)
    assert options(toolchain) == ["-Dpp.unicode.fun=true", "-DmaxSynthPendingDepth=3", "-Da.b=c"]
    assert toolchain.notes == ()
    assert toolchain.facts().options == ("pp.unicode.fun=true", "maxSynthPendingDepth=3", "a.b=c")
    asked = (project / lean_project.ASKED).read_text().split()
    assert asked[:2] == ["setup-file", str(project / "Demo" / "Basic.lean")] and asked[-1] == "--no-build"
    assert json.loads(asked[2]) == {"imports": [], "isModule": False}, "nothing is built for the answer"


def test_a_lake_that_cannot_say_is_no_error_and_lakefile_toml_says_it(home, project):
    with (project / "lakefile.toml").open("a") as file:
        file.write('leanOptions = { pp.unicode.fun = false }\nmoreLeanArgs = ["-Dpp.unicode.fun=true", "--tstack=9"]\n')
        file.write('[[lean_lib]]\nname = "Other"\nmoreLeanArgs = ["-D", "maxRecDepth=7"]\n')
    toolchain = found(project, home)
    assert options(toolchain) == ["-Dpp.unicode.fun=true"], (
        "those of the library that the module is in, in Lake's order"
    )
    assert len(toolchain.notes) == 2 and "unknown command 'setup-file'" in toolchain.notes[0]
    assert "--tstack=9 is not used" in toolchain.notes[1]


def test_options_that_switch_checks_off_are_left_out_and_so_are_linters(home, project):
    bad = {"debug.skipKernelTC": True, "weak.debug.skipKernelTC": True, "weak.linter.all": True, "linter.style": True}
    (project / lean_project.SETUP).write_text(json.dumps({"options": {**bad, "maxRecDepth": 700}}))
    toolchain = found(project, home)
    assert options(toolchain) == ["-DmaxRecDepth=700"]
    assert [note for note in toolchain.notes if "switch a check off" in note] == list(toolchain.notes)
    assert len(toolchain.notes) == 2


async def test_tactics_and_verification_run_with_them(home, tmp_path):
    # Without this option a name that Lean has chosen cannot be used.
    theorem, tactics = Theorem("t", "", "∀ x : Nat, x = x"), ("intro", "exact Eq.refl x")
    toolchain = home / "toolchains" / lean_project.NAME.replace("/", "--").replace(":", "---")
    project = lean_project.make_project(tmp_path / "demo", toolchain)
    (project / lean_project.SETUP).write_text(json.dumps({"options": {"tactic.hygienic": False}}))
    toolchain = found(project, home)
    pool = Pool(toolchain, WorkerOptions(), workers=1, queue=10)
    verifier = Verifier(toolchain, at_once=1, seconds=60, memory_mb=2048)
    pool.start()
    try:
        requests = Requests(pool, OutcomeCache(0), longest=60)
        (first,) = (await requests.run(LeanRunRequest(theorem=theorem, tactics=tactics[:1]))).outcomes
        path = (Step("intro", 0, first.layout),)
        request = LeanRunRequest(theorem=theorem, path=path, tactics=tactics[1:])
        (second,) = (await requests.run(request)).outcomes
        assert second.kind is OutcomeKind.PROVED, second
        verdict = await verifier.verify(theorem, "\n".join(tactics))
        assert verdict.accepted, verdict.reason
    finally:
        await verifier.stop()
        await pool.stop()
