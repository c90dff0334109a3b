"""A Lake project as the Lean of workers and of verification."""

import pytest

from common.lean import OutcomeKind, Theorem
from common.settings import LeanSettings
from node.lean.check.verify.verifier import Verifier
from node.lean.toolchain.find import find
from node.lean.worker.plan import BatchPlan
from node.lean.worker.pool import Pool
from node.lean.worker.process import WorkerOptions
from tests import lean_project

pytestmark = pytest.mark.lean


async def test_a_project_serves_workers_and_verification(tmp_path):
    toolchain = lean_project.make_elan(tmp_path / "elan")
    project = lean_project.make_project(tmp_path / "demo", toolchain)
    settings = LeanSettings(project=str(project), imports=["Demo.Basic"], opens=["Demo"])
    lean = await find(settings, lean_project.environ(tmp_path / "elan")).confined()
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
