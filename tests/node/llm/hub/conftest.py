"""Folders with small models, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.node.llm.hub.tiny import llama, saved, t5


@pytest.fixture(scope="session")
def llama_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(llama(), tmp_path_factory.mktemp("models") / "tiny-llama")


@pytest.fixture(scope="session")
def t5_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(t5(), tmp_path_factory.mktemp("models") / "tiny-t5")
