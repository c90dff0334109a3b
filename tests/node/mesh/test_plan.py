"""The plan of a mesh: its children, from a configuration file."""

from __future__ import annotations

from pathlib import Path

import pytest

from common import config
from common.bus import Signer
from common.config import ConfigError, load, load_node
from common.settings import BusSettings, NodeSettings
from node.mesh.mesh import Mesh
from node.mesh.plan import ORDER, UpSettings, environment, make_plan


def test_counts_names_and_order() -> None:
    plan = make_plan(None, UpSettings(prover=2, lean_proxy=3, ui=0), NodeSettings(run="r"))
    names = [child.name for child in plan.children]
    assert names == [
        *("broker", "lean-proxy-1", "lean-proxy-2", "lean-proxy-3"),
        *("learner", "inference", "prover-1", "prover-2"),
    ]
    ranks = {child.name: child.rank for child in plan.children}
    assert ranks["prover-1"] < ranks["inference"] < ranks["learner"] < ranks["lean-proxy-1"] < ranks["broker"]
    assert ranks["broker"] == len(ORDER) - 1
    assert [child.name for child in plan.children if child.ends_mesh] == ["learner"]


def test_every_child_gets_run_file_and_broker(tmp_path: Path) -> None:
    file = tmp_path / "mesh.toml"
    file.write_text(f'[run]\nname = "r"\ndir = "{tmp_path}"\n[broker]\nport = 0\n[ui]\nport = 5051\n')
    plan = make_plan(file, UpSettings(), NodeSettings(run="r"))
    url = plan.node.bus.url
    assert url.startswith("nats://127.0.0.1:")
    assert not url.endswith((":0", ":4222"))
    for child in plan.children:
        line = " ".join(child.argv)
        assert f"--run r --config {file} --bus.url {url}" in line
        assert "--node.log-json" in child.argv, "docs/operations.md: JSON lines in logs/"
        assert child.log == tmp_path / "r" / "logs" / f"{child.name}.log"
    assert f"--port {url.rpartition(':')[2]}" in " ".join(plan.children[0].argv)
    assert plan.ui_url == "http://127.0.0.1:5051"


def test_without_a_broker_of_its_own_the_given_address_is_used() -> None:
    plan = make_plan(None, UpSettings(broker=0), NodeSettings(run="r", bus=BusSettings(url="nats://10.0.0.1:4222")))
    assert all("nats://10.0.0.1:4222" in child.argv for child in plan.children)
    (keeper,) = [child for child in plan.children if child.name == "broker"]
    assert "--no-server" in keeper.argv and plan.broker_address is None, "it only keeps the run's streams"


def test_a_password_is_handed_on_by_environment_and_never_on_a_command_line() -> None:
    for bus, user in (
        (BusSettings(user="mesh", password="secret-word"), "mesh"),
        (BusSettings(url="nats://mesh:secret-word@10.0.0.1:4222"), "mesh"),
        (BusSettings(url="nats://secret-word@10.0.0.1:4222"), ""),
    ):
        plan = make_plan(None, UpSettings(broker=0), NodeSettings(run="r", bus=bus))
        assert "secret-word" not in config.dump({"node": plan.node})
        for child in plan.children:
            assert "secret-word" not in " ".join(child.argv) and "secret-word" not in repr(child)
            assert child.env is not None
            assert child.env["PROOFMESH_NATS_USER"] == user and child.env["PROOFMESH_NATS_PASSWORD"] == "secret-word"


KEYS = {
    "PROOFMESH_OPENAI_KEY": "k1",
    "HF_TOKEN": "k2",
    "WANDB_API_KEY": "k3",
    "AWS_SECRET_ACCESS_KEY": "k4",
    "PGPASSWORD": "k5",
    "LEAN_SERVER_API_KEY": "k6",
    "HTTPS_PROXY": "http://me:k7@proxy:3128",
    "DATABASE": "postgres://me:k8@host/db",
}


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
def test_lean_proxies_of_a_machine_that_only_joins_do_not_verify(
    up: UpSettings, verifies: bool, tmp_path: Path
) -> None:
    file = tmp_path / "mesh.toml"
    file.write_text(f'[run]\ndir = "{tmp_path}"\n')
    plan = make_plan(file, up, NodeSettings(run="r"))
    (proxy,) = [child for child in plan.children if child.name == "lean-proxy"]
    key = tmp_path / "r" / "verifier.pem"
    assert plan.verifier_key == (str(key) if verifies else "")
    assert (" ".join(proxy.argv).endswith(f"--key {key}")) is verifies
    assert not key.exists(), "a plan writes nothing"


def test_all_nodes_of_a_mesh_know_its_verifier_and_those_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "mesh.toml"
    other = Signer.of_file(tmp_path / "other.pem").public
    file.write_text(f'[run]\ndir = "{tmp_path}"\n[bus]\nverifiers = ["{other}"]\n[broker]\nport = 0\n')
    mesh = Mesh.from_file(file)
    own = Signer.of_file(tmp_path / "demo" / "verifier.pem").public
    assert mesh.bus.verifier_keys() == (other, own)
    assert {(child.spec.env or {})["PROOFMESH_VERIFIERS"] for child in mesh.children} == {f"{other},{own}"}
    (tmp_path / "demo" / "verifier.pem").write_text("secret")
    with pytest.raises(ConfigError, match=r"verifier\.pem: not a private key as PEM"):
        Mesh.from_file(file)


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
    # Those of training stages and of self-play: tests/node/training/test_recipe.py, tests/node/stp/test_plan.py.
    if not any(section in recipe.read_text() for section in ("[recipe]", "[stp]"))
]


@pytest.mark.parametrize("recipe", MESHES)
def test_every_recipe_of_the_repository_can_be_read(recipe: Path) -> None:
    plan = make_plan(recipe, load(UpSettings, recipe, "up"), load_node(recipe))
    assert plan.children
