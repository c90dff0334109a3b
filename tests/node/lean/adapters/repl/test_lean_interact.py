"""`lean-interact`, the client from the package registry, over our REPL: unchanged, by its own documented ways."""

import json
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from lean_interact import AutoLeanServer, Command, FileCommand, LeanREPLConfig, LeanServer, ProofStep
from lean_interact.interface import (
    LeanError,
    PickleEnvironment,
    PickleProofState,
    UnpickleEnvironment,
    UnpickleProofState,
)

from node.command.cli import main
from tests.node.lean.adapters.repl.stand_ins import install, kill_lean_below

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
def test_files_with_all_tactics_root_goals_and_info_trees(server, tmp_path):
    file = tmp_path / "some.lean"
    file.write_text("theorem t (p : Prop) (h : p) : p ∧ p := by\n  constructor\n  all_goals exact h\n", "utf-8")
    answer = run(server, FileCommand(path=str(file), all_tactics=True, root_goals=True, infotree="full"))
    assert [tactic.tactic for tactic in answer.tactics[:2]] == ["constructor", "all_goals exact h"]
    assert answer.tactics[0].used_constants == ["And.intro"]
    step = run(server, ProofStep(tactic="constructor", proof_state=answer.tactics[0].proof_state))
    assert len(step.goals) == 2
    assert answer.sorries[0].goal == "p : Prop\nh : p\n⊢ p ∧ p"
    (theorem,) = [found for tree in answer.infotree for found in tree.theorems()]
    assert theorem.node.stx.pp.startswith("theorem t (p : Prop) (h : p) : p ∧ p :=")
    goals = [node.node.goals_before for node in theorem.dfs_walk() if node.kind == "TacticInfo"]
    assert ["p : Prop\nh : p\n⊢ p ∧ p"] in goals


@pytest.mark.slow
def test_states_are_pickled_and_read_by_another_server(config, server, tmp_path):
    environment, state = str(tmp_path / "environment"), str(tmp_path / "state")
    run(server, Command(cmd="def f := 42"))
    opened = run(server, Command(cmd=SWAP, env=0))
    split = run(server, ProofStep(tactic="constructor", proof_state=opened.sorries[0].proof_state))
    assert run(server, PickleEnvironment(env=0, pickle_to=environment)).env == 0
    assert run(server, PickleProofState(proof_state=split.proof_state, pickle_to=state)).goals == split.goals
    other = LeanServer(config)
    try:
        assert run(other, UnpickleEnvironment(unpickle_env_from=environment)).env == 0
        assert run(other, Command(cmd="example : f = 42 := rfl", env=0)).messages == []
        again = run(other, UnpickleProofState(unpickle_proof_state_from=state))
        assert again.goals == split.goals
        assert run(other, ProofStep(tactic="exact h.2", proof_state=again.proof_state)).goals == split.goals[1:]
        assert isinstance(run(other, UnpickleEnvironment(unpickle_env_from=state)), LeanError)
    finally:
        other.kill()


@pytest.mark.slow
def test_a_time_out_ends_the_server_and_the_next_request_starts_another(server):
    kept = run(server, Command(cmd="def f := 1"), add_to_session_cache=True)
    first = server._proc.pid
    with pytest.raises(TimeoutError):
        server.run(Command(cmd=ENDLESS), timeout=1.0)
    assert not server.is_alive()
    assert run(server, Command(cmd="example : f = 1 := rfl", env=kept.env)).messages == []
    assert server.is_alive() and server._proc.pid != first


@pytest.mark.slow
def test_a_killed_lean_costs_nothing_and_a_killed_repl_is_replaced(server):
    kept = run(server, Command(cmd="def f := 1"), add_to_session_cache=True)
    opened = run(server, Command(cmd=SWAP))
    first = server._proc
    assert kill_lean_below(first.pid) >= 1
    step = run(server, ProofStep(tactic="exact ⟨h.2, h.1⟩", proof_state=opened.sorries[0].proof_state))
    assert step.proof_status == "Completed" and server._proc is first
    first.kill()
    first.wait(30)
    assert run(server, Command(cmd="example : f = 1 := rfl", env=kept.env)).messages == []
    assert server._proc is not first


def test_a_folder_of_somebody_else_is_left_alone(tmp_path, capsys):
    install(tmp_path, "--seconds", "7")
    install(tmp_path, "--seconds", "9")  # ours: written anew
    script = tmp_path / ".lake" / "build" / "bin" / "repl"
    assert "--seconds 9" in script.read_text(encoding="utf-8")
    script.write_bytes(b"\x7fELF")
    assert main(["repl", "--install-stand-in", str(tmp_path)]) == 2
    assert "was not written by proofmesh" in capsys.readouterr().err
    assert script.read_bytes() == b"\x7fELF"


def test_a_stand_in_starts_from_any_folder_with_its_own_flags(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "Other.olean").touch()  # nothing imports it
    install(Path("stand-in"), "--modules", "modules", "--opens", "Nat", "--leantree")
    written = tomllib.loads((tmp_path / "stand-in" / "proofmesh.toml").read_text(encoding="utf-8"))
    assert (written["lean"]["opens"], written["lean"]["modules"]) == (["Nat"], [str(tmp_path / "modules")])
    script = tmp_path / "stand-in" / ".lake" / "build" / "bin" / "repl"
    monkeypatch.chdir("/")
    asked = '{"cmd": "theorem t : 1 = 1 := by sorry"}\n\n'
    spoken = subprocess.run([script], input=asked, capture_output=True, text=True, timeout=120)
    assert json.loads(spoken.stdout)["sorries"][0]["goalInfo"]["type"] == "1 = 1"


def test_the_stand_in_for_lake_knows_what_starting_a_repl_needs(config):
    def lake(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([Path(config.lake_path), *arguments], capture_output=True, text=True, timeout=60)

    assert config.lean_version.removeprefix("v") in lake("--version").stdout
    assert lake("build").returncode == 0
    assert lake("env", "printf", "%s|", "a b", "c").stdout == "a b|c|"
    unknown = lake("update")
    assert unknown.returncode == 1 and "stand-in" in unknown.stderr
