"""The command line: instant help, resolved configuration, and errors that say what to do."""

import os
import subprocess
import sys
import tomllib
from functools import partial
from pathlib import Path

import pytest

from common.output.command import Exit
from node.command import cli, up
from node.mesh.roles import ROLES
from tests.commands import Called, Run

HEAVY = ("torch", "nats", "aiohttp", "tokenizers", "datasets", "openai", "transformers", "peft", "huggingface_hub")
"""Packages whose import is too slow for `--help` (numpy's 0.1 s is acceptable)."""


@pytest.fixture
def proofmesh(called: Called, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line in this process."""
    monkeypatch.setenv("COLUMNS", "100")
    return partial(called, cli.main)


HELP = f"""
import contextlib, io, sys
from node.command.cli import COMMANDS, main
for command in ["", *COMMANDS]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            code = main([*filter(None, [command]), "--help"])
        except SystemExit as error:
            code = error.code or 0
    heavy = [name for name in {HEAVY} if name in sys.modules]
    odd = [each for each in ("[[", "(default: )", "(default: '')") if each in out.getvalue()]
    if code or heavy or odd:
        sys.exit(f"{{command}} --help: exit code {{code}}, imports {{heavy}}, prints {{odd}}")
"""
"""Every command's help in one process: nothing heavy may be imported up to there."""


@pytest.mark.process
def test_help_needs_no_heavy_import() -> None:
    done = subprocess.run(
        [sys.executable, "-c", HELP], capture_output=True, text=True, cwd=Path(__file__).parents[3], check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("role", list(ROLES))
def test_dry_run_prints_toml_that_config_reads_back(role: str, proofmesh: Run, tmp_path: Path) -> None:
    first = proofmesh(role, "--dry-run", "--run", "other-1", "--bus.url", "nats://127.0.0.1:4333")
    assert first.code == 0, first.err
    resolved = tomllib.loads(first.out)
    assert resolved["run"]["name"] == "other-1"
    assert resolved["bus"]["url"] == "nats://127.0.0.1:4333"
    assert ROLES[role].section in resolved
    file = tmp_path / "mesh.toml"
    file.write_text(first.out)
    second = proofmesh(role, "--dry-run", "--config", str(file))
    assert second.code == 0, second.err
    assert tomllib.loads(second.out) == resolved


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[broker]\nprot = 1\n", ["[broker]", "prot", "unknown key", "did you mean `port`?"]),
        ('[broker]\nport = "many"\n', ["[broker]", "port", "expected `int`", "`str`"]),
        ("[brokr]\n", ["[brokr]", "unknown section", "`broker`"]),
        ("[broker\n", ["is not TOML"]),
    ],
)
def test_a_wrong_file_is_one_clear_message_and_exit_code_2(
    content: str, words: list[str], proofmesh: Run, tmp_path: Path
) -> None:
    (tmp_path / "mesh.toml").write_text(content)
    code, _, err = proofmesh("broker", "--config", "mesh.toml", "--dry-run")
    assert code == Exit.UNUSABLE and err.count("\n") == 1
    assert all(word in err for word in ("mesh.toml", *words)), err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["brokr"], "did you mean `broker`?"),
        (["broker", "--run", "Not A Name", "--dry-run"], "bad run name 'Not A Name'"),
        (["broker", "--config", "/nowhere/mesh.toml"], "/nowhere/mesh.toml: cannot be read"),
        (["broker", "--port", "many"], "--port"),
    ],
)
def test_a_wrong_command_line_is_a_clear_message_and_exit_code_2(
    arguments: list[str], words: str, proofmesh: Run
) -> None:
    code, _, err = proofmesh(*arguments)
    assert code == Exit.UNUSABLE and words in err


@pytest.mark.process
@pytest.mark.parametrize("arguments", [["verify", "--help"], ["models", "show", "kimina-prover"]])
def test_a_reader_that_ends_early_is_no_error(arguments: list[str]) -> None:
    """`proofmesh ... | head -1`."""
    done = without_reader(*arguments)
    assert (done.returncode, done.stderr) == (Exit.READER_GONE, "")


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
