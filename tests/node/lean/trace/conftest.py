"""The examples, traced once for all tests."""

import asyncio
from pathlib import Path

import pytest

from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.trace.tracing import Tracer

EXAMPLES = Path(__file__).parent / "examples.lean"


@pytest.fixture(scope="session")
def traced():
    """The examples as a traced file."""
    tracer = Tracer(LeanToolchain.pocket(), EXAMPLES.parent)
    return asyncio.run(tracer.trace(EXAMPLES.read_text(encoding="utf-8"), "examples.lean"))


@pytest.fixture(scope="session")
def theorems(traced):
    """Its theorems by name."""
    return {theorem.name: theorem for theorem in traced.theorems}
