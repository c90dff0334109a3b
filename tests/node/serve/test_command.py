"""The command: its configuration, and its life as a process."""

import asyncio
import signal
import socket
import sys

import aiohttp
import pytest

from common.life.process import kill_group, spawn_child
from common.output.command import Exit
from node.command.cli import main
from node.serve import service
from node.serve.service import KEY_VARIABLE

START_SECONDS = 120.0
"""For a command on a busy machine."""


def test_others_can_reach_it_only_with_a_key(monkeypatch, capsys):
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):
        assert main(["serve", "--host", host]) == Exit.UNUSABLE
        assert "no key is set" in capsys.readouterr().err


def test_the_file_gives_the_defaults_and_flags_and_environment_win(monkeypatch, tmp_path):
    seen = []

    async def serve(settings):
        seen.append(settings)
        return 0

    monkeypatch.setattr(service, "serve", serve)
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    file = tmp_path / "mesh.toml"
    file.write_text('[serve]\nport = 1234\napi_key = "from file"\nworkers = 3\n[lean]\nopens = ["Nat"]\n')
    assert main(["serve", "--config", str(file), "--workers", "5"]) == 0
    assert (seen[0].port, seen[0].api_key, seen[0].workers, seen[0].lean.opens) == (1234, "from file", 5, ["Nat"])
    monkeypatch.setenv(KEY_VARIABLE, "from environment")
    assert main(["serve", "--host", "0.0.0.0"]) == 0 and seen[1].api_key == "from environment"
    assert (seen[1].port, seen[1].memory_mb) == (8000, 1024)


@pytest.mark.lean
async def test_the_command_serves_until_it_is_told_to_stop():
    argv = [sys.executable, "-m", "node.command.cli", "serve", "--port", "0", "--workers", "1"]
    child = await spawn_child(argv, stderr=asyncio.subprocess.PIPE)
    try:
        line = (await asyncio.wait_for(child.stderr.readline(), START_SECONDS)).decode()
        assert "http://127.0.0.1:" in line and "1 worker" in line, line
        url = line.split()[2].rstrip(",")
        body = {"snippets": [{"id": "a", "code": "theorem t : 1 = 1 := rfl"}], "timeout": 60}
        async with aiohttp.ClientSession() as http, http.post(f"{url}/api/check", json=body) as response:
            answer = await response.json()
        assert answer["results"][0]["verdict"]["accepted"], answer
        child.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(child.wait(), 60) == Exit.DONE
    finally:
        await kill_group(child, grace=0)


@pytest.mark.lean
def test_a_port_that_is_taken_is_told(capsys):
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        assert main(["serve", "--port", str(port), "--workers", "1"]) == Exit.FAILED
    assert f"cannot listen on 127.0.0.1:{port}" in capsys.readouterr().err


@pytest.mark.broker
def test_a_broker_that_is_not_there_is_told(monkeypatch, capsys):
    monkeypatch.setattr(service, "CONNECT_SECONDS", 0.5)
    assert main(["serve", "--port", "0", "--url", "nats://127.0.0.1:1"]) == Exit.FAILED
    assert "127.0.0.1:1" in capsys.readouterr().err
    assert main(["serve", "--port", "0", "--url", "nats://127.0.0.1:1", "--run", "Not A Name"]) == Exit.UNUSABLE
