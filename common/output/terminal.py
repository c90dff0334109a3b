"""The console of rich for all commands: escapes what cannot be seen (`common.output.visible`), and reads no markup."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich import console
from rich.console import ConsoleOptions, RenderableType
from rich.protocol import rich_cast
from rich.segment import Segment
from rich.text import Span, Text

from common.output.visible import INDENT, visible, without_credentials


class Console(console.Console):
    """Prints text as it is: `[red]` and `:smile:` in a theorem's name stay, and escape codes are shown.

    Text is escaped when it is rendered, so also in tables, trees and live displays. Line breaks stay: escape a cell's
    text with `line` where there should be none.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"markup": False, "emoji": False, **options})

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        renderable = rich_cast(renderable)
        if isinstance(renderable, str):
            renderable = self.render_str(renderable, highlight=options.highlight if options else None)
        return super().render(_visible(renderable) if isinstance(renderable, Text) else renderable, options)


def line(text: str, style: str = "") -> Text:
    """Text from outside for one line or one cell: line breaks are shown too."""
    return Text(visible(text), style=style)


def lines(text: str, style: str = "", indent: str = INDENT) -> Text:
    """A message, or a cell's text, of several lines; see `visible`."""
    return Text(visible(text, multiline=True, indent=indent), style=style)


def _visible(text: Text) -> Text:
    """A text with its characters escaped and its styles in place, without passwords of URLs."""
    if (shorter := without_credentials(text.plain)) != text.plain:
        text = Text(shorter, style=text.style, end=text.end)
    if visible(text.plain, multiline=True, indent="") == text.plain:
        return text
    # 1. Escape each character, and note where it now begins.
    parts = [char if char == "\n" else visible(char, multiline=True) for char in text.plain]
    places = [0]
    for part in parts:
        places.append(places[-1] + len(part))
    # 2. Move the styles to these places.
    last = len(places) - 1
    spans = [
        Span(places[min(max(span.start, 0), last)], places[min(span.end, last)], span.style) for span in text.spans
    ]
    shown = text.blank_copy("".join(parts))
    shown.spans = spans
    return shown
