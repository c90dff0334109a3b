import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import pytest
import tyro

from common.bus.asking import BusUnavailable
from common.config import ConfigError
from common.limits import Positive
from common.output import plain_help
from common.output.command import Exit, UserError, command


@dataclass
class Settings:
    """Count."""

    count: Positive = 1
    out: Path = Path("out")


def run(settings: Settings) -> int:
    if settings.count == 2:
        raise UserError(f"{settings.out}: no such folder\n\x1b[2J")
    if settings.count == 3:
        raise BusUnavailable("no broker at nats://me:SECRET@host")
    if settings.count == 4:
        raise KeyboardInterrupt
    return Exit.DONE


async def run_async(settings: Settings) -> int:
    if settings.count == 4:
        raise asyncio.CancelledError
    return run(settings)


@pytest.mark.parametrize("work", [run, run_async])
def test_what_ends_a_command_is_a_message_and_an_exit_code(work: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for count, code, said in (
        ("1", Exit.DONE, ""),
        ("2", Exit.UNUSABLE, "proofmesh count: out: no such folder\n    \\x1b[2J\n"),
        ("3", Exit.UNAVAILABLE, "proofmesh count: no broker at nats://host\n"),
        ("4", Exit.INTERRUPTED, "proofmesh count: stopped; go on\n"),
    ):
        ended = command(Settings, ["--count", count], work, prog="proofmesh count", interrupted="stopped; go on")
        assert (ended, capsys.readouterr().err) == (code, said)


def test_flags_override_defaults_and_have_limits() -> None:
    seen, default = [], Settings(9, Path("a"))
    command(Settings, ["--count", "5"], lambda each: seen.append(each) or 0, prog="count", default=default)
    assert seen == [Settings(5, Path("a"))]
    with pytest.raises(ConfigError, match="--count"):
        command(Settings, ["--count", "0"], run, prog="count")
    with pytest.raises(SystemExit) as ended:
        command(Settings, ["--cuont", "1"], run, prog="count")
    assert ended.value.code == Exit.UNUSABLE


def test_what_nobody_can_mend_is_not_hidden() -> None:
    def fails(_: Settings) -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        command(Settings, [], fails, prog="count")


@dataclass
class Options:
    """Some options."""

    paths: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """First words of a sentence
    whose second line goes on.

    - a list"""
    names: list[str] = field(default_factory=list)
    """Names."""
    text: str = ""
    """A text."""
    number: int = 3
    """A number."""


def test_help_is_plain_without_empty_values(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    plain_help.install()
    plain_help.install()  # a second time changes nothing
    with pytest.raises(SystemExit):
        tyro.cli(Options, args=["--help"], prog="program")  # without the path of pytest
    said = capsys.readouterr().out
    assert " [STR ...] [--names" in said and "--names [STR ...]" in said
    assert "(default: )" not in said and "(default: '')" not in said and "(default: 3)" in said
    assert "First words of a sentence whose second line goes on." in said and "- a list" in said
    assert tyro.cli(Options, args=["a", "--names", "b", "c"]) == Options(paths=("a",), names=["b", "c"])
