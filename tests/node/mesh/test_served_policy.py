"""`proofmesh up --policy`: the flags of each node, refused policies, and a mesh that serves `prove`."""

import asyncio
import signal
import sys
from pathlib import Path

import pytest
from safetensors.numpy import save_file

from common.bus import Bus
from common.life.process import kill_group, spawn_child
from common.output.command import Exit
from common.protocol.attempts import AttemptResult, ResultPart
from common.protocol.subjects import result
from common.settings import BusSettings, NodeSettings
from node.command.cli import main
from node.command.proofs import prove
from node.mesh.plan import UpSettings, free_port, make_plan
from node.model import weights
from tests.commands import Called
from tests.node.llm.answers import BFS, GOEDEL
from tests.node.mesh.whole import mesh_file, running_nodes
from tests.node.model.tiny import tiny_weights
from tests.node.prover.nodes import run_folder
from tests.waiting import until

INFERENCE: dict[str, object] = {"threads": 1, "weights": "somewhere/else"}


def told(policy: str, file: Path | None = None, **counts: int) -> dict[str, str]:
    """The command lines of the nodes of a mesh, by name."""
    plan = make_plan(file, UpSettings(policy=policy, **counts), NodeSettings(run="r"))  # type: ignore[arg-type]
    return {child.name: " ".join(child.argv) for child in plan.children}


def test_a_network_and_each_model_of_a_policy_have_nodes_and_nothing_learns(
    tmp_path: Path,
) -> None:
    run = run_folder(tmp_path / "run")
    file = mesh_file(tmp_path, "served", inference=INFERENCE)
    for given in (None, file):
        nodes = told(f"own:{run}+tactics", given, inference=2)
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
        await bus.subscribe(result("client.*"), (AttemptResult, ResultPart), lambda _, result: heard.append(result))
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
