"""Finding Lean: real processes of a small installation, project and `lake`. A Lake project's options reach Lean: those
that Lake names, in its old words and its new ones, and no others."""

import json
from pathlib import Path

import pytest

from common.lean import OutcomeKind, Step, Theorem
from common.settings import LeanSettings
from node.lean.toolchain.find import find
from node.lean.toolchain.lean_toolchain import LeanProblem, LeanToolchain
from node.lean.worker.pool import Pool
from node.lean.worker.process import WorkerOptions
from tests import lean_project
from tests.node.lean.backends import run, started
from tests.node.lean.verify.recorded import opened

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


def found(home: Path, project: Path, **settings) -> LeanToolchain:
    return find(LeanSettings(project=str(project), **settings), lean_project.environ(home, home / "bin"))


def problem(environ, project: Path | str = "", **settings) -> str:
    """Why Lean is not found."""
    with pytest.raises(LeanProblem) as caught:
        find(LeanSettings(project=str(project), **settings), environ)
    return str(caught.value)


def test_a_project_gives_its_lean_and_its_modules(home, toolchain, project):
    lean = found(home, project, imports=["Demo.Basic"])
    assert lean.command == (str(toolchain / "bin" / "lean"),) and lean.version == "4.35.0"
    assert lean.environment["LEAN_PATH"] == str(project / ".lake/build/lib/lean"), "absolute, though `lake` said ./"
    assert lean.name == lean_project.NAME and lean.project == str(project)
    facts = lean.facts()
    told = (facts.version, facts.name, facts.project, facts.header)
    assert told == ("4.35.0", lean_project.NAME, str(project), "import Demo.Basic")


def test_lean_gets_nothing_of_our_environment_that_it_does_not_need(home, project):
    secrets = {"PROOFMESH_NATS_PASSWORD": "s", "API_KEY": "s", "ELAN_TOOLCHAIN": "other", "LEAN_PATH": "/other"}
    lean = find(LeanSettings(project=str(project)), lean_project.environ(home, home / "bin") | secrets)
    needed = {"HOME", "PATH", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "LEAN_PATH", "LEAN_BACKTRACE", "LAKE"}
    assert {*lean.environment} <= needed and "/other" not in lean.environment["LEAN_PATH"]


def test_problems_of_a_project_say_what_to_do(home, toolchain, tmp_path):
    environ = lean_project.environ(home, home / "bin")
    bare = {**lean_project.environ(tmp_path / "no-elan"), "PATH": "/usr/bin:/bin"}
    assert "there is no folder" in problem(environ, tmp_path / "nowhere")
    assert "neither lakefile.toml nor lakefile.lean" in problem(environ, tmp_path)

    fresh = lean_project.make_project(tmp_path / "fresh", toolchain, built=False)
    assert "no `lake`" in (told := problem(bare, fresh)) and "install elan" in told
    assert "is not built" in (told := problem(environ, fresh)) and "lake build" in told

    (fresh / "lean-toolchain").write_text("leanprover/lean4:v4.9.0\n")
    assert "elan toolchain install leanprover/lean4:v4.9.0" in problem(environ, fresh)
    (fresh / "lean-toolchain").write_text("what is this?\n")
    assert "is not a toolchain's name" in problem(environ, fresh)

    (fresh / "lean-toolchain").write_text(f"{lean_project.NAME}\n")
    (fresh / "lakefile.toml").write_text("broken\n")
    assert "lakefile.toml: unexpected identifier" in problem(environ, fresh)


def test_the_wrong_toolchain_for_a_project_is_refused(home, toolchain, tmp_path):
    old = lean_project.make_project(tmp_path / "old", toolchain, wants="leanprover/lean4:v4.9.0")
    lake = lean_project.make_lake(tmp_path / "bin" / "lake", toolchain)
    told = problem(lean_project.environ(home, lake.parent), old)
    assert "is pinned to leanprover/lean4:v4.9.0" in told and "is Lean 4.35.0" in told
    environ = lean_project.environ(home)
    assert "remove toolchain" in problem(environ, old, toolchain="v4.35.0")
    assert "pocket Lean has no `lake`" in problem(environ, old, toolchain="pocket")


def test_a_toolchain_that_is_named_for_a_project_needs_a_lake_of_its_own(home, project, tmp_path):
    own = lean_project.make_toolchain(tmp_path / "own")
    settings, environ = LeanSettings(project=str(project), toolchain=str(own)), lean_project.environ(home)
    assert "has no `lake`" in problem(environ, project, toolchain=str(own))
    lean_project.make_lake(own / "bin" / "lake", own)
    assert find(settings, environ).command == (str(own / "bin" / "lean"),)


def test_modules_that_are_missing_or_not_built(home, project):
    environ = lean_project.environ(home, home / "bin")
    (project / "Demo" / "More.lean").write_text("def x := 1\n")
    told = problem(environ, project, imports=["Demo.More"])
    assert "is not built" in told and "lake build Demo.More" in told
    assert "no module Nope" in problem(environ, project, imports=["Nope"])
    assert "no module Nope" in problem(environ, imports=["Pocket.Logic", "Nope"])


def test_a_toolchain_that_is_not_there_or_no_lean(home, tmp_path):
    environ = lean_project.environ(home)
    assert "there is no" in problem(environ, toolchain=str(tmp_path))
    assert "elan toolchain install v4.1.0" in problem(environ, toolchain="v4.1.0")
    assert "is neither" in problem(environ, toolchain="lean --worker")
    other = lean_project.program(tmp_path / "bin" / "lean", "echo no Lean")
    assert "is not Lean" in problem(environ, toolchain=str(other))


def test_a_header_that_would_switch_checks_off_is_refused():
    assert "switch a check off" in problem({}, options=["debug.skipKernelTC=true"])
    assert "no folder" in problem({}, modules=["/nonexistent"])


@pytest.fixture
def empty_project(home, tmp_path):
    """A built project, its compiled module being empty: nothing is imported from it."""
    folder = lean_project.make_project(tmp_path / "demo", home, built=False)
    module = folder / ".lake/build/lib/lean/Demo/Basic.olean"
    module.parent.mkdir(parents=True)
    module.touch()
    return folder


def ask_for(project: Path, **options) -> None:
    """Has `lake` name these options."""
    (project / lean_project.SETUP).write_text(json.dumps({"name": "Demo.Basic", "options": options}))


def test_lake_is_asked_about_a_file_of_the_project(home, empty_project):
    ask_for(empty_project, **{"pp.unicode.fun": True, "maxSynthPendingDepth": 3, "a.b": "c"})
    lean = found(home, empty_project)
    options = ("pp.unicode.fun=true", "maxSynthPendingDepth=3", "a.b=c")
    assert [*lean.command[1:]] == [f"-D{each}" for each in options]
    assert (lean.facts().options, lean.notes) == (options, ())
    asked = (empty_project / lean_project.ASKED).read_text().split()
    assert asked[:2] == ["setup-file", str(empty_project / "Demo" / "Basic.lean")] and asked[-1] == "--no-build"
    assert json.loads(asked[2]) == {"imports": [], "isModule": False}, "nothing is built for the answer"


def test_a_lake_that_cannot_say_is_no_error_and_lakefile_toml_says_it(home, empty_project):
    with (empty_project / "lakefile.toml").open("a") as file:
        file.write('leanOptions = { pp.unicode.fun = false }\nmoreLeanArgs = ["-Dpp.unicode.fun=true", "--tstack=9"]\n')
        file.write('[[lean_lib]]\nname = "Other"\nmoreLeanArgs = ["-D", "maxRecDepth=7"]\n')
    lean = found(home, empty_project)  # the options of the library that the module is in, in Lake's order
    assert [*lean.command[1:]] == ["-Dpp.unicode.fun=true"] and len(lean.notes) == 2
    assert "unknown command 'setup-file'" in lean.notes[0] and "--tstack=9 is not used" in lean.notes[1]


def test_options_that_switch_checks_off_are_left_out_and_so_are_linters(home, empty_project):
    bad = {"debug.skipKernelTC": True, "weak.debug.skipKernelTC": True, "weak.linter.all": True, "linter.style": True}
    ask_for(empty_project, **bad, maxRecDepth=700)
    lean = found(home, empty_project)
    assert [*lean.command[1:]] == ["-DmaxRecDepth=700"]
    assert ["switch a check off" in note for note in lean.notes] == [True, True]


async def test_tactics_and_verification_run_with_them(home, toolchain, tmp_path):
    # Without this option a name that Lean has chosen cannot be used.
    theorem, tactics = Theorem("t", "", "∀ x : Nat, x = x"), ("intro", "exact Eq.refl x")
    project = lean_project.make_project(tmp_path / "demo", toolchain)
    ask_for(project, **{"tactic.hygienic": False})
    lean = found(home, project)
    async with started(Pool(lean, WorkerOptions(), workers=1, queue=10)) as pool, opened(lean) as verifier:
        (first,) = (await run(pool, theorem, (), tactics[0])).outcomes
        (second,) = (await run(pool, theorem, [Step("intro", 0, first.layout)], tactics[1])).outcomes
        assert second.kind is OutcomeKind.PROVED, second
        verdict = await verifier.verify(theorem, "\n".join(tactics))
        assert verdict.accepted, verdict.reason
