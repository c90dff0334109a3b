"""`proofmesh up` with language models on servers, and `prove` and `eval` that ask it for them: all nodes, real Lean."""

import asyncio
import json
import os
import signal
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil
import pytest

from broker import streams
from common.life.context import NodeContext
from common.life.process import kill_group, spawn_child
from common.output.command import Exit
from common.settings import BusSettings
from node.command import status as status_command
from node.command.evaluate import command as eval_command
from node.inference.models import ModelServing
from node.inference.settings import InferenceSettings
from node.llm.settings import ModelSettings
from tests.background import Background, RunOnBroker, SharedLean, on_bus
from tests.commands import Called, Run
from tests.node.llm.answers import BFS, GOEDEL, step, whole
from tests.node.llm.server import Server, in_a_thread
from tests.node.mesh.whole import mesh_file
from tests.node.prover.nodes import shared_prover
from tests.waiting import eventually

RUN = "models"
KEY = "sk-very-secret-key"
SWAP = "theorem swap (p q : Prop) : p ∧ q → q ∧ p"


MODELS = ModelSettings(patience=0.5, wait=0.05, failures=1000)


@dataclass
class Served:
    run: RunOnBroker
    tactics: Server
    proofs: Server

    @property
    def flags(self) -> tuple[str, ...]:
        return self.run.flags


@contextmanager
def model_node(background: Background, run: RunOnBroker, server: Server) -> Iterator[NodeContext]:
    """An inference node that serves the model of a server. It has announced it when the block begins."""

    async def main(ctx: NodeContext) -> None:
        await ModelServing(InferenceSettings(model=f"openai:{server.url}#{server.model}", models=MODELS), ctx).run()

    async def announced(ctx: NodeContext) -> None:
        await eventually(lambda: ctx.facts is not None)
        await ctx.bus.register(ctx.info())

    with background.node("inference", run.node, main) as node:
        background.run(announced(node))
        yield node


@pytest.fixture(scope="module")
def served(background: Background, broker: BusSettings, warm_lean: SharedLean) -> Iterator[Served]:
    run = RunOnBroker(f"{RUN}-{uuid.uuid4().hex[:12]}", broker)
    background.run(on_bus(run, streams.ensure))
    tactics, proofs = Server(model=BFS, texts=step, key=KEY), Server(model=GOEDEL, texts=whole, key=KEY)
    with in_a_thread(tactics), in_a_thread(proofs), pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", KEY)
        with (
            warm_lean.served(run),
            model_node(background, run, tactics),
            model_node(background, run, proofs),
            shared_prover(background, run, policy=f"openai:{BFS}+openai:{GOEDEL}", searches=2),
        ):
            yield Served(run, tactics, proofs)
    background.run(on_bus(run, streams.remove))


@pytest.fixture
def prove(prove: Run) -> Run:
    """No closing tactic proves what the models are asked for."""
    return partial(prove, "--closing", "rfl")


def test_a_mesh_proves_by_tactics_and_by_whole_proofs_of_the_model_that_is_named(served: Served, prove: Run) -> None:
    """By tactics alone: below."""
    whole_proofs = ("--policy", f"openai:{GOEDEL}", "--method", "whole-proof", "--simulations", "4", "--samples", "2")
    whole_proofs = (*whole_proofs, "--seconds", "90")
    code, out, err = prove(*served.flags, *whole_proofs, "--correct", "1", SWAP)
    assert code == Exit.DONE and "exact fun h => ⟨h.2, h.1⟩" in out, err
    both = ("--policy", f"openai:{GOEDEL}+openai:{BFS}", "--method", "whole-proof", "--then", "best-first")
    code, _, err = prove(*served.flags, *both, "--simulations", "16", "--seconds", "90", SWAP)
    assert code == Exit.DONE, err
    assert served.tactics.sent and served.proofs.sent


def test_what_the_mesh_does_not_serve_is_one_line(served: Served, prove: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("node.play.mesh.ABSENT_SECONDS", 0.1)
    wrong = {
        "openai:elsewhere@stp": f"no inference node of run '{served.run.name}' serves `openai:elsewhere`; they serve "
        f"openai:{BFS}, openai:{GOEDEL}",
        f"openai:{served.tactics.url}#{BFS}": f"the inference nodes of a mesh choose it; write `openai:{BFS}`",
        "openai:gpt": "no template is known for the model `gpt`",
        f"openai:{BFS}@nope": f"`openai:{BFS}@nope`",
    }
    for policy, words in wrong.items():
        method = ("--method", "whole-proof") if policy.endswith("@stp") else ()
        code, out, err = prove(*served.flags, "--policy", policy, *method, SWAP)
        lines = [line for line in err.splitlines() if not line.startswith("searching")]
        assert code in (2, 3) and not out and len(lines) == 1 and words in lines[0], err
    code, _, err = prove(*served.flags, "--policy", f"openai:{GOEDEL}", SWAP)
    assert code == 2 and "they go with --method whole-proof" in err


def test_a_server_that_fails_is_told_by_status_and_leaves_theorems_undecided(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prove: Run, called: Called
) -> None:
    served.tactics.fault = lambda number: "unavailable"
    try:
        code, out, err = prove(*served.flags, "--policy", f"openai:{BFS}", "--seconds", "30", SWAP)
        assert code == Exit.UNAVAILABLE and not out and "503: loading" in err, err
        Path("rows.jsonl").write_text(json.dumps({"name": "swap", "statement": SWAP}) + "\n", encoding="utf-8")
        played = ["--bench", "rows.jsonl", "--out", "e", "--simulations", "4", "--policy", f"openai:{BFS}"]
        assert eval_command.main([*played, *served.flags]) == Exit.UNAVAILABLE
        (row,) = json.loads(Path("e/results.json").read_text())["statements"]
        assert row["standing"] == "undecided"
        status = partial(called, status_command.main)
        said = (status(*served.flags)[1] for _ in range(200))  # until the registry has heard of it
        assert any("unhealthy" in text and "trouble" in text and "503: loading" in text for text in said)
    finally:
        served.tactics.fault = lambda number: ""
    code, out, err = prove(*served.flags, "--policy", f"openai:{BFS}", "--seconds", "90", SWAP)
    assert code == Exit.DONE, err
    code, out, _ = status(*served.flags, "--json")
    facts = [node["facts"] for node in json.loads(out)["nodes"] if node["role"] == "inference"]
    assert {each["model"] for each in facts} == {f"openai:{BFS}", f"openai:{GOEDEL}"}


@pytest.mark.process
async def test_the_key_of_a_model_that_up_serves_is_nowhere_to_be_read(mesh_run: RunOnBroker, tmp_path: Path) -> None:
    counts = {"broker": 0, "ui": 0, "prover": 0, "lean_proxy": 0}
    file = mesh_file(tmp_path, mesh_run.name, bus={"url": mesh_run.bus.url}, up=counts)
    logs = tmp_path / "runs" / mesh_run.name / "logs"

    def opened() -> bool:
        """Whether the server has given its list of models, to somebody with the key."""
        return any("model opened" in log.read_text() for log in logs.glob("inference*.log"))

    with in_a_thread(Server(model=BFS, texts=step, key=KEY)) as server:
        command = [sys.executable, "-m", "node.command.cli", "up", str(file), "--policy", f"openai:{server.url}#{BFS}"]
        env = {**os.environ, "OPENAI_API_KEY": KEY}
        up = await spawn_child(command, env=env, stderr=asyncio.subprocess.DEVNULL)
        try:
            await eventually(opened, what="the model")
            nodes = psutil.Process(up.pid).children(recursive=True)
            assert nodes and not any(KEY in word for process in nodes for word in process.cmdline())
            up.send_signal(signal.SIGTERM)
            assert await up.wait() == 0
        finally:
            await kill_group(up, grace=0)
    assert not any(KEY.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
