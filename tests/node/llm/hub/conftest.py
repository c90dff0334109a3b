"""Folders with small models, made once."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def llama_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.node.llm.hub.tiny import llama, saved  # with transformers, which takes seconds

    return saved(llama(), tmp_path_factory.mktemp("models") / "tiny-llama")


@pytest.fixture(scope="session")
def t5_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.node.llm.hub.tiny import saved, t5

    return saved(t5(), tmp_path_factory.mktemp("models") / "tiny-t5")
