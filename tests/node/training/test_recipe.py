"""Recipes: read, refused, carried out; and ranks as child processes: started together, ended together."""

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from common.config import ConfigError
from node.data.errors import TrainingError
from node.model import checkpoint
from node.model.checkpoint_folders import latest
from node.training import __main__ as cli, launch, recipe
from node.training.recipe import mesh
from node.training.settings import STAGES
from tests.node.training.small import rows, write_jsonl

ROOT = Path(__file__).parents[3]
SCRATCH = ROOT / "scripts" / "recipes" / "scratch.toml"

SMALL = """
[recipe]
name = "little"
directory = "{folder}/runs"
[all]
vocab_size = 420
steps = 2
length = 96
batch_tokens = 192
threads = 1
device = "cpu"
model = {{ depth = 1, width = 32, heads = 2, kv_heads = 1, hidden = 64, context = 96 }}
data = {{ window = 2, valid_tokens = 200, cache = "{folder}/cache" }}
[pretrain.data]
sources = ["text:bank"]
[midtrain.data]
sources = ["transitions:{folder}/t.jsonl*2", "lean:pocket"]
[sft]
value_targets = "two-hot"
[sft.data]
sources = ["transitions:{folder}/t.jsonl"]
shuffle_hypotheses = false
"""


def test_the_recipe_in_the_repository_chains_its_stages() -> None:
    found = recipe.read(SCRATCH)
    assert list(found.stages) == ["pretrain", "midtrain", "sft"]
    starts = [(settings.start, settings.preset) for settings in found.stages.values()]
    assert starts == [("", "demo"), ("runs/scratch-pretrain", "demo"), ("runs/scratch-midtrain", "demo")]
    assert found.rl is None


def test_flags_carry_all_settings_and_reinforcement_learning_goes_on_from_the_last_checkpoint(tmp_path: Path) -> None:
    file = tmp_path / "r.toml"
    file.write_text(SMALL.format(folder=tmp_path))
    for stage, settings in recipe.read(file).stages.items():
        assert cli.parsed(stage, recipe.flags(stage, settings)).settings == settings
    assert recipe.flags("sft", STAGES["sft"]) == []
    learner = mesh({"learner": {"ahead": 2.0}}, tmp_path / "step-000009")["learner"]
    assert learner["warm_start"]["checkpoint"] == str(tmp_path / "step-000009")
    assert learner["ahead"] == 2.0 and learner["plan"]["evaluate"] is True
    assert not {"banks", "budget_factors"} & learner.keys(), (
        "the demo's puzzles are not for a network without their moves"
    )
    (tmp_path / "mesh.toml").write_text('[learner]\nbanks = ["words"]\nbudget_factors = ["words*2"]\n')
    named = {"mesh": str(tmp_path / "mesh.toml")}
    assert mesh(named, tmp_path)["learner"]["banks"] == ["words"]
    other = mesh(named | {"learner": {"bank": "mine"}}, tmp_path)["learner"]
    assert (other.pop("warm_start"), other) == ({"checkpoint": str(tmp_path)}, {"bank": "mine"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[sfd]\nsteps = 3", r"\[sfd\]: unknown section"),
        ("[sft]\nstep = 3", "did you mean `steps`"),
        ("[sft]\nsteps = -3", "must be at least 1"),
        ('[recipe]\nstages = ["sft", "poetry"]', "no stage `poetry`"),
        ('[recipe]\nstages = ["rl"]', "comes last, after a stage"),
        ("[rl]\nhours = 3", "unknown key"),
        ("[sft", "is not TOML"),
    ],
)
def test_a_senseless_recipe_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "r.toml").write_text(text)
    with pytest.raises(ConfigError, match=said):
        recipe.read(tmp_path / "r.toml")
    assert cli.main(["recipe", str(tmp_path / "r.toml")]) == 2


OLD = (
    ("data.rename_hypotheses", "false", "true"),
    ("data.canonical_names", "true", "false"),
    ("data.state_after", "false", "true"),
    ("after_weight", "0.1", "0.2"),
)
"""Settings that were taken out: as they are passed over, and as they are refused."""


@pytest.mark.parametrize(("key", "off", "on"), OLD)
def test_an_old_recipe_is_read_or_says_what_is_gone(tmp_path: Path, key: str, off: str, on: str) -> None:
    file = tmp_path / "r.toml"
    file.write_text(f"[sft]\n{key} = {off}\n")
    assert recipe.read(file).stages["sft"].data == STAGES["sft"].data
    file.write_text(f"[sft]\n{key} = {on}\n")
    with pytest.raises(ConfigError, match=rf"\[sft\] {key} = .* any more.*: delete this line"):
        recipe.read(file)


@pytest.mark.slow
def test_one_command_runs_all_stages_and_goes_on_where_it_was(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "t.jsonl", rows(40))
    file = tmp_path / "r.toml"
    file.write_text(SMALL.format(folder=tmp_path))
    command = [sys.executable, "-m", "node.training", "recipe", str(file)]
    for _ in range(2):
        done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "little-sft" in done.stdout
    found = [checkpoint.load(latest(tmp_path / "runs" / f"little-{stage}" / "checkpoints")) for stage in STAGES]  # type: ignore[arg-type]
    assert len({each.tokenizer.digest for each in found}) == 1
    assert [each.config["stage"] for each in found] == list(STAGES)


# --- ranks ------------------------------------------------------------------------------------------------------------
STUBBORN = """
import os, pathlib, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
pathlib.Path(sys.argv[1], os.environ["RANK"]).touch()
time.sleep(600)
"""


@pytest.mark.process
def test_ranks_that_do_not_end_after_a_signal_are_killed_and_the_one_that_failed_gives_the_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "GRACE", 0.2)

    def stop_when_ready() -> None:
        while len(list(tmp_path.iterdir())) < 2:
            ready.wait(0.02)
        os.kill(os.getpid(), signal.SIGTERM)

    ready = threading.Event()
    threading.Thread(target=stop_when_ready, daemon=True).start()
    with pytest.raises(TrainingError, match=r"ranks \[0, 1\]"):
        launch.launch(["-c", STUBBORN, str(tmp_path)], 2, 1, tmp_path)
    code = "import os, sys; sys.exit(3 * int(os.environ['RANK']))"
    assert launch.launch(["-c", code], 2, 1, tmp_path) == 3


@pytest.mark.parametrize("where", ["", "host", "host:", ":29500", "host:port"])
def test_several_machines_need_an_address(where: str) -> None:
    with pytest.raises(ValueError, match="HOST:PORT"):
        launch.torchrun("module", [], machines=2, machine=1, ranks=1, where=where)


def test_a_rendezvous_is_open_where_it_is_named_or_says_why_not(monkeypatch: pytest.MonkeyPatch) -> None:
    with launch.opened("127.0.0.1", 0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"
    with pytest.raises(SystemExit, match=r"192.0.2.7:29500: this machine cannot listen there .*write its own address"):
        launch.opened("192.0.2.7", 29500)
    # What Debian writes into its list of hosts for the machine's own name.
    own = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.1.1", 29500))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: own)
    with pytest.raises(SystemExit, match=r"trainer-1 is 127.0.1.1 on this machine, which no other machine reaches"):
        launch.opened("trainer-1", 29500)
