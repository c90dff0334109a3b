"""Commands in this process."""

from functools import partial

import pytest

from node.command import cli
from node.command.evaluate import command as evaluating
from node.command.proofs import prove as proving
from tests.commands import Called, Run


@pytest.fixture
def proofmesh(called: Called) -> Run:
    return partial(called, cli.main)


@pytest.fixture
def prove(called: Called) -> Run:
    return partial(called, proving.main)


@pytest.fixture
def evaluate(called: Called) -> Run:
    return partial(called, evaluating.main)
