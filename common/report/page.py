"""One page for all results: a self-contained HTML file in one style, which fetches nothing.

`page` fills a jinja2 template, which extends `page.html` and may import the macros of `parts.html`:

    {% extends "page.html" %}
    {% from "parts.html" import section %}
    {% block body %}<h1>{{ title }}</h1>{{ section(table) }}<figure>{{ chart }}</figure>{% endblock %}

Every text is escaped when it is put in: for HTML, and as `common.output.visible` does it. Only what brings its own HTML
(`__html__`: a Table, a Chart, a macro's result) is taken as it is; `|safe` is for our own texts.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.output.visible import visible
from common.output.words import amount, interval, percent

if TYPE_CHECKING:
    from jinja2 import Environment

_HERE = Path(__file__).parent


def page(template: Path, title: str, *, script: str = "", **values: object) -> str:
    """The page of a template, with these values. `script`: JavaScript of ours, which the page runs."""
    style = (_HERE / "style.css").read_text(encoding="utf-8")
    found = _environment(template.parent).get_template(template.name)
    return found.render(title=title, style=style, script=script, **values)


@cache
def _environment(folder: Path) -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader([folder, _HERE]),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    environment.filters |= {"amount": amount, "interval": interval, "percent": percent}
    return environment


def _shown(value: Any) -> Any:
    """A value of a template before jinja2 escapes it for HTML."""
    return value if hasattr(value, "__html__") else visible(str(value), multiline=True, indent="")
