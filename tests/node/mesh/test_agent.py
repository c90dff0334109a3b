"""`proofmesh agent`: two small repositories, with genuine Lean and a network as small as can be."""

import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from common.config import ConfigError
from common.files import cache_directory
from common.life import faults
from node.agent.store import AgentStore, Phase
from node.command.agent import main
from tests.node.training.small import small
from tests.repositories import commit, repository

EASY = """\
theorem swap (p q : Prop) (h : p ∧ q) : q ∧ p := by
  constructor
  · exact h.2
  · exact h.1

theorem left (p q : Prop) (h : p) : p ∨ q := by
  left
  exact h

theorem symm (a b : Nat) (h : a = b) : b = a := by
  rw [h]

theorem trans (a b c : Nat) (h : a = b) (i : b = c) : a = c := by
  rw [h, i]

theorem gap (p q : Prop) (h : p ∧ q) : q := by
  sorry
"""

HARD = """\
theorem or_symm (p q : Prop) (h : p ∨ q) : q ∨ p := by
  cases h with
  | inl a => exact Or.inr a
  | inr b => exact Or.inl b

theorem wrong : 1 = 2 := by
  sorry
"""


@pytest.fixture(scope="session")
def tiny_network(tmp_path_factory) -> Path:
    """A checkpoint of an untrained network."""
    from node.training.stage import first_checkpoint

    folder = tmp_path_factory.mktemp("network")
    first_checkpoint(small(folder), "sft", folder / "step-0")
    return folder / "step-0"


@pytest.fixture
def agent(tmp_path, tiny_network, monkeypatch) -> Callable[..., list[str]]:
    """Arguments of a command that works in the test's folder, on two repositories there; further ones are added."""
    cache = tmp_path / "cache"
    cache.mkdir()
    for each in cache_directory().iterdir():  # pocket Lean is there
        if each.name != "repositories":
            (cache / each.name).symlink_to(each)
    monkeypatch.setenv("PROOFMESH_CACHE", str(cache))
    easy, hard = repository(tmp_path / "easy", {"Easy.lean": EASY}), repository(tmp_path / "hard", {"Hard.lean": HARD})
    data = tmp_path / "start.jsonl"
    rows = [{"theorem": f"t{n}", "state": "p : Prop\n⊢ p", "tactic": "simp", "remaining_steps": 1} for n in range(30)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    # The harder one is named first, and learned last.
    named = [f"file://{hard}@{commit(hard)}", str(easy)]
    learning = ["--start", str(tiny_network), "--start-data", f"transitions:{data}", "--length", "96"]
    searching = ["--seconds", "3", "--simulations", "4", "--jobs", "1", "--trace-jobs", "1", "--threads", "1"]
    options = [*learning, *searching, "--batch-tokens", "96", "--no-split", "--no-sandbox", "--device", "cpu"]
    return lambda *more: [*named, "--out", str(tmp_path / "out"), *options, *more]


def killed_at(point: str, arguments: list[str]) -> None:
    command = [sys.executable, "-m", "node.command.cli", "agent", *arguments]
    environment = {**os.environ, faults.VARIABLE: point}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr


def check_finished(folder: Path) -> None:
    store = AgentStore(folder / "out", read_only=True)
    easy, hard = store.repositories()
    assert (easy.name, hard.name, easy.own, hard.own) == ("easy", "hard", True, False)
    theorems = {each.name: each for each in store.theorems(easy.number)}
    steps = {name: each.steps for name, each in theorems.items() if each.steps}
    assert steps == {"swap": 3, "left": 2, "symm": 1, "trans": 1}
    assert theorems["swap"].difficulty == pytest.approx(math.e**3) and theorems["gap"].problem == "it uses `sorry`"
    assert theorems["trans"].proof == "rw [h, i]"
    assert [theorems[name].category for name in ("symm", "left", "gap")] == ["easy", "hard", "no proof"]
    assert sum(each.held_out for each in theorems.values()) == 1 and store.trained(easy.number) == 3
    first, second = (store.stage(each.number, "train") for each in (easy, hard))
    assert first is not None and second is not None and first.details["steps"] >= 2
    assert store.noted("problems") == []
    found = {(each.training, each.repository) for each in store.evaluations()}
    assert {(0, 0), (0, easy.number), (easy.number, 0), (hard.number, easy.number)} <= found
    (gap,) = store.attempts(easy.number, Phase.NETWORK)
    assert (gap.name, gap.state, gap.line) == ("gap", "filled", 17) and gap.script
    (wrong,) = store.attempts(hard.number, Phase.NETWORK)
    assert (wrong.name, wrong.state) == ("wrong", "open")
    assert "-  sorry" in store.patches(easy.number, Phase.NETWORK)[0].diff
    trained_with = (folder / "out" / "networks" / f"{hard.number:03}-hard" / "config.toml").read_text()
    assert all(name in trained_with for name in ("hard/train.jsonl*0.7", "easy/train.jsonl*0.", "start/train.jsonl*0."))
    store.close()


@pytest.mark.usefixtures("lent_lean")
def test_the_agent_learns_fills_writes_reports_and_has_then_nothing_to_do(agent, tmp_path, capsys):
    assert main(agent("--write")) == 0
    check_finished(tmp_path)
    said = capsys.readouterr()
    assert "easy: 1 gap: 1 filled" in said.err and "easy: 1 file written" in said.err
    assert "  sorry" not in (tmp_path / "easy" / "Easy.lean").read_text()
    report = (tmp_path / "out" / "report.md").read_text()
    assert "forgetting" in report and "-  sorry" in report
    assert "<pre>--- Easy.lean" in (tmp_path / "out" / "report.html").read_text()
    # Now the folder is not as in its commit, but as we wrote it: the agent goes on, and has nothing to do.
    assert main(agent("--write", "--threads", "2")) == 0
    assert "filled" not in capsys.readouterr().err.partition("Repositories, in order")[0]
    assert main(["status", str(tmp_path / "out")]) == 0
    assert "Held-out loss" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(agent("--order", "hardest"))
    for flag, value, says in (
        ("--seed", "3", "seed was 0, is 3"),
        ("--batch-tokens", "128", "batch_tokens was 96, is 128"),
    ):
        assert main(agent(flag, value)) == 2
        assert f"holds an agent with other settings ({says})" in capsys.readouterr().err
    (tmp_path / "easy" / "Easy.lean").write_text("-- somebody's\n")
    assert main(agent()) == 1
    assert "skipped: " in (told := capsys.readouterr().err) and "has uncommitted changes (Easy.lean" in told


@pytest.mark.lean
@pytest.mark.slow
@pytest.mark.parametrize("point", ["agent:stage-ended", "trainer-0:in-step#2", "agent:searched-gap"])
def test_the_agent_goes_on_after_a_kill_anywhere(agent, tmp_path, point, capsys):
    killed_at(point, agent())
    assert main(agent()) == 0
    check_finished(tmp_path)
    traced = point == "agent:stage-ended"
    assert traced or "tracing" not in capsys.readouterr().err, "what is traced is not traced again"


@pytest.mark.process
def test_bad_input_gets_a_line_and_code_2(called, tmp_path, monkeypatch):
    monkeypatch.setattr("node.lean.trace.sources.cache_directory", lambda: tmp_path / "cache")
    run = partial(called, main)
    origin = repository(tmp_path / "origin", {"A.lean": EASY})
    (tmp_path / "empty").mkdir()
    (tmp_path / "pinned").mkdir()
    (tmp_path / "pinned" / "A.lean").write_text(EASY)
    (tmp_path / "pinned" / "lakefile.toml").write_text('name = "a"\n')
    (tmp_path / "pinned" / "lean-toolchain").write_text("leanprover/lean4:v4.1.0\n")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("ELAN_HOME", str(tmp_path / "elan"))
    refused = {
        (): "no repository given: name folders, or URL@COMMIT",
        ("nowhere",): "nowhere: no such file or folder",
        ("empty",): "empty: no .lean file in it",
        (f"file://{origin}",): "no commit given",
        (f"file://{tmp_path}/none@main",): "the repository cannot be reached",
        (f"file://{origin}@v9",): "no branch or tag `v9`",
        ("pinned",): "there is no `lake`",
        ("origin", "--start", "nowhere"): "no checkpoint under nowhere",
        ("origin", "--policy", "own:nowhere"): "--policy own:nowhere: ",
        ("origin", "--start-data", "text:bank"): "name transitions:WHERE",
        ("status", "nothing"): "has no agent",
    }
    for asked, reason in refused.items():
        code, _, said = run(*asked, *(() if asked[:1] == ("status",) else ("--out", "out")))
        assert code == 2 and reason in said, (asked, said)
        assert all(line.startswith(("proofmesh agent:", "skipped:")) for line in said.splitlines())
    with pytest.raises(ConfigError, match="must be at least --length"):
        run("origin", "--length", "512", "--batch-tokens", "256")
