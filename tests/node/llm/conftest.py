import pytest


@pytest.fixture(autouse=True)
def no_key_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "PROOFMESH_OPENAI_KEY"):
        monkeypatch.delenv(name, raising=False)
