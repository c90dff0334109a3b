from dataclasses import dataclass, field
from typing import Annotated

import pytest
import tyro

from common.output import plain_help


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


def test_help_has_plain_placeholders_and_no_empty_defaults(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    plain_help.install()
    plain_help.install()  # a second time changes nothing
    with pytest.raises(SystemExit):
        tyro.cli(Options, args=["--help"])
    said = capsys.readouterr().out
    assert " [STR ...] [--names" in said and "--names [STR ...]" in said
    assert "(default: )" not in said and "(default: '')" not in said and "(default: 3)" in said
    assert "First words of a sentence whose second line goes on." in said and "- a list" in said
    assert tyro.cli(Options, args=["a", "--names", "b", "c"]) == Options(paths=("a",), names=["b", "c"])
