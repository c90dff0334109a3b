import io

import pytest
from rich.live import Live
from rich.panel import Panel
from rich.progress import Progress, TextColumn
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from common.output.terminal import Console, line, lines
from tests.hostile import HOSTILE, SURROGATE, harmless, harmless_and_whole


def printed(*values: object, **options: object) -> str:
    out = io.StringIO()
    Console(file=out, width=400).print(*values, **options)  # type: ignore[arg-type]
    return out.getvalue()


@pytest.mark.parametrize(
    "value",
    [line(SURROGATE), lines(SURROGATE), Tree(line(HOSTILE)), Panel(line(HOSTILE), title=line(HOSTILE))],
    ids=["line", "lines", "tree", "panel"],
)
def test_text_that_is_made_for_it_is_whole_and_harmless(value: object) -> None:
    assert harmless_and_whole(printed(value))


def test_text_that_nobody_escaped_is_escaped_when_it_is_printed() -> None:
    text = HOSTILE.replace("\n", " ")
    table = Table("a", title=text, caption=text)
    table.add_row(text)
    table.add_row(Text(text))
    for value in (text, Text(text), table, Tree(text), Panel(text)):
        assert harmless(printed(value))
        assert "[bold]b[/bold]" in printed(value)


def test_live_displays_and_bars_are_escaped_too() -> None:
    text = HOSTILE.replace("\n", " ")
    out = io.StringIO()
    console = Console(file=out, width=400)
    with Live(Text(text), console=console, auto_refresh=False):
        pass
    with Progress(TextColumn("{task.description}", markup=False), console=console) as progress:
        progress.add_task(text)
    assert harmless(out.getvalue()) and "[bold]b[/bold]" in out.getvalue()


def test_styles_stay_where_they_were() -> None:
    out = io.StringIO()
    console = Console(file=out, width=80, force_terminal=True, color_system="standard")
    console.print(Text.assemble(("a\x1bb", "red"), "\u202ec"))
    assert out.getvalue() == "\x1b[31ma\\x1bb\x1b[0m\\u202ec\n"
