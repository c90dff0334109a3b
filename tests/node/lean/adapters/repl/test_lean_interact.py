"""`lean-interact`, the client from the package registry, over our REPL: unchanged, by its own documented ways."""

import json
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from lean_interact import AutoLeanServer, Command, LeanREPLConfig, ProofStep
from lean_interact.interface import LeanError

from node.command.cli import main
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
