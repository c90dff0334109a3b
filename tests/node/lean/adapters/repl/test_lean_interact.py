"""`lean-interact`, the client from the package registry, over our REPL: unchanged, by its own documented ways."""

from collections.abc import Iterator

import pytest
from lean_interact import AutoLeanServer, Command, LeanREPLConfig, ProofStep
from lean_interact.interface import LeanError

from tests.node.lean.adapters.repl.stand_ins import install

pytestmark = pytest.mark.process

PATIENCE = 60.0
SWAP = "theorem swap (p q : Prop) (h : p ∧ q) : q ∧ p := by sorry"
ENDLESS = "example : True := by\n  repeat (have := trivial)\n  trivial"


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> LeanREPLConfig:
    folder = tmp_path_factory.mktemp("stand-in") / "a folder's name"
    return LeanREPLConfig(local_repl_path=folder, lake_path=install(folder))


@pytest.fixture
def server(config: LeanREPLConfig) -> Iterator[AutoLeanServer]:
    # The machine's memory is not this test's: the client would wait while others use it.
    server = AutoLeanServer(config, max_total_memory=1.01)
    yield server
    server.kill()


def run(server, request, **more):
    return server.run(request, timeout=PATIENCE, **more)


def test_commands_environments_and_proof_steps(config, server):
    assert config.lean_version is not None and config.lean_version.startswith("v4.")
    first = run(server, Command(cmd="def f (n : Nat) := n + 1"))
    assert first.env == 0 and first.lean_code_is_valid()
    wrong = run(server, Command(cmd="example : f 1 = 3 := rfl", env=0))
    assert wrong.has_errors() and wrong.get_errors()[0].start_pos.line == 1
    proved = run(server, Command(cmd="example : f 1 = 2 := rfl", env=0))
    assert proved.lean_code_is_valid(allow_sorry=False) and not proved.messages
    assert isinstance(run(server, Command(cmd="#check f", env=77)), LeanError)
    opened = run(server, Command(cmd=SWAP))
    assert opened.lean_code_is_valid() and not opened.lean_code_is_valid(allow_sorry=False)
    split = run(server, ProofStep(tactic="constructor", proof_state=opened.sorries[0].proof_state))
    assert [goal.splitlines()[-1] for goal in split.goals] == ["⊢ q", "⊢ p"]
    assert isinstance(run(server, ProofStep(tactic="exact nothing.at", proof_state=99)), LeanError)
    left = run(server, ProofStep(tactic="exact h.2", proof_state=split.proof_state))
    done = run(server, ProofStep(tactic="exact h.1", proof_state=left.proof_state))
    assert done.proof_status == "Completed" and done.goals == []
    shown = run(server, Command(cmd="#check (f 1)", env=0, set_options=[(["pp", "explicit"], True)]))
    assert not shown.has_errors()


@pytest.mark.slow
def test_a_time_out_ends_the_server_and_the_next_request_starts_another(server):
    kept = run(server, Command(cmd="def f := 1"), add_to_session_cache=True)
    first = server._proc.pid
    with pytest.raises(TimeoutError):
        server.run(Command(cmd=ENDLESS), timeout=1.0)
    assert not server.is_alive()
    assert run(server, Command(cmd="example : f = 1 := rfl", env=kept.env)).messages == []
    assert server.is_alive() and server._proc.pid != first
