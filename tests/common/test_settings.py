import dataclasses

import pytest

from common.settings import BusSettings


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PROOFMESH_NATS_USER", "PROOFMESH_NATS_PASSWORD"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("address", "url", "credentials"),
    [
        ("nats://mesh:secret@h:4222", "nats://h:4222", ("mesh", "secret")),
        ("mesh:secret@h:4222", "h:4222", ("mesh", "secret")),
        ("nats://secret@h", "nats://h", ("", "secret")),
        ("nats://mesh:sec%40ret@h", "nats://h", ("mesh", "sec@ret")),
        ("nats://mesh:s/e@c?r#et@h", "nats://h", ("mesh", "s/e@c?r#et")),
        ("nats://h1:1, tls://mesh:secret@h2,nats://other:x@h3", "nats://h1:1,tls://h2,nats://h3", ("mesh", "secret")),
        ("nats://h1:1", "nats://h1:1", ("", "")),
    ],
)
def test_an_address_is_kept_without_its_credentials(address: str, url: str, credentials: tuple[str, str]) -> None:
    bus = BusSettings(url=address)
    assert bus.url == url and bus.credentials() == credentials
    assert "secret" not in repr(bus)
    assert dataclasses.replace(bus).credentials() == credentials


def test_credentials_of_the_address_win_over_those_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROOFMESH_NATS_USER", "else")
    monkeypatch.setenv("PROOFMESH_NATS_PASSWORD", "where")
    assert BusSettings(url="nats://secret@h").credentials() == ("", "secret")
    assert BusSettings(user="mesh").credentials() == ("mesh", "where")
    assert BusSettings().credentials() == ("else", "where")
