"""The example of a client in docs/protocol.md, taken from the page and run against a real mesh."""

import ast
import asyncio
import re
import sys
from pathlib import Path

from common.bus import Bus, BusSettings
from common.life.process import kill_group, spawn_child
from scripts.docs.__main__ import path_of

PAGE = path_of("protocol").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_the_example_needs_three_packages_and_nothing_of_ours() -> None:
    (example,) = blocks("python")
    nodes = list(ast.walk(ast.parse(example)))
    imported = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in imported} - sys.stdlib_module_names == {
        "cryptography",
        "msgpack",
        "nats",
    }


async def test_the_example_of_a_client_gets_verdicts_from_a_mesh(
    broker: BusSettings, bus: Bus, lean_proxy: asyncio.subprocess.Process, tmp_path: Path
) -> None:
    (example,), (said,) = blocks("python"), blocks("text")
    program = tmp_path / "client.py"
    program.write_text(example, encoding="utf-8")
    (verifier,) = (await bus.verifiers()).keys
    client = await spawn_child(
        [sys.executable, "-I", str(program), broker.url, bus.run, verifier],
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await asyncio.wait_for(client.communicate(), 120)
    finally:
        await kill_group(client, grace=1)
    assert (client.returncode, output.decode()) == (0, said)
