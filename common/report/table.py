"""One table for all results: rich draws it on a terminal, a page embeds it, and it can be written as Markdown.

    table = Table(("family", right("solved"), right("share")), title="By family")
    table.add("algebra", 12, Cell("63%", tone="good"))
    Console().print(table)          # `__rich__`
    {{ table }}                     # `__html__`, in a template of `common.report.page`
    table.markdown()

Texts of cells may come from outside: every writer escapes them. `as_document` writes what a table shows as JSON.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from common.output.visible import escaped_json, in_html, visible

if TYPE_CHECKING:
    from rich import console as rich
    from rich.text import Text

Tone = Literal["", "good", "bad", "warn", "quiet", "strong"]
"""What a cell or a row tells besides its text. Pages have a class of this name."""

_STYLES: dict[Tone, str] = {"": "", "good": "green", "bad": "red", "warn": "yellow", "quiet": "dim", "strong": "bold"}

_WIDEST = 10_000
"""More columns of text than any table needs."""

_MARKS = re.compile(r"([\\`*_\[\]<>&|#~])")
"""Characters that mean something in Markdown."""


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str = ""
    right: bool = False
    """Numbers are aligned to the right, and never broken."""
    lines: bool = False
    """Line breaks of its texts stay. Elsewhere they are shown as `\\n`."""
    widest: int | None = None
    """Most characters on a terminal."""


@dataclass(frozen=True)
class Cell:
    """A cell that has more than a text."""

    text: str
    tone: Tone = ""
    share: float = math.nan
    """A page draws this share of 1 as a bar in place of the text."""


@dataclass(frozen=True)
class Row:
    """A row of a table."""

    cells: tuple[Cell, ...]
    tone: Tone = ""


Content = str | int | Cell
"""What a row is made of. Integers get commas."""


def right(name: str) -> Column:
    """A column of numbers."""
    return Column(name, right=True)


@dataclass
class Table:
    """Rows of cells below headings. It has no headings if all names are empty."""

    columns: Sequence[str | Column]
    title: str = ""
    notes: Sequence[str] = ()
    """Sentences below the table."""
    framed: bool = True
    """On a terminal: with lines around the cells."""
    gap: int = 2
    """On a terminal: spaces between columns of a table without a frame."""
    unfolded: bool = False
    """On a terminal that is too narrow: each row becomes a paragraph, where words would be broken otherwise."""
    rows: list[Row] = field(default_factory=list)

    def add(self, *contents: Content, tone: Tone = "") -> None:
        """Add a row. Missing cells at its end are empty."""
        cells = [_cell(each) for each in contents] + [Cell("")] * (len(self.columns) - len(contents))
        self.rows.append(Row(tuple(cells), tone))

    def fill(self, rows: Iterable[Sequence[Content]]) -> Table:
        """Add rows; returns the table."""
        for cells in rows:
            self.add(*cells)
        return self

    @property
    def _columns(self) -> list[Column]:
        return [Column(each) if isinstance(each, str) else each for each in self.columns]

    # --- terminal -----------------------------------------------------------------------------------------------------

    def __rich_console__(self, console: rich.Console, options: rich.ConsoleOptions) -> rich.RenderResult:
        """The table, or its rows as paragraphs, and its notes."""
        from rich.measure import Measurement
        from rich.text import Text

        whole = self._drawn()
        unlimited = options.update(max_width=_WIDEST)
        if self.unfolded and Measurement.get(console, unlimited, whole).maximum > options.max_width:
            yield from map(Text, self._paragraphs())
        else:
            yield whole
        for note in self.notes:
            yield Text(visible(note, multiline=True), style="dim")

    def _drawn(self) -> rich.RenderableType:
        from rich import table as rich_table

        columns = self._columns
        drawn = rich_table.Table(
            title=_text(self.title) if self.title else None,
            title_justify="left",
            show_header=any(each.name for each in columns),
        )
        if not self.framed:
            drawn.box, drawn.pad_edge, drawn.padding = None, False, (0, self.gap, 0, 0)
            drawn.header_style, drawn.title_style = "dim", ""
        for each in columns:
            drawn.add_column(
                _text(each.name),
                justify="right" if each.right else "left",
                no_wrap=each.right,
                max_width=each.widest,
                overflow="fold",
            )
        for row in self.rows:
            cells = zip(row.cells, columns, strict=True)
            texts = (_text(cell.text, cell.tone, lines=column.lines) for cell, column in cells)
            drawn.add_row(*texts, style=_STYLES[row.tone])
        return drawn

    def _paragraphs(self) -> Iterator[str]:
        """The rows as `column: value, ...`; values that are empty or `-` are left out."""
        if self.title:
            yield visible(self.title)
        for row in self.rows:
            cells = [(of.name, cell.text) for of, cell in zip(self._columns, row.cells, strict=True)]
            shown = [f"{name}: {text}" if name else text for name, text in cells if text not in ("", "-")]
            yield f"- {visible(', '.join(shown))}"

    # --- pages --------------------------------------------------------------------------------------------------------

    def __html__(self) -> str:
        """The <table>, without title and notes: `parts.html` has them."""
        columns = self._columns
        heads = "".join(_element("th", "n" if each.right else "", in_html(each.name)) for each in columns)
        lines = [f"<tr>{heads}</tr>"] if any(each.name for each in columns) else []
        for row in self.rows:
            cells = (_html_cell(cell, of) for cell, of in zip(row.cells, columns, strict=True))
            lines.append(_element("tr", row.tone, "".join(cells)))
        return "<table>" + "\n".join(lines) + "</table>"

    # --- Markdown -----------------------------------------------------------------------------------------------------

    def markdown(self) -> str:
        """The table in Markdown, without title and notes. Texts become plain text: no links, no HTML, no more lines."""
        columns = self._columns
        lines = [[each.name for each in columns], *([each.text for each in row.cells] for row in self.rows)]
        shown = ["| " + " | ".join(map(in_markdown, line)) + " |" for line in lines]
        rule = "| " + " | ".join("---:" if each.right else "---" for each in columns) + " |"
        return "\n".join([shown[0], rule, *shown[1:]])


def as_document(value: object) -> str:
    """Dataclasses, structs and plain values as one JSON document for people and programs. Unknown numbers (nan) are
    null."""
    import msgspec

    return escaped_json(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def in_markdown(text: str) -> str:
    """Text from outside as plain text of Markdown, on one line."""
    return _MARKS.sub(r"\\\1", visible(text.replace("\n", " ")))


def _cell(content: Content) -> Cell:
    return content if isinstance(content, Cell) else Cell(f"{content:,}" if isinstance(content, int) else content)


def _text(text: str, tone: Tone = "", *, lines: bool = False) -> Text:
    from rich.text import Text

    return Text(visible(text, multiline=lines, indent=""), style=_STYLES[tone])


def _element(tag: str, kind: str, content: str) -> str:
    return f'<{tag} class="{kind}">{content}</{tag}>' if kind else f"<{tag}>{content}</{tag}>"


def _html_cell(cell: Cell, column: Column) -> str:
    if not math.isnan(cell.share):
        bar = f'<i style="width:{100 * cell.share:.1f}%"></i>'
        return f'<td class="w"><span class="bar" role="img" aria-label="{in_html(cell.text)}">{bar}</span></td>'
    kinds = " ".join(each for each in ("n" if column.right else "", cell.tone) if each)
    return _element("td", kinds, in_html(cell.text, multiline=column.lines))
