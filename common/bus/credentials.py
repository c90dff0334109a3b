"""Keys of nodes: who a node is to the broker. They are nkeys (Ed25519), so that NATS' own tools take them, too.

    SU...   the seed: 58 letters, one line of a file that only its user may read
    U...    the public key: 56 letters

The broker knows only public keys; a node signs a word that the broker has just made up. The package `nkeys` would bring
a second library of cryptography for these few lines.
"""

from __future__ import annotations

import base64
import binascii
import os
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from common.bus.asking import BadKey
from common.bus.permissions import Role
from common.protocol.subjects import OWNER
from common.settings import BusSettings

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

ENDING = ".nk"
"""Of the name of a file with a seed."""

_USER = bytes([20 << 3])
"""Begins the public key of a user: it gives the letter U."""

_SEED = bytes([18 << 3 | 20 >> 2, (20 & 3) << 6])
"""Begins the seed of a user: it gives the letters SU."""


@dataclass(frozen=True)
class NodeKey:
    """The key that a node shows to the broker."""

    seed: str
    owner: str = OWNER
    """The name under which a client asks for attempts."""
    place: str = ""
    """Where it comes from, for error texts."""

    @property
    def public(self) -> str:
        """The public key, as the broker's configuration lists it."""
        return _text(_USER + self._private.public_key().public_bytes_raw())

    def sign(self, nonce: str) -> bytes:
        """The answer to the broker's word, in base64."""
        return base64.b64encode(self._private.sign(nonce.encode()))

    @property
    def _private(self) -> Ed25519PrivateKey:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(_bytes_of_seed(self.seed, self.place))


def new_seed() -> str:
    """The seed of a new key."""
    return _text(_SEED + os.urandom(32))


def find_key(settings: BusSettings, run: str, role: str) -> NodeKey | None:
    """The key that the settings or the environment name for a node; None: they name none. Raises BadKey."""
    # 1. An invite: what an operator gives to another machine.
    if (invite := settings.told()) is not None:
        if invite.run != run:
            raise BadKey(f"the invite is for run {invite.run}, not for {run}: use --run {invite.run}")
        if role not in invite.keys:
            raise BadKey(
                f"the invite is for {' and '.join(sorted(invite.keys))}, not for {role}; the broker's machine makes "
                f"another: `proofmesh broker invite {run} --role {role}`"
            )
        return NodeKey(invite.keys[role], invite.owner, "the invite")
    # 2. A file, or a folder with the keys of a run or of several runs.
    if not (named := settings.key or os.environ.get("PROOFMESH_KEY", "")):
        return None
    return read_key(key_file(Path(named), run, role), run)


def key_file(named: Path, run: str, role: str) -> Path:
    """The file with a role's key: the named file, or the one in the named folder, of a run's keys or of several."""
    if named.suffix == ENDING:
        return named
    return named / run / f"{role}{ENDING}" if (named / run).is_dir() else named / f"{role}{ENDING}"


def tls(settings: BusSettings) -> ssl.SSLContext | None:
    """How to encrypt the connection; None: it is not encrypted. Raises BadKey."""
    if not settings.ca:
        return None
    try:
        context = ssl.create_default_context(cadata=text_of(settings.ca))
    except ssl.SSLError as error:
        raise BadKey(f"[bus] ca: no certificate as PEM ({error.reason or error})") from error
    if settings.certificate:
        try:
            context.load_cert_chain(settings.certificate, settings.certificate_key or None)
        except (OSError, ssl.SSLError) as error:
            raise BadKey(f"[bus] certificate: {settings.certificate} and its key cannot be used ({error})") from error
    return context


def text_of(ca: str) -> str:
    """The certificate that [bus] ca names or is. Raises BadKey."""
    if not ca or ca.startswith("-----BEGIN"):
        return ca
    try:
        return Path(ca).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise BadKey(f"[bus] ca: {ca} cannot be read ({error})") from error


def read_key(file: Path, run: str) -> NodeKey:
    """The key in a file. Raises BadKey."""
    try:
        seed = file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise BadKey(
            f"[bus] key: {file} cannot be read ({reason}); `proofmesh broker keys {run}` on the broker's machine makes "
            "the keys of a run"
        ) from error
    role, _, owner = file.name.removesuffix(ENDING).partition(".")
    _bytes_of_seed(seed, str(file))
    return NodeKey(seed, owner if role == Role.CLIENT and owner else OWNER, str(file))


def _bytes_of_seed(seed: str, place: str) -> bytes:
    try:
        content = base64.b32decode(seed + "=" * (-len(seed) % 8))
    except (binascii.Error, ValueError):
        content = b""
    raw, check = content[:-2], content[-2:]
    if len(raw) != 34 or raw[:2] != _SEED or _check(raw) != check:
        raise BadKey(f"[bus] key: {place or 'the key'} is no key of a user: one line of 58 letters that begins with SU")
    return raw[2:]


def _text(raw: bytes) -> str:
    return base64.b32encode(raw + _check(raw)).decode().rstrip("=")


def _check(raw: bytes) -> bytes:
    """CRC-16/XMODEM, with the lower byte first."""
    return binascii.crc_hqx(raw, 0).to_bytes(2, "little")
