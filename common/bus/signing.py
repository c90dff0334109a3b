"""Signed messages: who may give a verdict, who may say which weights are loaded, and which node speaks. Signatures are
Ed25519.

    signature over   "proofmesh 1", SUBJECT, SHA-256 of each part                          (separated by NUL)
    in the headers   Proofmesh-Key: the public key, Proofmesh-Signature: the signature     (both in base64)

    a verdict        parts: the request, the reply. So one signature binds statement and script to the verdict, its
                     axioms, its header and its toolchain. A verifier signs with the key of its file
    an announcement  parts: the text of the header Proofmesh-Time, the message. A learner signs with the key that it
                     shows to the broker. Its time only grows, so that an older announcement cannot be sent again
    a node's word    parts as of an announcement. A node signs its registry entry and its telemetry with a key that it
                     makes when it starts. Its name ends in the first 16 hex digits of the SHA-256 of the public key,
                     so that nobody else can speak under it

The broker's permission to publish is not enough to make a signature: it needs the key.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import functools
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from common.bus.asking import BadKey

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

KEY_HEADER = "Proofmesh-Key"
SIGNATURE_HEADER = "Proofmesh-Signature"

TIME_HEADER = "Proofmesh-Time"
"""Of announcements and of what nodes say: microseconds since 1970, in decimal."""

FINGERPRINT = 16
"""Hex digits at the end of a node's name: to find another key for them, one has to make some 2^64 keys."""

NAMES_REMEMBERED = 8192
"""Nodes whose keys and newest messages a reader remembers. Limited, since a stranger can make any number of names."""

_PURPOSE = b"proofmesh 1"
"""Begins all signed bytes, so that no signature of another protocol can be taken for one of these."""


class Signer:
    """A private key that signs."""

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

    def headers(self, subject: str, *parts: bytes) -> dict[str, str]:
        """The headers of a message: for a reply, the parts are request and reply."""
        return {
            KEY_HEADER: self.public,
            SIGNATURE_HEADER: _text(self._key.sign(_signed(subject, *parts))),
        }


class Clock:
    """Times for signed messages that only grow, whatever this machine's clock does."""

    def __init__(self) -> None:
        self.newest = 0

    def stamp(self) -> str:
        self.newest = max(time.time_ns() // 1000, self.newest + 1)
        return str(self.newest)


class KnownKeys:
    """The public keys whose messages count."""

    def __init__(self, keys: Iterable[str], who: str = "verifiers") -> None:
        """`who`: whose keys they are, for texts. Raises BadKey if a text is not a public key."""
        self._keys = {key: _public(key) for key in keys}
        self._who = who

    def __bool__(self) -> bool:
        return bool(self._keys)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys as text."""
        return tuple(self._keys)

    def problem(self, headers: Mapping[str, str] | None, subject: str, *parts: bytes) -> str:
        """Why a message does not count; empty if one of these keys has signed exactly these parts on this subject."""
        from cryptography.exceptions import InvalidSignature

        name = (headers or {}).get(KEY_HEADER, "")
        signature = (headers or {}).get(SIGNATURE_HEADER, "")
        if not name or not signature:
            return "it is not signed"
        key = self._keys.get(name)
        if key is None:
            return f"it is signed with a key that is not among the run's {self._who}"
        try:
            key.verify(_bytes(signature), _signed(subject, *parts))
        except (InvalidSignature, BadKey):
            return "its signature is wrong"
        return ""


class Announcements:
    """Signs what a learner announces in the run's state, and judges what was announced."""

    def __init__(self, signer: Signer | None, learners: Callable[[], tuple[str, ...]]) -> None:
        """`signer`: this node's own; None: it has no key. `learners`: the public keys of those who may announce; none:
        whatever was announced counts. Raises BadKey."""
        self._signer, self._learners = signer, learners
        self._any_known = bool(learners())
        self._clock = Clock()
        self._order = Order()

    def signs(self) -> bool:
        """Whether this node can sign."""
        return self._signer is not None

    def headers(self, subject: str, payload: bytes) -> dict[str, str] | None:
        """The headers of an announcement, later than those that were judged before; None: this node has no key."""
        if self._signer is None:
            return None
        headers = stamped(self._signer, self._clock, subject, payload)
        self._order.follows(subject, headers)
        return headers

    def problem(self, subject: str, headers: Mapping[str, str] | None, payload: bytes) -> str:
        """Why an announcement does not count; empty if it does. Raises BadKey."""
        # 1. The keys are looked up each time: one may have been revoked, and another learner invited. While a key is
        #    being replaced there may be none for a moment; then nothing counts.
        listed = self._learners()
        self._any_known = self._any_known or bool(listed)
        if not self._any_known:
            return ""
        told = (headers or {}).get(TIME_HEADER, "")
        if problem := KnownKeys(listed, "learners").problem(headers, subject, told.encode(), payload):
            return problem
        # 2. Equal times are the same announcement again, as after a reconnect.
        if not self._order.follows(subject, headers, repeated=True):
            return "a later one was seen before: somebody has sent it again, or the learner's clock was set back"
        self._clock.newest = max(self._clock.newest, _time(headers))
        return ""


class Order:
    """Notices messages that somebody sends again: their times must grow, subject by subject."""

    def __init__(self) -> None:
        self._newest: OrderedDict[str, int] = OrderedDict()

    def follows(self, subject: str, headers: Mapping[str, str] | None, *, repeated: bool = False) -> bool:
        """Whether a message is later than those before it. `repeated`: the newest one may come again."""
        when, newest = _time(headers), self._newest.get(subject, -1)
        if when < newest or (when == newest and not repeated):
            return False
        self._newest[subject] = when
        self._newest.move_to_end(subject)
        if len(self._newest) > NAMES_REMEMBERED:
            self._newest.popitem(last=False)
        return True


class Identity:
    """Who a process is to other nodes: a key that it makes, and names that end in the key's fingerprint."""

    def __init__(self) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        self._signer, self._clock = Signer(Ed25519PrivateKey.generate()), Clock()
        self._fingerprint = _fingerprint(self._signer.public)

    def name(self, beginning: str) -> str:
        """A name that only this process can speak under."""
        return f"{beginning}-{self._fingerprint}"

    def headers(self, subject: str, payload: bytes) -> dict[str, str]:
        """The headers of what it says."""
        return stamped(self._signer, self._clock, subject, payload)


@functools.cache
def own_identity() -> Identity:
    """That of this process."""
    return Identity()


class Names:
    """Judges whether a message comes from the node that it names."""

    def __init__(self) -> None:
        self._keys: OrderedDict[str, KnownKeys] = OrderedDict()

    def problem(self, name: str, subject: str, headers: Mapping[str, str] | None, payload: bytes) -> str:
        """Why a message is not a node's own; empty if the key that its name ends in has signed it."""
        key = (headers or {}).get(KEY_HEADER, "")
        if (known := self._keys.get(name)) is None:
            if not key:
                return "it is not signed"
            try:
                if _fingerprint(key) != name.rpartition("-")[2]:
                    return "it is signed with another key than its name says"
                known = KnownKeys([key], "nodes of this name")
            except BadKey:
                return "its signature is wrong"
            self._keys[name] = known
            if len(self._keys) > NAMES_REMEMBERED:
                self._keys.popitem(last=False)
        return known.problem(headers, subject, (headers or {}).get(TIME_HEADER, "").encode(), payload)


def stamped(signer: Signer, clock: Clock, subject: str, payload: bytes) -> dict[str, str]:
    """The headers of an announcement, or of what a node says."""
    when = clock.stamp()
    return {TIME_HEADER: when, **signer.headers(subject, when.encode(), payload)}


def _time(headers: Mapping[str, str] | None) -> int:
    """The time of a message; 0: it has none."""
    told = (headers or {}).get(TIME_HEADER, "")
    return int(told) if told.isascii() and told.isdecimal() and len(told) < 20 else 0


def _fingerprint(public: str) -> str:
    """Of a public key in base64. Raises BadKey."""
    return sha256(_bytes(public)).hexdigest()[:FINGERPRINT]


def _signed(subject: str, *parts: bytes) -> bytes:
    return b"\0".join((_PURPOSE, subject.encode(), *(sha256(part).digest() for part in parts)))


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
