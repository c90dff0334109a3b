import io
import json
import math
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from common.output.terminal import Console
from common.report.chart import Chart
from common.report.page import page
from common.report.table import Cell, Column, Table, as_document, right
from tests.hostile import HOSTILE, SURROGATE, harmless, harmless_and_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EVIL = f"<script>alert(1)</script>\"' | [a](b) {HOSTILE}"


def table(text: str = "algebra", **options: object) -> Table:
    made = Table(("family", right("solved"), Column("why", lines=True)), title=text, notes=(text,), **options)  # type: ignore[arg-type]
    made.add(text, 1204, Cell(text, tone="bad"))
    made.add(text, tone="quiet")
    return made


def printed(made: Table, width: int = 400) -> str:
    out = io.StringIO()
    Console(file=out, width=width).print(made)
    return out.getvalue()


@pytest.mark.parametrize("options", [{}, {"framed": False}, {"unfolded": True}])
@pytest.mark.parametrize("width", [400, 30])
def test_a_table_on_a_terminal_is_harmless_and_whole(options: dict[str, object], width: int) -> None:
    made = Table(("family", right("solved")), title=EVIL, notes=(EVIL,), **options)  # type: ignore[arg-type]
    made.add(SURROGATE, 1204)
    shown = printed(made, width)
    assert harmless(shown) and (width < 400 or harmless_and_whole(shown))
    assert "1,204" in shown


def test_a_table_that_is_too_wide_becomes_paragraphs() -> None:
    made = Table(("", "name", "why"), title="all", unfolded=True).fill([("1", "first-project", "-")])
    assert "- 1, name: first-project" in printed(made, 26) and "name: " not in printed(made, 60)
    exactly = max(map(len, printed(made, 60).splitlines()))
    assert "name: " in printed(made, exactly - 1) and "name: " not in printed(made, exactly)


def test_a_table_in_markdown_is_text_and_a_row_a_line_and_documents_are_data() -> None:
    lines = table(EVIL).markdown().split("\n")
    assert lines[0] == "| family | solved | why |" and lines[1] == "| --- | ---: | --- |" and len(lines) == 4
    assert "<script" not in lines[2].replace(r"\<script", "") and harmless_and_whole("\n".join(lines))
    # Line breaks stay only where a column says so.
    assert printed(table("a\nb")).count(r"a\nb") == 3, "title and both families"
    assert "a\nb" in table("a\nb").__html__() and r"a\nb" in table("a\nb").__html__()
    assert json.loads(as_document({"rate": math.nan, "name": HOSTILE})) == {"rate": None, "name": HOSTILE}
    assert harmless(as_document([HOSTILE]))


class Seen(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not [name for name, _ in attrs if name.startswith("on")]
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


TEMPLATE = """{% extends "page.html" %}{% from "parts.html" import section, card, facts %}
{% block body %}<p title="{{ title }}">{{ title }}</p>{{ section(table) }}{{ card(table, title=title) }}
{{ facts([(title, title), ("empty", "")]) }}<figure>{{ chart }}</figure>{% endblock %}"""


def drawn(axes: "Axes") -> None:
    axes.plot([1, 2], [0.1, 0.2], label="$a$")
    axes.legend()


def test_a_page_obeys_no_text_and_shows_it_whole(tmp_path: Path) -> None:
    template = tmp_path / "some.html"
    template.write_text(TEMPLATE, encoding="utf-8")
    text = page(template, EVIL, table=table(EVIL), chart=Chart("some", [drawn]))
    seen = Seen(text)
    assert "script" not in seen.tags and {"svg", "dl", "table", "figure"} <= set(seen.tags)
    assert "script-src" not in text and "default-src 'none'" in text and "empty" not in seen.text
    assert seen.text.count("<script>alert(1)</script>") >= 8 and harmless_and_whole("".join(seen.text.splitlines()))


@pytest.mark.compute
def test_the_same_chart_gives_the_same_file(tmp_path: Path) -> None:
    chart = Chart("one", [drawn], note="a note")
    for name in ("a.svg", "b.svg", "a.png"):
        chart.save(tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    shown = chart.__html__()
    assert b"a note" in (tmp_path / "a.svg").read_bytes() and "a note" not in shown
    assert "currentColor" in shown and "$a$" in shown
