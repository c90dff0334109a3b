"""Signed replies: who may give a verdict. A verifier signs its replies with Ed25519; askers count only these.

    signature over   "proofmesh 1", SUBJECT, SHA-256 of the request, SHA-256 of the reply     (separated by NUL)
    in the headers   Proofmesh-Key: the public key, Proofmesh-Signature: the signature        (both in base64)

So one signature binds statement and script (in the request) to the verdict, its axioms, its header and its toolchain
(in the reply). The password of the broker is not enough to make one: it needs the verifier's key file.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import os
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from common.bus.asking import BadKey

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

KEY_HEADER = "Proofmesh-Key"
SIGNATURE_HEADER = "Proofmesh-Signature"

_PURPOSE = b"proofmesh 1"
"""Begins all signed bytes, so that no signature of another protocol can be taken for one of these."""


class Signer:
    """A verifier's private key."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.public = _text(key.public_key().public_bytes_raw())
        """The public key as 44 characters of base64, as [bus] verifiers lists it."""

    @classmethod
    def of_file(cls, file: Path) -> Signer:
        """The key in a PEM file (`openssl genpkey -algorithm ed25519` writes the same). If there is no file, a new key
        is made, which only this user may read. Raises BadKey."""
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        try:
            if not file.exists():
                _make(file)
            content = file.read_bytes()
        except OSError as error:
            raise BadKey(f"{file}: the verifier's key cannot be read or made ({error.strerror})") from error
        try:
            key = load_pem_private_key(content, password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            raise BadKey(f"{file}: not a private key as PEM without a password ({error})") from error
        if not isinstance(key, Ed25519PrivateKey):
            raise BadKey(f"{file}: not an Ed25519 key; make one with `openssl genpkey -algorithm ed25519`")
        return cls(key)

    def headers(self, subject: str, request: bytes, reply: bytes) -> dict[str, str]:
        """The headers of a reply to a request."""
        return {
            KEY_HEADER: self.public,
            SIGNATURE_HEADER: _text(self._key.sign(_signed(subject, request, reply))),
        }


class Verifiers:
    """The public keys whose replies count."""

    def __init__(self, keys: Iterable[str]) -> None:
        """Raises BadKey if a text is not a public key."""
        self._keys = {key: _public(key) for key in keys}

    def __bool__(self) -> bool:
        return bool(self._keys)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys as text."""
        return tuple(self._keys)

    def problem(self, headers: Mapping[str, str] | None, subject: str, request: bytes, reply: bytes) -> str:
        """Why a reply does not count; empty if one of these verifiers has signed exactly this reply to this request."""
        from cryptography.exceptions import InvalidSignature

        name = (headers or {}).get(KEY_HEADER, "")
        signature = (headers or {}).get(SIGNATURE_HEADER, "")
        if not name or not signature:
            return "it is not signed"
        key = self._keys.get(name)
        if key is None:
            return "it is signed with a key that is not among the run's verifiers"
        try:
            key.verify(_bytes(signature), _signed(subject, request, reply))
        except (InvalidSignature, BadKey):
            return "its signature is wrong"
        return ""


def _signed(subject: str, request: bytes, reply: bytes) -> bytes:
    return b"\0".join((_PURPOSE, subject.encode(), sha256(request).digest(), sha256(reply).digest()))


def _make(file: Path) -> None:
    """Write a new key. Another process may do the same at the same time: the first one wins. Raises OSError."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    pem = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.parent.mkdir(parents=True, exist_ok=True)
    # Written whole under another name first, because several lean-proxies start at the same time.
    draft = file.with_name(f"{file.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(pem)
            out.flush()
            os.fsync(out.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(draft, file)
    finally:
        draft.unlink()


def _public(text: str) -> Ed25519PublicKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        return Ed25519PublicKey.from_public_bytes(_bytes(text))
    except (ValueError, BadKey) as error:
        raise BadKey(f"[bus] verifiers: {text!r} is not a public key (44 characters of base64, as logged)") from error


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _bytes(text: str) -> bytes:
    """Raises BadKey."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadKey(f"{text!r} is not base64") from error
