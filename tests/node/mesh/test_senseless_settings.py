"""Values of the right type outside their range are refused before anything starts, with key, value and range."""

from __future__ import annotations

import dataclasses
import typing
from pathlib import Path

import pytest

from common.output.command import Exit
from node.command.cli import main
from node.mesh.plan import UpSettings
from node.mesh.roles import ROLES, resolve

SENSELESS = [
    ("prover", "prover", "searches", "-3"),
    ("prover", "prover", "leaves", "0"),
    ("prover", "prover", "sampling.temperature", "-0.5"),
    ("prover", "prover", "sampling.top_p", "0.0"),
    ("prover", "prover", "sampling.top_p", "1.5"),
    ("prover", "prover", "search.discount", "1.5"),
    ("prover", "prover", "search.c_base", "0.0"),
    ("prover", "prover", "search.no_tactic_value", "1.0"),
    ("prover", "prover", "search.progressive_exponent", "2.0"),
    ("prover", "prover", "search.max_depth", "257"),
    ("learner", "learner", "samples", "0"),
    ("prover", "prover", "tactic_seconds", "nan"),
    ("prover", "prover", "tactic_seconds", "0.0"),
    ("prover", "prover", "lean_patience", "inf"),
    ("inference", "inference", "queue", "0"),
    ("inference", "inference", "engine.slots", "0"),
    ("inference", "inference", "engine.new_tokens", "-1"),
    ("broker", "broker", "port", "65536"),
    ("broker", "broker", "max_store_mb", "-1"),
    ("ui", "ui", "port", "70000"),
    ("learner", "learner", "ahead", "0.0"),
    ("learner", "learner", "seed", "-1"),
    ("learner", "learner", "keep_checkpoints", "0"),
    ("learner", "learner", "plan.minutes", "-6.0"),
    ("learner", "learner", "matchmaker.budget", "-16"),
    ("learner", "learner", "matchmaker.disprove_chance", "1.5"),
    ("learner", "learner", "matchmaker.growth", "0.0"),
    ("learner", "learner", "matchmaker.curriculum.target", "1.0"),
    ("learner", "learner", "matchmaker.curriculum.retry_share", "2.0"),
    ("learner", "learner", "replay.supervised_share", "-0.1"),
    ("learner", "learner", "replay.window", "0"),
    ("learner", "learner", "schedule.pause_budget", "30.0"),
    ("learner", "learner", "trainer.batch", "0"),
    ("learner", "learner", "trainer.rate", "nan"),
    ("learner", "learner", "warm_start.decay", "2.0"),
    ("learner", "learner", "evaluation.simulations", "0"),
    ("up", "up", "restarts", "-1"),
    ("up", "up", "window", "0.0"),
    ("prover", "node", "metrics_port", "-1"),
    ("prover", "node", "broker_wait", "nan"),
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


@pytest.mark.parametrize(("command", "section", "key", "value"), SENSELESS[::5])
def test_senseless_value_is_refused_as_a_flag(
    command: str, section: str, key: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    flag = f"--{'node.' if section == 'node' else ''}{key.replace('_', '-')}"
    assert main([command, flag, value, "--dry-run"]) == Exit.UNUSABLE
    assert f"{flag} = {number_of(value)}: must be " in capsys.readouterr().err


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
