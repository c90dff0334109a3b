"""Certificates for tests of encryption."""

import datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

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
        """Files with a certificate for HOST and localhost, valid until so many days from now, and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        hosts = x509.SubjectAlternativeName([x509.DNSName(HOST), x509.DNSName("localhost")])
        signed = self._signed(subject, key, days, hosts)
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
