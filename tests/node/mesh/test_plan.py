"""The plan of a mesh: its children, the policy that it serves, and when a child that crashed is started again."""

import asyncio
import signal
import socket
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from safetensors.numpy import save_file

from common.bus import Bus
from common.config import ConfigError, load, load_node
from common.life.process import kill_group, spawn_child
from common.output.command import Exit
from common.protocol import subjects
from common.protocol.attempts import AttemptResult, ResultPart
from common.settings import BusSettings, NodeSettings
from node.command.cli import main
from node.command.proofs import prove
from node.mesh.mesh import Mesh
from node.mesh.plan import UpSettings, environment, free_port, make_plan
from node.mesh.restarts import GiveUp, RestartHistory, RestartRules
from node.model import weights
from tests.commands import Called
from tests.node.llm.answers import BFS, GOEDEL
from tests.node.mesh.whole import mesh_file, running_nodes
from tests.node.model.tiny import tiny_weights
from tests.node.prover.nodes import run_folder
from tests.waiting import until
from ui.settings import TOKEN_FILE


def test_every_child_gets_run_file_and_broker(tmp_path: Path) -> None:
    file = tmp_path / "mesh.toml"
    file.write_text(f'[run]\nname = "r"\ndir = "{tmp_path}"\n[broker]\nport = 0\n[ui]\nport = 5051\n')
    plan = make_plan(file, UpSettings(), NodeSettings(run="r"))
    url = plan.node.bus.url
    assert url.startswith("nats://127.0.0.1:") and not url.endswith((":0", ":4222"))
    for child in plan.children:
        line = " ".join(child.argv)
        assert f"--run r --config {file} --bus.url {url}" in line
        assert "--node.log-json" in child.argv, "docs/operations.md: JSON lines in logs/"
        assert child.log == tmp_path / "r" / "logs" / f"{child.name}.log"
    assert f"--port {url.rpartition(':')[2]}" in " ".join(plan.children[0].argv)
    assert plan.ui is not None and plan.ui.port == 5051


def test_tokens_reach_nodes_by_their_environment_and_the_reader_of_the_monitor_with_its_address(tmp_path: Path) -> None:
    file = tmp_path / "mesh.toml"
    ui = 'host = "0.0.0.0"\nport = 5051\ncertificate = "c.pem"'
    file.write_text(f'[run]\nname = "r"\ndir = "{tmp_path}"\n[broker]\nport = 0\n[ui]\n{ui}\n')
    plan = make_plan(file, UpSettings(), NodeSettings(run="r", token="of the nodes"))
    assert all((child.env or {})["PROOFMESH_TOKEN"] == "of the nodes" for child in plan.children)
    assert not [child for child in plan.children if "of the nodes" in " ".join(child.argv)]
    assert Mesh(plan).ui_url == f"https://{socket.gethostname()}:5051/?token=of%20the%20nodes"
    own = Mesh(make_plan(file, UpSettings(), NodeSettings(run="r"))).ui_url.rpartition("=")[2]
    assert own == (tmp_path / TOKEN_FILE).read_text().strip()


SECRETS = "PROOFMESH_OPENAI_KEY HF_TOKEN WANDB_API_KEY AWS_SECRET_ACCESS_KEY PGPASSWORD LEAN_SERVER_API_KEY"
ADDRESSES = {"HTTPS_PROXY": "http://me:k7@proxy:3128", "DATABASE": "postgres://me:k8@host/db"}
KEYS = {**{name: f"that of {name}" for name in SECRETS.split()}, **ADDRESSES}


@pytest.mark.parametrize(
    ("role", "model", "gets"),
    [
        ("broker", "", ""),
        ("lean-proxy", "", ""),
        ("ui", "", ""),
        ("learner", "", "HF_TOKEN HTTPS_PROXY"),
        ("prover", "", "HF_TOKEN HTTPS_PROXY"),
        ("inference", "", "HF_TOKEN HTTPS_PROXY PROOFMESH_OPENAI_KEY"),
        ("inference", "openai:http://localhost:8000/v1#m", "HTTPS_PROXY PROOFMESH_OPENAI_KEY"),
        ("inference", "hf:gpt2", "HF_TOKEN HTTPS_PROXY"),
    ],
)
def test_a_child_gets_only_the_secrets_that_it_needs(role: str, model: str, gets: str) -> None:
    others = {"PATH": "/bin", "TOKENIZERS_PARALLELISM": "false", "HTTP_PROXY": "http://proxy:3128", "HOME": "/home"}
    given = environment(role, model, KEYS | others)
    assert given == others | {name: KEYS[name] for name in gets.split()}


@pytest.mark.parametrize(
    ("up", "verifies"),
    [
        (UpSettings(), True),
        (UpSettings(broker=0), True),
        (UpSettings(learner=0), True),
        (UpSettings(broker=0, learner=0, policy="tactics"), True),
        (UpSettings(broker=0, learner=0), False),
    ],
)
def test_lean_proxies_of_a_machine_that_joins_do_not_verify(up: UpSettings, verifies: bool, tmp_path: Path) -> None:
    file = tmp_path / "mesh.toml"
    file.write_text(f'[run]\ndir = "{tmp_path}"\n')
    plan = make_plan(file, up, NodeSettings(run="r"))
    (proxy,) = [child for child in plan.children if child.name == "lean-proxy"]
    key = tmp_path / "r" / "verifier.pem"
    assert plan.verifier_key == (str(key) if verifies else "")
    assert (" ".join(proxy.argv).endswith(f"--key {key}")) is verifies
    assert not key.exists(), "a plan writes nothing"


def test_each_of_several_inference_nodes_has_a_gpu_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5")
    children = make_plan(None, UpSettings(inference=3), NodeSettings(run="r")).children
    gpus = {child.name: (child.env or {})["CUDA_VISIBLE_DEVICES"] for child in children}
    shares = {name: gpu for name, gpu in gpus.items() if "inference" in name}
    assert shares == {"inference-1": "4", "inference-2": "5", "inference-3": "4"}
    assert all(gpu == "4,5" for name, gpu in gpus.items() if "inference" not in name)
    alone = make_plan(None, UpSettings(inference=1), NodeSettings(run="r")).children
    assert all((child.env or {})["CUDA_VISIBLE_DEVICES"] == "4,5" for child in alone)


@pytest.mark.parametrize(
    ("up", "words"),
    [
        (UpSettings(learner=2), "learner = 2: must be from 0 to 1"),
        (UpSettings(prover=-1), "prover = -1"),
        (UpSettings(0, 0, 0, 0, 0, 0), "nothing would run"),
    ],
)
def test_impossible_counts_are_refused(up: UpSettings, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        make_plan(None, up, NodeSettings(run="r"))


MESHES = [
    recipe
    for recipe in sorted((Path(__file__).parents[3] / "scripts/recipes").glob("*.toml"))
    # Those of training stages and of self-play: tests/node/training/test_recipe.py, tests/node/stp/test_training.py.
    if not any(section in recipe.read_text() for section in ("[recipe]", "[stp]"))
]


@pytest.mark.parametrize("recipe", MESHES)
def test_every_recipe_of_the_repository_can_be_read(recipe: Path) -> None:
    plan = make_plan(recipe, load(UpSettings, recipe, "up"), load_node(recipe))
    assert plan.children


# --- restarts, with times set by the test -----------------------------------------------------------------------------
RULES = RestartRules(first_delay=1.0, factor=2.0, longest_delay=5.0, limit=3, window=100.0, stable=10.0)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.floats(0.01, 300), min_size=1, max_size=60))
def test_never_more_deaths_in_the_window_than_the_limit_and_delays_in_bounds(lives: list[float]) -> None:
    history, now, forgiven = RestartHistory(RULES), 0.0, []
    for life in lives:
        history.started(now)
        now += life
        decision = history.died(now, 1)
        if isinstance(decision, GiveUp):
            assert len([time for time in forgiven if now - time < RULES.window]) == RULES.limit
            return
        forgiven.append(now)
        assert RULES.first_delay <= decision.delay <= RULES.longest_delay
        assert len([time for time in forgiven if now - time < RULES.window]) <= RULES.limit
        now += decision.delay


# --- proofmesh up --policy --------------------------------------------------------------------------------------------
INFERENCE: dict[str, object] = {"threads": 1, "weights": "somewhere/else"}


def told(policy: str, file: Path | None = None, **counts: int) -> dict[str, str]:
    plan = make_plan(file, UpSettings(policy=policy, **counts), NodeSettings(run="r"))  # type: ignore[arg-type]
    return {child.name: " ".join(child.argv) for child in plan.children}


def test_a_network_and_each_model_of_a_policy_have_nodes_and_nothing_learns(tmp_path: Path) -> None:
    run = run_folder(tmp_path / "run")
    file = mesh_file(tmp_path, "served", inference=INFERENCE)
    for recipe in (None, file):
        nodes = told(f"own:{run}+tactics", recipe, inference=2)
        assert "learner" not in nodes and {"inference-1", "inference-2", "prover", "lean-proxy"} <= nodes.keys()
        for name in ("inference-1", "inference-2"):
            assert nodes[name].endswith(f" --weights {run}/checkpoints/step-000007")
        assert nodes["prover"].endswith(" --policy inference+tactics")
    assert told(f"own:{run}")["prover"].endswith(" --policy inference")
    assert told(f"own:{run},tactics")["prover"].endswith(" --policy inference,tactics")
    nodes = told(f"openai:http://a/v1#{BFS}+openai:http://b/v1#{GOEDEL}")
    assert "learner" not in nodes and nodes["prover"].endswith(f" --policy openai:{BFS}+openai:{GOEDEL}")
    served = [line.rpartition(" --model ")[2] for name, line in nodes.items() if name.startswith("inference-")]
    assert served == [f"openai:http://a/v1#{BFS}", f"openai:http://b/v1#{GOEDEL}"]


@pytest.mark.parametrize(
    ("arguments", "text", "says"),
    [
        (["--policy", "own:nothing"], "", "nothing: there is no such checkpoint, weights file or run's folder"),
        (["--policy", "own:text"], "", "text: not a complete safetensors file"),
        (["--policy", "own:other"], "", "other: not a weights file of proofmesh"),
        (["--policy", "own:a+own:b"], "", "a mesh has one network"),
        (["--policy", "tactics:nothing"], "", "nothing: the list of tactics cannot be read"),
        (["--policy", "inference"], "", "`own:PATH`"),
        (["--policy", "gpt"], "", "there is no policy `gpt`"),
        (["--policy", "openai:http://a/v1"], "", "names no model"),
        (["--policy", "openai:http://a/v1#gpt"], "", "no template is known for the model `gpt`"),
        (
            ["--policy", f"openai:http://a/v1#{BFS}@stp+openai:http://b/v1#{BFS}"],
            "",
            "are one model: write its",
        ),
        (["mesh.toml", "--models", "gpt"], "", "`gpt` is not a language model"),
        (["mesh.toml", "--models", "openai:http://a/v1#m", "openai:http://b/v1#m"], "", "are one model"),
        (["mesh.toml"], '[inference]\nmodel = "openai:http://a/v1#m"\nweights = "w"', "not both"),
        (["mesh.toml"], '[inference]\nmodel = "gpt"', "`gpt` is not a language model"),
        (["mesh.toml"], '[prover]\npolicy = "openai:gpt"', "no template is known"),
        (["mesh.toml"], '[prover]\npolicy = "openai:http://a/v1#m"', "write `openai:m`"),
    ],
)
def test_the_unservable_is_told(called: Called, tmp_path: Path, arguments: list[str], text: str, says: str) -> None:
    (tmp_path / "mesh.toml").write_text(text, encoding="utf-8")
    (tmp_path / "text").write_text("no weights", encoding="utf-8")
    save_file({}, tmp_path / "other")
    code, _, error = called(main, "up", *arguments)
    assert code == Exit.UNUSABLE and says in error and error.count("\n") == 1
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
async def test_a_mesh_that_serves_a_network_proves_for_others(called: Called, tmp_path: Path) -> None:
    tiny = tiny_weights(1, ends=12.0, sharpness=0.5)
    weights.write(tmp_path / "tiny.safetensors", tiny.model, tiny.tokenizer, {"version": "1"})
    port = free_port()
    file = mesh_file(tmp_path, "served", port, up={"ui": 0}, inference=INFERENCE)
    url = f"nats://127.0.0.1:{port}"
    command = [sys.executable, "-m", "node.command.cli", "up", file]
    policy = f"own:{tmp_path}/tiny.safetensors+tactics"
    up = await spawn_child([*command, "--policy", policy], stderr=asyncio.subprocess.PIPE)
    try:
        bus = await Bus.connect(BusSettings(url=url), run="served", name="test", wait=60)
        await running_nodes(bus, 4)
        heard: list[AttemptResult | ResultPart] = []
        kinds = (AttemptResult, ResultPart)
        await bus.subscribe(subjects.answer("client.*", "*", "*"), kinds, lambda _, result: heard.append(result))
        for extra in ([], ["--policy", "tactics", "--method", "best-first"]):
            asked = ["theorem t (p q : Prop) : p ∧ q → q ∧ p", "--url", url, "--run", "served", *extra]
            asked += ["--closing", "rfl", "--seconds", "90"]
            code, out, errors = await asyncio.to_thread(called, prove.main, *asked)
            assert code == Exit.DONE and out.startswith("theorem t"), errors
        results = [result for result in heard if isinstance(result, AttemptResult)]
        assert [result.statistics.weights_last for result in results] == [1, 0]

        async def nothing_is_kept() -> bool:
            return not any((await bus.backlog()).values()) and not any((await bus.leased()).values())

        await until(nothing_is_kept)
        await bus.close()
    finally:
        up.send_signal(signal.SIGTERM)
        _, said = await up.communicate()
        await kill_group(up, grace=0)
    assert up.returncode == 0, said.decode()
    logs = {path.stem for path in (tmp_path / "runs/served/logs").glob("*.log")}
    assert logs == {"broker", "inference", "lean-proxy", "prover"}
