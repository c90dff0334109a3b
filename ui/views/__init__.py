"""What the pages ask for: one function for each kind of data, in one file for each group of pages.

A view is a function of a run and a query, a struct of its parameters. `GET /api/run/NAME/VIEW?PARAMETER=VALUE` calls it
in a thread and answers with what it returns, as JSON: numbers that are not finite are null. docs/monitor.md lists them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import msgspec

from common.output.command import UserError
from ui.runs import Run

Query = TypeVar("Query", bound=msgspec.Struct)


class NoQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The query of a view without parameters."""


class View(NamedTuple):
    """A view."""

    query: type[msgspec.Struct]
    """Its parameters, with defaults."""
    answer: Callable[[Run, Any], object]
    """Raises UserError: the page shows its text."""


class BadQuery(UserError, ValueError):
    """A parameter that the view does not have, or a wrong value."""


def decoded(query: type[Query], parameters: dict[str, str]) -> Query:
    """The query of a request. Raises BadQuery."""
    try:
        return msgspec.convert(parameters, query, strict=False)
    except msgspec.ValidationError as error:
        raise BadQuery(f"{error}") from error


def asked(view: View, parameters: dict[str, str]) -> msgspec.Struct:
    """The query of a request to a view. Raises BadQuery."""
    return decoded(view.query, parameters)


def all_views() -> dict[str, View]:
    """Every view by its name."""
    from ui.views import data, evaluating, learning, nodes, roles, searching, selfplay, training, why

    modules = (learning, evaluating, training, data, selfplay, searching, nodes, why, roles)
    return {name: view for module in modules for name, view in module.VIEWS.items()}
