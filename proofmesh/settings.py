"""Converts keyword arguments to the settings of a command, with the names, types, defaults and limits of its flags."""

from __future__ import annotations

import dataclasses
import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from common.config import ConfigError, convert, table_of

T = TypeVar("T")


def settings_of(default: T, given: Mapping[str, Any], where: str) -> T:
    """The default settings, updated with the given ones.

    A section of the settings (`lean`, `proving`) can be given as an object, as a mapping, or by the names of its fields
    if these are flags without a prefix. `where` names the call in messages. Raises ConfigError.
    """
    kind = cast(Any, type(default))
    names = {field.name: field.name for field in dataclasses.fields(kind)}
    parts = [name for name in names if name not in PREFIXED and dataclasses.is_dataclass(getattr(default, name))]
    inner = {field.name: part for part in parts for field in dataclasses.fields(getattr(default, part))}
    table: dict[str, Any] = _table(default)
    for key, value in given.items():
        if key in names:
            old = table.get(key)
            new = _plain(value)
            table[key] = old | new if isinstance(old, dict) and isinstance(new, dict) else new
        elif key in inner:
            table[inner[key]][key] = _plain(value)
        else:
            close = difflib.get_close_matches(key, [*names, *inner], 1)
            hint = f"; did you mean `{close[0]}`?" if close else f"; there are {', '.join([*names, *inner])}"
            raise ConfigError(f"{where}: no setting `{key}`{hint}")
    return cast(T, convert(kind, table, f"{where}:"))


PREFIXED = ("lean",)
"""Sections whose flags have the section's name as prefix: `--lean.project`."""


def _table(settings: Any) -> dict[str, Any]:
    """The settings as builtins, including None values, which `table_of` leaves out."""
    table: dict[str, Any] = msgspec.to_builtins(settings, enc_hook=str)
    return table


def _plain(value: Any) -> Any:
    """A value in the form that a configuration file has."""
    if isinstance(value, os.PathLike):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return table_of(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value


def path_list(paths: str | os.PathLike[str] | tuple[Any, ...] | list[Any]) -> list[str]:
    """One or several paths as texts."""
    several = paths if isinstance(paths, (list, tuple)) else [paths]
    return [str(path) if isinstance(path, Path) else os.fspath(path) for path in several]
