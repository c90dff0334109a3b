"""The command line: instant help, resolved configuration, errors that say what to do, hints behind Lean's messages."""

import dataclasses
import os
import subprocess
import sys
import tomllib
import typing
from pathlib import Path

import pytest

from common.output.command import Exit
from node.command import cli, up
from node.command.cli import main
from node.command.hints import unnoticed, with_hint
from node.mesh.plan import UpSettings
from node.mesh.roles import ROLES, resolve
from tests.commands import Run

HEAVY = ("torch", "nats", "aiohttp", "tokenizers", "datasets", "openai", "transformers", "peft", "huggingface_hub")
"""Packages whose import is too slow for `--help` (numpy's 0.1 s is acceptable)."""


@pytest.fixture
def proofmesh(proofmesh: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """In a terminal that is wide enough."""
    monkeypatch.setenv("COLUMNS", "100")
    return proofmesh


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
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, cwd=root, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("role", list(ROLES))
def test_dry_run_prints_toml_that_config_reads_back(role: str, proofmesh: Run, tmp_path: Path) -> None:
    first = proofmesh(role, "--dry-run", "--run", "other-1", "--bus.url", "nats://127.0.0.1:4333")
    assert first.code == 0, first.err
    resolved = tomllib.loads(first.out)
    assert (resolved["run"]["name"], resolved["bus"]["url"]) == ("other-1", "nats://127.0.0.1:4333")
    assert ROLES[role].section in resolved
    file = tmp_path / "mesh.toml"
    file.write_text(first.out)
    second = proofmesh(role, "--dry-run", "--config", str(file))
    assert second.code == 0, second.err
    assert tomllib.loads(second.out) == resolved


BROKER = ["broker", "--config", "mesh.toml", "--dry-run"]


@pytest.mark.parametrize(
    ("content", "arguments", "words"),
    [
        ("[broker]\nprot = 1\n", BROKER, ["mesh.toml", "[broker]", "prot", "unknown key", "did you mean `port`?"]),
        ('[broker]\nport = "many"\n', BROKER, ["mesh.toml", "[broker]", "port", "expected `int`", "`str`"]),
        ("[brokr]\n", BROKER, ["mesh.toml", "[brokr]", "unknown section", "`broker`"]),
        ("[broker\n", BROKER, ["mesh.toml", "is not TOML"]),
        ("", ["brokr"], ["did you mean `broker`?"]),
        ("", ["broker", "--run", "Not A Name", "--dry-run"], ["bad run name 'Not A Name'"]),
        ("", ["broker", "--config", "/nowhere/mesh.toml"], ["/nowhere/mesh.toml: cannot be read"]),
        ("", ["broker", "--port", "many"], ["--port"]),
    ],
)
def test_what_is_wrong_is_a_clear_message_and_exit_code_2(
    content: str, arguments: list[str], words: list[str], proofmesh: Run, tmp_path: Path
) -> None:
    (tmp_path / "mesh.toml").write_text(content)
    code, _, err = proofmesh(*arguments)
    assert code == Exit.UNUSABLE and all(word in err for word in words), err
    assert not content or err.count("\n") == 1


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


# --- values of the right type outside their range ---------------------------------------------------------------------
SENSELESS = [
    ("prover", "prover", "searches", "-3"),
    ("prover", "prover", "sampling.top_p", "1.5"),
    ("prover", "prover", "search.discount", "1.5"),
    ("prover", "prover", "tactic_seconds", "nan"),
    ("prover", "prover", "lean_patience", "inf"),
    ("broker", "broker", "port", "65536"),
    ("learner", "learner", "plan.minutes", "-6.0"),
    ("learner", "learner", "matchmaker.curriculum.target", "1.0"),
    ("learner", "learner", "trainer.rate", "nan"),
    ("up", "up", "restarts", "-1"),
    ("prover", "node", "metrics_port", "-1"),
]


def number_of(value: str) -> str:
    """The value as it is shown."""
    return repr(float(value)) if "." in value or value.isalpha() else value


@pytest.mark.parametrize(("command", "section", "key", "value"), SENSELESS)
def test_senseless_value_is_refused_in_a_file(
    command: str, section: str, key: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mesh.toml"
    file.write_text(f"[{section}]\n{key} = {value}\n")
    assert main([command, "--config", str(file), "--dry-run"]) == Exit.UNUSABLE
    assert f"mesh.toml: [{section}] {key} = {number_of(value)}: must be " in capsys.readouterr().err


def test_a_shape_that_no_network_can_have_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learner", "--model.heads", "3", "--dry-run"]) == Exit.UNUSABLE
    assert "--model: width is 128; it must be a multiple of heads, 3" in capsys.readouterr().err


def test_every_number_of_the_configuration_has_limits() -> None:
    found = [UpSettings, *(resolve(role.settings) for role in ROLES.values())]
    free: list[str] = []
    while found:
        cls = found.pop()
        for name, kind in typing.get_type_hints(cls, include_extras=True).items():  # type: ignore[arg-type]
            if dataclasses.is_dataclass(kind) and not hasattr(kind, "check"):
                found.append(kind)
            elif {int, float} & {kind, *typing.get_args(kind)} and not hasattr(kind, "__metadata__"):
                free.append(f"{cls.__name__}.{name}")  # type: ignore[attr-defined]
    counted_by_plan = {
        f"UpSettings.{role}" for role in ("broker", "learner", "inference", "prover", "lean_proxy", "ui")
    }
    assert set(free) == counted_by_plan, "give each of them a type of common.limits"


# --- hints behind Lean's messages: what belongs to Mathlib, and what is Lean 3 ----------------------------------------
@pytest.mark.parametrize(
    ("message", "text", "says"),
    [
        ("unexpected identifier; expected command", "lemma b : 1 = 1 := rfl", "write `theorem`"),
        ("unexpected identifier; expected 'def' or 'theorem'", "@[simp] private lemma b : P := h", "write `theorem`"),
        (
            "unknown tactic",
            "theorem a (x y : Nat) : x + y = y + x := by\n  ring",
            "`ring` needs Mathlib: --lean.project",
        ),
        ("<input>:2:3: unknown tactic", "theorem a : P := by norm_num", "`norm_num` needs Mathlib"),
        ("Unknown identifier `ℕ`\n\nNote: more", "theorem a (x : ℕ) : x = x", "Lean's own name is `Nat`"),
        ("Unknown identifier `ℝ`", "theorem a (x : ℝ) : x = x", "`ℝ` needs Mathlib: --lean.project"),
        ("Unknown identifier `begin`", "theorem a : P :=\nbegin\n  split\nend", "Lean 3"),
        ("failed to synthesize instance", "theorem a (n : nat) : n + 0 = n :=\nbegin\n  simp,\nend", "Lean 3"),
        ("unknown module prefix 'data'", "import data.nat.basic", "Lean 3"),
    ],
)
def test_a_message_about_what_lean_lacks_says_what_to_do(message: str, text: str, says: str) -> None:
    first = with_hint(message, text).split("\n")[0]
    assert first.startswith(message.split("\n")[0] + "; ") and says in first
    assert with_hint(message, text).endswith(message.partition("\n")[2])


def test_a_letter_for_numbers_that_nothing_declares_is_noticed() -> None:
    said = unnoticed("-- ℚ\n\ntheorem a (x : ℝ) : x = x := rfl\n")
    assert said.startswith("line 3: nothing here declares `ℝ`") and "--lean.project" in said
    for text in (
        "import Mathlib\ntheorem a (x : ℝ) : x = x := rfl",
        'notation "ℕ" => Nat\ntheorem a (x : ℕ) : x = x := rfl',
        "def ℕ := Nat\ntheorem a (x : ℕ) : x = x := rfl",
        "theorem a {ℕ : Type} (x : ℕ) : x = x := rfl",
        "theorem «ℕ» : 1 = 1 := rfl",
    ):
        assert unnoticed(text) == ""
