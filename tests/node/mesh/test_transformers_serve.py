"""A third-party server: `transformers serve`, with a Llama that has memorized one proof."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from common.output.command import Exit
from node.command.proofs import prove as prove_command
from tests.commands import Called, Run
from tests.node.llm.small_llama import trained_folder

pytestmark = pytest.mark.slow

SWAP = "theorem swap (p q : Prop) : p ∧ q → q ∧ p"
STATE = "p q : Prop\n⊢ p ∧ q → q ∧ p"

LOADING_SECONDS = 180.0
"""Seconds to import transformers and the server's packages on a busy machine."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server's policy, without a template. It loads the model when it starts."""
    pytest.importorskip("fastapi", reason="transformers serve is not installed: pip install 'proofmesh[serving]'")
    folder = trained_folder(tmp_path_factory)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    home = tmp_path_factory.mktemp("hub")
    log = home / "log"
    program = Path(sys.executable).with_name("transformers")
    with log.open("w") as out:
        process = subprocess.Popen(
            [program, "serve", folder, "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"],
            stdout=out,
            stderr=subprocess.STDOUT,
            env=os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(home), "OMP_NUM_THREADS": "1"},
        )
    try:
        deadline = time.monotonic() + LOADING_SECONDS
        while not answers(f"http://127.0.0.1:{port}/health"):
            assert process.poll() is None and time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        yield f"openai:http://127.0.0.1:{port}#{folder}"
    finally:
        process.kill()
        process.wait()


def answers(url: str) -> bool:
    """Whether the server accepts connections."""
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


@pytest.fixture
def prove(called: Called) -> Run:
    """The command in this process, with nothing but the search: no closing tactics, no search of the library."""
    run = partial(called, prove_command.main)
    return lambda *arguments: run("--closing", "--searching", *arguments)


def test_it_proves_a_theorem_step_by_step(served: str, prove: Run) -> None:
    code, out, err = prove("--policy", f"{served}@bfs-prover-v1", "--json", SWAP)
    assert code == Exit.DONE, err
    assert "returns one sample per request" in err and json.loads(out)["outcome"] == "proved", err


def test_it_proves_a_theorem_by_a_whole_proof(served: str, prove: Run) -> None:
    code, out, err = prove("--method", "whole-proof", "--policy", f"{served}@stp", SWAP)
    assert code == Exit.DONE and "exact ⟨h.2, h.1⟩" in out, err
