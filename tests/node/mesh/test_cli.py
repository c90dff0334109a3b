"""The command line: instant help, resolved configuration, and errors that say what to do."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from common.output.command import Exit
from node.command import cli, up
from node.command.cli import COMMANDS
from node.mesh.roles import ROLES, exists

pytestmark = pytest.mark.process

HEAVY = ("torch", "nats", "aiohttp", "tokenizers", "datasets", "openai", "transformers", "peft", "huggingface_hub")
"""Packages whose import is too slow for `--help` (numpy's 0.1 s is acceptable)."""


def proofmesh(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command line in a separate process, as a user would."""
    root = Path(__file__).parents[3]
    environment = os.environ | {"PYTHONPATH": str(root), "COLUMNS": "100"}
    command = [sys.executable, "-m", "node.command.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd or root, env=environment, check=False)


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_needs_no_heavy_import(command: str) -> None:
    code = (
        "import sys\n"
        "from node.command.cli import main\n"
        "try:\n    code = main(sys.argv[1:])\n"
        "except SystemExit as error:\n    code = error.code or 0\n"
        f"heavy = [name for name in {HEAVY} if name in sys.modules]\n"
        "print('HEAVY', heavy, 'CODE', code)\n"
    )
    arguments = [command, "--help"] if command else ["--help"]
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=root, check=False
    )
    assert "HEAVY [] CODE 0" in done.stdout, done.stdout[-500:] + done.stderr[-2000:]
    assert [each for each in ("[[", "(default: )", "(default: '')") if each in done.stdout] == []


def test_every_command_of_the_table_exists() -> None:
    missing = [name for name, command in COMMANDS.items() if not exists(command.entry)]
    assert missing == []


@pytest.mark.parametrize("role", list(ROLES))
def test_dry_run_prints_toml_that_config_reads_back(role: str, tmp_path: Path) -> None:
    first = proofmesh(role, "--dry-run", "--run", "other-1", "--bus.url", "nats://127.0.0.1:4333")
    assert first.returncode == 0, first.stderr
    resolved = tomllib.loads(first.stdout)
    assert resolved["run"]["name"] == "other-1"
    assert resolved["bus"]["url"] == "nats://127.0.0.1:4333"
    assert ROLES[role].section in resolved
    file = tmp_path / "mesh.toml"
    file.write_text(first.stdout)
    second = proofmesh(role, "--dry-run", "--config", str(file))
    assert second.returncode == 0, second.stderr
    assert tomllib.loads(second.stdout) == resolved


def test_flags_win_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "mesh.toml"
    file.write_text('[broker]\nport = 4300\nstore = "elsewhere"\n')
    done = proofmesh("broker", "--config", str(file), "--port", "4301", "--dry-run")
    broker = tomllib.loads(done.stdout)["broker"]
    assert (broker["port"], broker["store"]) == (4301, "elsewhere")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[broker]\nprot = 1\n", ["[broker]", "prot", "unknown key", "did you mean `port`?"]),
        ('[broker]\nport = "many"\n', ["[broker]", "port", "expected `int`", "`str`"]),
        ("[brokr]\n", ["[brokr]", "unknown section", "`broker`"]),
        ("[broker\n", ["is not TOML"]),
    ],
)
def test_a_wrong_file_is_one_clear_message_and_exit_code_2(content: str, words: list[str], tmp_path: Path) -> None:
    file = tmp_path / "mesh.toml"
    file.write_text(content)
    done = proofmesh("broker", "--config", str(file), "--dry-run")
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "mesh.toml" in done.stderr
    assert all(word in done.stderr for word in words), done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["brokr"], "did you mean `broker`?"),
        (["broker", "--run", "Not A Name", "--dry-run"], "bad run name 'Not A Name'"),
        (["broker", "--config", "/nowhere/mesh.toml"], "/nowhere/mesh.toml: cannot be read"),
    ],
)
def test_a_wrong_command_line_is_one_clear_message_and_exit_code_2(arguments: list[str], words: str) -> None:
    done = proofmesh(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_wrong_flag_exits_with_2() -> None:
    done = proofmesh("broker", "--port", "many")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments", [["--help"], ["verify", "--help"], ["models", "list"], ["models", "show", "kimina-prover"]]
)
def test_a_reader_that_ends_early_is_no_error(arguments: list[str]) -> None:
    """`proofmesh ... | head -1`."""
    done = without_reader(*arguments)
    assert (done.returncode, done.stderr) == (Exit.READER_GONE, "")


@pytest.mark.lean
def test_a_reader_of_verdicts_that_ends_early_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "A.lean").write_text("theorem a : 1 = 1 := rfl\n\ntheorem b : 2 = 2 := rfl\n")
    done = without_reader("verify", str(tmp_path / "A.lean"))
    assert (done.returncode, done.stderr) == (Exit.READER_GONE, "")


def test_a_broken_pipe_of_something_else_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(command: object, arguments: list[str]) -> int:
        raise BrokenPipeError("a connection")

    monkeypatch.setattr(cli, "_run", breaks)
    with pytest.raises(BrokenPipeError, match="a connection"):
        cli.main(["models", "list"])


def without_reader(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line with its output in a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "node.command.cli", *arguments]
    root = Path(__file__).parents[3]
    try:
        return subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, cwd=root, check=False)
    finally:
        os.close(writing)


def test_up_without_a_file_starts_nothing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def runs(plan: object) -> None:
        raise AssertionError("it would learn")

    monkeypatch.setattr(up, "run", runs)
    for arguments in (["up"], ["up", "--run", "mine"]):
        assert cli.main(arguments) == Exit.UNUSABLE
        said = capsys.readouterr().err
        assert "no file given" in said and "proofmesh up scripts/recipes/laptop.toml" in said and "--policy" in said
    assert cli.main(["up", "--dry-run"]) == 0
