"""Turns errors about a language model into errors about the policy that names it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from node.llm.address import BadModel, ModelAddress
from node.llm.templates import TemplateError
from node.prover.policies.names import BadPolicy, PolicyName


@contextmanager
def as_bad_policy() -> Iterator[None]:
    """Turn BadModel in the block into BadPolicy."""
    try:
        yield
    except BadModel as error:
        raise BadPolicy(str(error)) from error


@contextmanager
def template_wanted(name: PolicyName | ModelAddress, address: ModelAddress) -> Iterator[None]:
    """Turn BadModel and TemplateError in the block into BadPolicy. `name`: the policy's name as the user wrote it."""
    try:
        with as_bad_policy():
            yield
    except TemplateError as error:
        where = "" if address.template else ", behind the model: MODEL@TEMPLATE"
        raise BadPolicy(f"`{name}`: {error}{where}") from error
