"""The `repl` backend over a real REPL that misbehaves as REPL processes do."""

import shlex
import sys
from pathlib import Path

import pytest

from common.lean import OutcomeKind, Step, Theorem
from node.lean.adapters.repl import backend as module
from node.lean.backend import Backend, BackendDown, TacticBatch
from tests.node.lean.backends import repl

pytestmark = pytest.mark.lean
SLOW = pytest.mark.slow

PROVED, GOALS, ERROR = OutcomeKind.PROVED, OutcomeKind.GOALS, OutcomeKind.ERROR
AND = Theorem("t", "(p q : Prop)", "p ∧ q → q ∧ p")
PATIENCE = 60.0


def faulty(mode: str) -> str:
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(Path(__file__).with_name('faulty.py')))} {mode}"


async def kinds(backend: Backend, *tactics: str, path: tuple[Step, ...] = (), timeout: float = PATIENCE):
    result = await backend.attempt(TacticBatch(AND, path, tactics, timeout))
    return [outcome.kind for outcome in result.outcomes]


@pytest.mark.parametrize("mode", ["garbage", *(pytest.param(mode, marks=SLOW) for mode in ("forgets", "dies"))])
async def test_a_faulty_repl_says_the_same_in_the_end(mode):
    split = Step("intro h\nconstructor", 1, ((0,), (1,)))
    async with repl(command=faulty(mode)) as backend:
        for _ in range(2):
            assert await kinds(backend, "intro h", "exact h", "exact fun h => ⟨h.2, h.1⟩") == [GOALS, ERROR, PROVED]
            assert await kinds(backend, "skip", "exact h.2", "exact h.1", path=(split,)) == [GOALS, ERROR, PROVED]
        assert (backend.restarts > 0) == (mode in ("dies", "forgets"))


async def test_goals_that_the_repl_has_lost_are_found_again():
    async with repl(command=faulty("loses")) as backend:
        result = await backend.attempt(TacticBatch(AND, (), ("intro ⟨a, b⟩\nconstructor", "exact fun h => ⟨h.2, h.1⟩")))
        assert [outcome.kind for outcome in result.outcomes] == [GOALS, PROVED]
        states = [branch.state for branch in result.outcomes[0].branches]
        assert states == ["p q : Prop\na : p\nb : q\n⊢ q", "p q : Prop\na : p\nb : q\n⊢ p"]


@pytest.mark.parametrize(
    ("mode", "kind"),
    [pytest.param("hangs-MARK", OutcomeKind.TIMEOUT, marks=pytest.mark.slow), ("ends-MARK", OutcomeKind.CRASHED)],
)
async def test_what_ends_the_process_is_told_of_that_candidate_alone(mode, kind):
    async with repl(command=faulty(mode)) as backend:
        timeout = 1 if mode.startswith("hangs") else PATIENCE
        assert await kinds(backend, "intro h", "exact MARK", "exact h", timeout=timeout) == [GOALS, kind, ERROR]
        assert backend.restarts == (1 if kind is OutcomeKind.TIMEOUT else 2)


async def test_a_repl_that_does_not_start_is_told_with_its_own_words():
    async with repl(command=faulty("nothing")) as backend:
        with pytest.raises(BackendDown, match="no library"):
            await backend.attempt(TacticBatch(AND))
    async with repl(command="no-such-program-at-all") as backend:
        with pytest.raises(BackendDown, match="no-such-program-at-all"):
            await backend.attempt(TacticBatch(AND))


async def test_processes_are_replaced_before_their_old_states_are_too_many(monkeypatch):
    monkeypatch.setattr(module, "RECYCLE_COMMANDS", 8)
    monkeypatch.setattr(module, "RECYCLE_STARTS", 0)
    pids = set()
    async with repl() as backend:
        for number in range(3):
            assert await kinds(backend, "intro h", f"exact {number}", "exact fun h => ⟨h.2, h.1⟩") == [
                GOALS,
                ERROR,
                PROVED,
            ]
            pids |= {process.pid for process in backend.processes()}
            assert all(process.commands < 8 for process in backend.processes())
        assert backend.restarts == 0 and len(pids) >= 2
