"""Finding Lean: real processes of a small installation, project and `lake`."""

import pytest

from common.settings import LeanSettings
from node.lean.toolchain.find import find
from node.lean.toolchain.lean_toolchain import LeanProblem
from tests import lean_project

pytestmark = pytest.mark.lean


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """$ELAN_HOME with one toolchain."""
    home = tmp_path_factory.mktemp("elan")
    lean_project.make_elan(home)
    return home


@pytest.fixture(scope="module")
def toolchain(home):
    return home / "toolchains" / "leanprover--lean4---v4.35.0"


@pytest.fixture(scope="module")
def project(tmp_path_factory, toolchain):
    return lean_project.make_project(tmp_path_factory.mktemp("built") / "demo", toolchain)


def problem(settings: LeanSettings, environ) -> str:
    with pytest.raises(LeanProblem) as caught:
        find(settings, environ)
    return str(caught.value)


def test_a_project_gives_its_lean_and_its_modules(home, toolchain, project):
    settings = LeanSettings(project=str(project), imports=["Demo.Basic"])
    found = find(settings, lean_project.environ(home, home / "bin"))
    assert found.command == (str(toolchain / "bin" / "lean"),) and found.version == "4.35.0"
    assert found.environment["LEAN_PATH"] == str(project / ".lake/build/lib/lean"), "absolute, though `lake` said ./"
    assert found.name == lean_project.NAME and found.project == str(project)
    facts = found.facts()
    assert (facts.version, facts.name) == ("4.35.0", lean_project.NAME)
    assert (facts.project, facts.header) == (str(project), "import Demo.Basic")


def test_lean_gets_nothing_of_our_environment_that_it_does_not_need(home, project):
    secrets = {"PROOFMESH_NATS_PASSWORD": "s", "API_KEY": "s", "ELAN_TOOLCHAIN": "other", "LEAN_PATH": "/other"}
    found = find(LeanSettings(project=str(project)), lean_project.environ(home, home / "bin") | secrets)
    assert set(found.environment) <= {"HOME", "PATH", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH"} | {
        "LEAN_PATH",
        "LEAN_BACKTRACE",
        "LAKE",
    }
    assert "/other" not in found.environment["LEAN_PATH"]


def test_problems_of_a_project_say_what_to_do(home, toolchain, tmp_path):
    environ = lean_project.environ(home, home / "bin")
    bare = {**lean_project.environ(tmp_path / "no-elan"), "PATH": "/usr/bin:/bin"}
    assert "there is no folder" in problem(LeanSettings(project=str(tmp_path / "nowhere")), environ)
    assert "neither lakefile.toml nor lakefile.lean" in problem(LeanSettings(project=str(tmp_path)), environ)

    fresh = lean_project.make_project(tmp_path / "fresh", toolchain, built=False)
    assert "no `lake`" in (told := problem(LeanSettings(project=str(fresh)), bare)) and "install elan" in told
    assert "is not built" in (told := problem(LeanSettings(project=str(fresh)), environ)) and "lake build" in told

    (fresh / "lean-toolchain").write_text("leanprover/lean4:v4.9.0\n")
    assert "elan toolchain install leanprover/lean4:v4.9.0" in problem(LeanSettings(project=str(fresh)), environ)
    (fresh / "lean-toolchain").write_text("what is this?\n")
    assert "is not a toolchain's name" in problem(LeanSettings(project=str(fresh)), environ)

    (fresh / "lean-toolchain").write_text(f"{lean_project.NAME}\n")
    (fresh / "lakefile.toml").write_text("broken\n")
    assert "lakefile.toml: unexpected identifier" in problem(LeanSettings(project=str(fresh)), environ)


def test_the_wrong_toolchain_for_a_project_is_refused(home, toolchain, tmp_path):
    old = lean_project.make_project(tmp_path / "old", toolchain, wants="leanprover/lean4:v4.9.0")
    lake = lean_project.make_lake(tmp_path / "bin" / "lake", toolchain)
    told = problem(LeanSettings(project=str(old)), lean_project.environ(home, lake.parent))
    assert "is pinned to leanprover/lean4:v4.9.0" in told and "is Lean 4.35.0" in told
    settings = LeanSettings(project=str(old), toolchain="v4.35.0")
    assert "remove toolchain" in problem(settings, lean_project.environ(home))
    settings = LeanSettings(project=str(old), toolchain="pocket")
    assert "pocket Lean has no `lake`" in problem(settings, lean_project.environ(home))


def test_a_toolchain_that_is_named_for_a_project_needs_a_lake_of_its_own(home, project, tmp_path):
    own = lean_project.make_toolchain(tmp_path / "own")
    settings, environ = LeanSettings(project=str(project), toolchain=str(own)), lean_project.environ(home)
    assert "has no `lake`" in problem(settings, environ)
    lean_project.make_lake(own / "bin" / "lake", own)
    assert find(settings, environ).command == (str(own / "bin" / "lean"),)


def test_modules_that_are_missing_or_not_built(home, project):
    environ = lean_project.environ(home, home / "bin")
    (project / "Demo" / "More.lean").write_text("def x := 1\n")
    told = problem(LeanSettings(project=str(project), imports=["Demo.More"]), environ)
    assert "is not built" in told and "lake build Demo.More" in told
    assert "no module Nope" in problem(LeanSettings(project=str(project), imports=["Nope"]), environ)
    assert "no module Nope" in problem(LeanSettings(imports=["Pocket.Logic", "Nope"]), environ)


def test_a_toolchain_that_is_not_there_or_no_lean(home, tmp_path):
    environ = lean_project.environ(home)
    assert "there is no" in problem(LeanSettings(toolchain=str(tmp_path)), environ)
    assert "elan toolchain install v4.1.0" in problem(LeanSettings(toolchain="v4.1.0"), environ)
    assert "is neither" in problem(LeanSettings(toolchain="lean --worker"), environ)
    other = lean_project.program(tmp_path / "bin" / "lean", "echo no Lean")
    assert "is not Lean" in problem(LeanSettings(toolchain=str(other)), environ)


def test_a_header_that_would_switch_checks_off_is_refused():
    assert "switch a check off" in problem(LeanSettings(options=["debug.skipKernelTC=true"]), {})
    assert "no folder" in problem(LeanSettings(modules=["/nonexistent"]), {})
