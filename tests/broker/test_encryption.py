"""TLS between the broker and nodes: who is let in, what is said otherwise, and certificates that are renewed."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from broker import keys, streams
from broker.command import main
from broker.launcher import Server
from broker.settings import BrokerSettings
from common.bus import Bus, BusError, BusSettings
from common.settings import Invite
from tests.waiting import until

pytestmark = pytest.mark.broker

HOST = "broker.test"


class Authority:
    """Somebody who vouches for certificates, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, folder.name)])
        own = self._signed(self._name, self._key, 1, x509.BasicConstraints(ca=True, path_length=None))
        self.file = folder / "ca.pem"
        self.file.write_bytes(own.public_bytes(Encoding.PEM))

    def issue(self, name: str, days: float = 1) -> tuple[str, str]:
        """Files with a certificate for HOST, valid until so many days from now, and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        signed = self._signed(subject, key, days, x509.SubjectAlternativeName([x509.DNSName(HOST)]))
        certificate, secret = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        certificate.write_bytes(signed.public_bytes(Encoding.PEM))
        secret.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return str(certificate), str(secret)

    def _signed(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, days: float, extension: x509.ExtensionType
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(self._name).public_key(key.public_key())
        builder = builder.serial_number(x509.random_serial_number()).add_extension(extension, critical=False)
        builder = builder.not_valid_before(now - datetime.timedelta(2))
        return builder.not_valid_after(now + datetime.timedelta(days)).sign(self._key, hashes.SHA256())


async def connected(settings: BusSettings) -> Bus:
    return await Bus.connect(settings, run="r", name="n", role="admin", wait=3)


async def test_nodes_and_broker_know_each_other_by_certificates(tmp_path: Path) -> None:
    ours, theirs = Authority(tmp_path / "ours"), Authority(tmp_path / "theirs")
    certificate, secret = ours.issue("broker")
    store = str(tmp_path / "store")
    settings = BrokerSettings(
        port=0, store=store, certificate=certificate, certificate_key=secret, client_ca=str(ours.file)
    )
    keys.make(store, "r")
    server = Server(settings)
    await server.start()
    try:
        own = dict(zip(("certificate", "certificate_key"), ours.issue("node"), strict=True))
        known = {"url": server.bus.url, "key": server.bus.key, "ca": str(ours.file), "broker_name": HOST}
        # 1. Keys and certificates of both sides: a run works.
        bus = await connected(BusSettings(**known, **own))
        await streams.ensure(bus)
        await bus.close()
        # 2. Everything else is refused in one line, at once.
        stranger = dict(zip(("certificate", "certificate_key"), theirs.issue("node"), strict=True))
        for wrong, says in (
            ({"url": server.bus.url, "key": server.bus.key}, "no broker at .*; if it encrypts, set .bus. ca"),
            (known, "ask for a certificate of this node"),
            (known | stranger, "ask for a certificate of this node"),
            (known | own | {"ca": str(theirs.file)}, r"does not count: .*\[bus\] ca and \[bus\] broker_name"),
            (known | own | {"broker_name": "other.test"}, "does not count: .*other.test"),
            (known | own | {"ca": "none.pem"}, r"\[bus\] ca: none.pem cannot be read"),
            (known | {"certificate": "none.pem"}, r"\[bus\] certificate: none.pem and its key cannot be used"),
        ):
            with pytest.raises(BusError, match=says):
                await connected(BusSettings(**wrong))
        # 3. A certificate whose time is over is said; one that replaces it is read without a restart.
        ours.issue("broker", days=-1)
        assert await server.take_keys()

        async def expired() -> bool:
            try:
                await (await connected(BusSettings(**known, **own))).close()
            except BusError as error:
                return "certificate has expired" in str(error) and "this machine's clock" in str(error)
            return False

        await until(expired)
        ours.issue("broker")
        assert await server.take_keys()

        async def renewed() -> bool:
            try:
                await (await connected(BusSettings(**known, **own))).close()
            except BusError:
                return False
            return True

        await until(renewed)
    finally:
        await server.stop(grace=0)


async def test_a_node_that_wants_encryption_takes_nothing_else(broker: BusSettings, tmp_path: Path) -> None:
    authority = Authority(tmp_path / "ours")
    with pytest.raises(BusError, match=r"no encrypted connection to the broker at .* does it encrypt"):
        await connected(BusSettings(url=broker.url, ca=authority.file.read_text()))


def test_an_invite_says_by_which_certificate_the_broker_is_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(tmp_path / "ours")
    monkeypatch.setenv("PROOFMESH_CA", str(authority.file))
    assert main(["invite", "r", "--store", str(tmp_path), "--url", "nats://h:1"]) == 0
    line = capsys.readouterr().out
    monkeypatch.delenv("PROOFMESH_CA")
    assert BusSettings(invite=line).ca == Invite.read(line).ca == authority.file.read_text()
