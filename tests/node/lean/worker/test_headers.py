"""Headers: from the configuration and from a theorem; and a worker's processes by what they import."""

from contextlib import asynccontextmanager

import pytest

from common.config import ConfigError, dump, load, load_lean
from common.lean import OutcomeKind, Theorem
from common.lean_settings import LeanSettings
from common.sizing import Machine
from node.lean.text.headers import completed, import_lines, imports
from node.lean.toolchain.find import find
from node.lean.toolchain.problems import LeanProblem
from node.lean.verify.verifier import Verifier
from node.lean.worker import process
from node.lean.worker.plan import BatchPlan
from node.lean.worker.pool import Pool, StillLoading
from node.lean.worker.preparing import prepare
from node.lean.worker.process import WorkerOptions
from node.lean_proxy.settings import LeanProxySettings
from tests import lean_project

LOGIC, NAT = "import Pocket.Logic", "import Pocket.Nat.Basic"


def test_a_theorems_header_comes_behind_the_configured_one_unless_it_imports():
    assert completed("", "import A") == "import A"
    assert completed("open Nat", "import A\nopen B") == "import A\nopen B\nopen Nat"
    assert completed("import C\nopen Nat", "import A") == "import C\nopen Nat"
    assert completed("open Nat", "") == "open Nat"


def test_the_lines_that_import():
    header = "-- one\nimport A\nopen Nat\npublic import B\ndef important := 1"
    assert imports(header) == ["import A", "public import B"] and import_lines(header) == 4
    assert import_lines("open Nat") == 0


def test_settings_write_a_header():
    settings = LeanSettings(imports=["A", "B.C"], opens=["Nat", "scoped Topology"], options=["pp.all=true", "x = 3"])
    settings.check()
    assert settings.header().split("\n") == [
        "import A",
        "import B.C",
        "set_option pp.all true",
        "set_option x 3",
        "open Nat",
        "open scoped Topology",
    ]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('imports = ["import A"]', "is no name of a module"),
        ('opens = ["open Nat"]', "name a namespace"),
        ('options = ["maxRecDepth"]', "write NAME=VALUE"),
        ('projct = "x"', "did you mean `project`?"),
        ("header_seconds = -1", "must be more than 0"),
    ],
)
def test_what_is_wrong_in_the_section_is_told_by_its_name(tmp_path, line, says):
    file = tmp_path / "mesh.toml"
    file.write_text(f"[lean]\n{line}\n")
    with pytest.raises(ConfigError, match=r"mesh\.toml: \[lean\]") as caught:
        load(LeanProxySettings, file, "lean_proxy")
    assert says in str(caught.value)


def test_one_section_serves_all_that_run_lean(tmp_path):
    file = tmp_path / "mesh.toml"
    file.write_text('[lean]\nproject = "p"\nimports = ["A"]\n[lean_proxy]\nworkers = 3\n')
    settings = load(LeanProxySettings, file, "lean_proxy")
    assert settings.lean == load_lean(file) == LeanSettings(project="p", imports=["A"]) and settings.workers == 3
    again = tmp_path / "again.toml"
    again.write_text(dump({"lean_proxy": settings}))
    assert "[lean]" in again.read_text() and load(LeanProxySettings, again, "lean_proxy") == settings


@pytest.fixture
async def pool():
    """One worker, which keeps one process for another header; it knows the header of a project."""
    pool = Pool(find(LeanSettings()), WorkerOptions(spares=1), workers=1, queue=10)
    pool.start()
    yield pool
    await pool.stop()


async def kind(pool: Pool, header: str, tactic: str = "trivial", timeout: float = 20.0) -> OutcomeKind:
    plan = BatchPlan(Theorem("t", "", "True", header), (), {0: tactic})
    await pool.run(plan, timeout=timeout, warm=header)
    return plan.bad_statement or plan.outcomes[0].kind


def running(pool: Pool) -> list[int]:
    """The process of the worker, then those that wait for their header."""
    return [each.process.pid for each in pool.processes()]


@pytest.mark.lean
async def test_a_process_waits_for_its_header_and_the_longest_unused_one_ends(pool):
    assert await kind(pool, LOGIC) is OutcomeKind.PROVED
    (logic,) = running(pool)
    assert await kind(pool, NAT) is OutcomeKind.PROVED
    nat, waiting = running(pool)
    assert waiting == logic, "it waits for its header"
    assert await kind(pool, f"{LOGIC}\nopen Nat") is OutcomeKind.PROVED
    assert running(pool) == [logic, nat]
    assert await kind(pool, "") is OutcomeKind.PROVED
    new, waiting = running(pool)
    assert waiting == logic and new not in (logic, nat), "of two, the one that was used last is kept"
    assert pool.restarts == 0


@pytest.mark.lean
async def test_a_tactic_out_of_time_does_not_cost_the_process(pool, monkeypatch):
    monkeypatch.setattr(process, "RECALL_LEAST_SECONDS", 60.0)  # however slow this machine is
    monkeypatch.setattr(process, "RECALL_MOST_SECONDS", 60.0)
    assert await kind(pool, LOGIC) is OutcomeKind.PROVED
    (before,) = running(pool)
    assert await kind(pool, LOGIC, "repeat (have := trivial)", timeout=1) is OutcomeKind.TIMEOUT
    assert await kind(pool, LOGIC) is OutcomeKind.PROVED
    assert running(pool) == [before] and pool.restarts == 0


@pytest.mark.lean
async def test_a_bad_open_does_not_cost_the_process_that_has_loaded_the_imports(pool):
    with pytest.raises(ValueError, match="NoSuchNamespace"):
        await kind(pool, f"{LOGIC}\nopen NoSuchNamespace")
    (before,) = running(pool)
    assert await kind(pool, f"{LOGIC}\nopen Nat") is OutcomeKind.PROVED
    assert running(pool) == [before]
    with pytest.raises(ValueError, match="NoSuchModule"):
        await kind(pool, "import NoSuchModule")
    assert await kind(pool, LOGIC) is OutcomeKind.PROVED
    assert running(pool) == [before], "it waited meanwhile"


@asynccontextmanager
async def started(settings: LeanSettings, options: WorkerOptions, workers: int = 1):
    pool = Pool(find(settings), options, workers=workers, queue=10)
    pool.start()
    try:
        yield pool
    finally:
        await pool.stop()


@pytest.mark.lean
async def test_at_the_start_the_header_is_loaded_by_as_many_workers_as_memory_holds():
    async with started(LeanSettings(imports=["Pocket.Logic"]), WorkerOptions(), workers=4) as pool:
        first = await prepare(pool, Machine(cores=8, memory_mb=700))
        assert pool.workers == 1, "of 700 MB half is Lean's, and a worker takes 300 MB and its header"
        assert pool.processes() == [first] and first.header_mb > 0


@pytest.mark.lean
@pytest.mark.parametrize(
    ("settings", "options", "says"),
    [
        (LeanSettings(), WorkerOptions(start_seconds=0.001), "raise [lean] header_seconds"),
        (LeanSettings(opens=["Nope"]), WorkerOptions(), "correct opens and options in [lean]"),
        (LeanSettings(options=["no.such=1"]), WorkerOptions(), "set_option no.such 1"),
    ],
)
async def test_what_is_wrong_with_the_header_is_told_at_the_start(settings, options, says):
    async with started(settings, options) as pool:
        with pytest.raises(LeanProblem) as caught:
            await prepare(pool)
    assert says in str(caught.value) and "Lean 4.35.0 (pocket Lean)" in str(caught.value)


@pytest.mark.lean
async def test_who_waits_for_a_header_is_told_to_ask_again_and_the_loading_goes_on():
    async with started(LeanSettings(), WorkerOptions(loading_seconds=0.0)) as pool:
        with pytest.raises(StillLoading):
            await kind(pool, LOGIC)
        assert await kind(pool, LOGIC) is OutcomeKind.PROVED, "the worker is free when it has loaded the header"
        assert pool.restarts == 0 and len(running(pool)) == 1


@pytest.mark.lean
async def test_a_project_serves_workers_and_verification(tmp_path):
    toolchain = lean_project.make_elan(tmp_path / "elan")
    project = lean_project.make_project(tmp_path / "demo", toolchain)
    settings = LeanSettings(project=str(project), imports=["Demo.Basic"], opens=["Demo"])
    lean = find(settings, lean_project.environ(tmp_path / "elan")).confined()
    theorem = Theorem("t", "", "double 0 = 0")

    pool = Pool(lean, WorkerOptions(), workers=1, queue=1)
    pool.start()
    plan = BatchPlan(theorem, (), {0: "exact double_zero", 1: "exact nothing"})
    await pool.run(plan, timeout=20, warm=None)
    await pool.stop()
    assert [plan.outcomes[index].kind for index in (0, 1)] == [OutcomeKind.PROVED, OutcomeKind.ERROR]

    verifier = Verifier(lean, at_once=1, seconds=60, memory_mb=2048)
    verdict = await verifier.verify(theorem, "exact double_zero")
    wrong = await verifier.verify(theorem, "intro x\nexact double_zero")
    own = await verifier.verify(Theorem("t", "", "Demo.double 0 = 0", "import Demo.Basic"), "rfl")
    verifier.close()
    assert verdict.accepted and verdict.lean_version == "4.35.0" and own.accepted
    assert wrong.reason.startswith("Lean rejects the proof at line 1:"), wrong.reason
