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
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from common.bus.asking import BadKey
from common.bus.permissions import Role
from common.bus.signing import Signer
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
    def signer(self) -> Signer:
        """The same key for signatures that other nodes check."""
        return Signer(self._private)

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


PUBLIC = ".pub"
"""Ending of a file with the public key of somebody who was invited."""

ANNOUNCERS = (Role.LEARNER, Role.STP)
"""Roles that say which weights and models are served."""


def learner_keys(settings: BusSettings, key: NodeKey | None, role: str) -> tuple[str, ...]:
    """The public keys, in base64, of those who may announce weights: those that the settings name, those in the folder
    of the node's own key, and the node's own if it is a learner's. Empty: none is known. Raises BadKey."""
    listed = [_base64_of(public) for public in settings.learner_keys()]
    if key is not None and (place := Path(key.place)).suffix == ENDING:
        listed += [_base64_of(public) for public in announcers(place.parent)]
    if key is not None and role in ANNOUNCERS:
        listed.append(key.signer.public)
    return tuple(dict.fromkeys(listed))


def announcers(folder: Path) -> list[str]:
    """The public keys of learners and self-play in the folder of a run's keys. Raises BadKey."""
    return _listed(folder, ANNOUNCERS)


def own_verifiers(settings: BusSettings, run: str) -> tuple[str, ...]:
    """The public keys, in base64, of the run's verifiers, for a broker node that has the folder of the run's keys.
    Raises BadKey."""
    named = settings.key or os.environ.get("PROOFMESH_KEY", "")
    folder = key_file(Path(named), run, Role.ADMIN).parent if named else None
    return tuple(_base64_of(public) for public in _listed(folder, (Role.VERIFIER,))) if folder else ()


def _listed(folder: Path, roles: tuple[Role, ...]) -> list[str]:
    """The public keys of these roles in the folder of a run's keys: the run's own, and those of invites, as far as this
    user may read them. Raises BadKey."""
    found = []
    for role in roles:
        for file in (folder / f"{role}{ENDING}", *sorted(folder.glob(f"{role}.*{PUBLIC}"))):
            with suppress(OSError):
                text = file.read_text().strip()
                found.append(NodeKey(text, place=str(file)).public if file.suffix == ENDING else text)
    return found


def _base64_of(public: str) -> str:
    """A public key as signatures name it. Raises BadKey."""
    if (raw := _key_in(public, _USER)) is None:
        raise BadKey(
            f"[bus] learners: {public!r} is no public key of a user: 56 letters that begin with U, as `proofmesh "
            "broker keys RUN` lists them"
        )
    return base64.b64encode(raw).decode()


def key_file(named: Path, run: str, role: str) -> Path:
    """The file with a role's key: the named file, or the one in the named folder, of a run's keys or of several."""
    if named.suffix == ENDING:
        return named
    return named / run / f"{role}{ENDING}" if (named / run).is_dir() else named / f"{role}{ENDING}"


def tls(settings: BusSettings) -> ssl.SSLContext | None:
    """How to encrypt the connection; None: it is not encrypted. Raises BadKey."""
    if not settings.ca:
        return None
    # Not the authorities that the system knows: they vouch for everybody who has a name.
    return _shown(settings, _trusting(settings, ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)))


def web_tls(settings: BusSettings) -> ssl.SSLContext:
    """How to encrypt requests to https addresses. Besides [bus] ca the authorities that the system knows count, because
    a web server may have its certificate from one of them. Raises BadKey."""
    return _shown(settings, _trusting(settings, ssl.create_default_context()))


def why_no_https(error: Exception) -> str:
    """Why the certificate of a web server does not count, and what to do."""
    reason = getattr(error, "verify_message", error)
    return (
        f"its certificate does not count ({reason}); compare PROOFMESH_CA and the name in the address with the "
        "certificate, its dates, and this machine's clock"
    )


def _trusting(settings: BusSettings, context: ssl.SSLContext) -> ssl.SSLContext:
    """With the authority of [bus] ca. Raises BadKey."""
    try:
        if settings.ca:
            context.load_verify_locations(cadata=text_of(settings.ca))
    except ssl.SSLError as error:
        raise BadKey(f"[bus] ca: no certificate as PEM ({error.reason or error})") from error
    return context


def _shown(settings: BusSettings, context: ssl.SSLContext) -> ssl.SSLContext:
    """With this node's own certificate, if it has one. Raises BadKey."""
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
    if (raw := _key_in(seed, _SEED)) is None:
        raise BadKey(f"[bus] key: {place or 'the key'} is no key of a user: one line of 58 letters that begins with SU")
    return raw


def _key_in(text: str, kind: bytes) -> bytes | None:
    """The 32 bytes of a key of this kind, as `_text` has written it; None if it is none."""
    try:
        content = base64.b32decode(text + "=" * (-len(text) % 8))
    except (binascii.Error, ValueError):
        return None
    raw, check = content[:-2], content[-2:]
    if len(raw) != len(kind) + 32 or not raw.startswith(kind) or _check(raw) != check:
        return None
    return raw[len(kind) :]


def _text(raw: bytes) -> str:
    return base64.b32encode(raw + _check(raw)).decode().rstrip("=")


def _check(raw: bytes) -> bytes:
    """CRC-16/XMODEM, with the lower byte first."""
    return binascii.crc_hqx(raw, 0).to_bytes(2, "little")
