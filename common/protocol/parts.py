"""Splits the result of an attempt into messages of bounded size, and joins the parts again."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from common.protocol.attempts import MAX_PARTS, AttemptOutcome, AttemptResult, ResultPart
from common.protocol.messages import MAX_MESSAGE_BYTES, MalformedMessage, decode

HEADROOM = 1024
"""Bytes of a part other than its payload and its ids: field names, numbers, the digest."""


def divide(result: AttemptResult, limit: int = MAX_MESSAGE_BYTES) -> list[AttemptResult | ResultPart]:
    """The result itself if it has at most `limit` bytes, else parts of at most `limit` bytes.

    A result that is too large for MAX_PARTS parts cannot be delivered. It is replaced by an `error` that says so.
    """
    payload = msgspec.msgpack.encode(result)
    if len(payload) <= limit:
        return [result]
    room = limit - HEADROOM - len(result.attempt_id.encode()) - len(result.prover_id.encode())
    parts = -(-len(payload) // room) if room > 0 else MAX_PARTS + 1
    if parts > MAX_PARTS:
        problem = f"the result has {len(payload)} bytes; {MAX_PARTS} messages have room for {MAX_PARTS * room}"
        return [msgspec.structs.replace(result, outcome=AttemptOutcome.ERROR, message=problem, proof=None, proofs=())]
    digest = digest_of(payload)
    return [
        ResultPart(
            attempt_id=result.attempt_id,
            prover_id=result.prover_id,
            digest=digest,
            part=part,
            parts=parts,
            payload=payload[part * room : (part + 1) * room],
        )
        for part in range(parts)
    ]


def joined(payloads: Sequence[bytes], digest: str) -> AttemptResult:
    """The result from the payloads of its parts, in order. Raises MessageError."""
    payload = b"".join(payloads)
    if digest_of(payload) != digest:
        raise MalformedMessage(f"{len(payloads)} parts of a result do not match their digest {digest!r}")
    return decode(payload, AttemptResult, limit=MAX_PARTS * MAX_MESSAGE_BYTES)


def digest_of(payload: bytes) -> str:
    """blake2b of an encoded result, hex."""
    return hashlib.blake2b(payload, digest_size=16).hexdigest()


class Parts:
    """Collects parts of results in memory, for a client with few attempts. The learner stores them in its database."""

    def __init__(self) -> None:
        self._payloads: dict[tuple[str, str, str, int], dict[int, bytes]] = {}

    def add(self, part: ResultPart) -> AttemptResult | None:
        """The result that this part completes; None while parts are missing. Raises MessageError."""
        payloads = self._payloads.setdefault((part.attempt_id, part.prover_id, part.digest, part.parts), {})
        payloads[part.part] = part.payload
        if len(payloads) < part.parts:
            return None
        return joined([payloads[number] for number in sorted(payloads)], part.digest)
