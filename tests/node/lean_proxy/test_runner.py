"""Headers of a worker: changed without a new process where nothing else is imported."""

import pytest

from common.lean import OutcomeKind, Theorem
from node.lean_proxy.toolchain import LeanToolchain
from node.lean_proxy.worker.plan import Plan
from node.lean_proxy.worker.process import WorkerOptions
from node.lean_proxy.worker.runner import BadHeader, Runner, imports


@pytest.fixture
async def runner():
    runner = Runner(LeanToolchain.pocket(), WorkerOptions())
    yield runner
    await runner.stop()


async def kind(runner: Runner, header: str, tactic: str, conclusion: str = "Nat.succ 0 = 1") -> OutcomeKind:
    plan = Plan(Theorem("t", "", conclusion, header), (), {0: tactic})
    await runner.run(plan, timeout=20)
    return plan.bad_statement or plan.outcomes[0].kind


async def test_a_header_changes_without_a_new_process(runner):
    assert await kind(runner, "", "rfl") is OutcomeKind.PROVED
    pid = runner.process.process.pid
    assert await kind(runner, "open Nat", "rfl", "succ 0 = 1") is OutcomeKind.PROVED
    assert "succ" in await kind(runner, "", "rfl", "succ 0 = 1"), "the old header is back, without the `open`"
    assert runner.process.process.pid == pid and runner.restarts == 0


async def test_a_bad_header_is_refused_each_time_and_costs_no_process(runner):
    assert await kind(runner, "", "rfl") is OutcomeKind.PROVED
    pid = runner.process.process.pid
    for _ in range(2):
        with pytest.raises(BadHeader, match="NoSuchNamespace"):
            await kind(runner, "open NoSuchNamespace", "rfl")
    assert await kind(runner, "", "rfl") is OutcomeKind.PROVED
    assert runner.process.process.pid == pid


async def test_other_imports_take_another_process(runner):
    assert await kind(runner, "", "rfl") is OutcomeKind.PROVED
    pid = runner.process.process.pid
    assert await kind(runner, "import Pocket.Logic", "rfl") is OutcomeKind.PROVED
    assert runner.process.process.pid != pid
    with pytest.raises(BadHeader):
        await kind(runner, "import NoSuchModule", "rfl")


def test_only_lines_that_import_count():
    assert imports("import A\nopen Nat\npublic import B\ndef important := 1") == ["import A", "public import B"]
