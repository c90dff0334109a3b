"""Reads the fields of a class from its source: types, defaults and docstrings."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType


@dataclass(frozen=True)
class Field:
    """One field of a class, or one member of an enumeration."""

    name: str
    annotation: str
    """The annotation in the source; empty for a member of an enumeration."""
    default: str
    """The default in the source; empty: none."""
    doc: str
    """The docstring below the field, on one line."""


def fields(cls: type) -> list[Field]:
    """The fields that the class itself defines, in the order of the source."""
    return list(_fields(_definition(cls)))


def module_values(module: ModuleType) -> list[Field]:
    """The variables that a module defines, in the order of the source."""
    return list(_fields(_module(module.__name__)))


def doc(cls: type) -> str:
    """The class's docstring; paragraphs are separated by blank lines."""
    text = ast.get_docstring(_definition(cls)) or ""
    return "\n\n".join(one_line(paragraph) for paragraph in text.split("\n\n"))


def one_line(text: str) -> str:
    """Text without line breaks."""
    return " ".join(text.split())


def cell(text: str) -> str:
    """Text for a cell of a Markdown table."""
    return one_line(text).replace("|", "\\|")


def code(text: str) -> str:
    """Text as code in a cell of a Markdown table."""
    return f"`{cell(text)}`" if text else ""


@functools.cache
def _module(name: str) -> ast.Module:
    return ast.parse(inspect.getsource(importlib.import_module(name)))


def _definition(cls: type) -> ast.ClassDef:
    for node in ast.walk(_module(cls.__module__)):
        if isinstance(node, ast.ClassDef) and node.name == cls.__name__:
            return node
    raise LookupError(f"{cls.__module__} defines no class {cls.__name__}")


def _fields(definition: ast.ClassDef | ast.Module) -> Iterator[Field]:
    following = [*definition.body[1:], None]
    for node, after in zip(definition.body, following, strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name, annotation, value = node.target.id, ast.unparse(node.annotation), node.value
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name, annotation, value = node.targets[0].id, "", node.value
        else:
            continue
        text = ""
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str):
            text = one_line(textwrap.dedent(after.value.value))
        yield Field(name, annotation, ast.unparse(value) if value else "", text)
