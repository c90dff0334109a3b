"""Values of the right type outside their range are refused before anything starts, with key, value and range."""

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
