"""Results of attempts, divided into messages of bounded size."""

from __future__ import annotations

import msgspec

from common.messages import MAX_MESSAGE_BYTES, AttemptResult, OversizedMessage, Transition, encode

HEADROOM = 1024
"""Bytes kept free for what dividing adds: part numbers and longer length prefixes."""


def divide(result: AttemptResult, limit: int = MAX_MESSAGE_BYTES) -> list[AttemptResult]:
    """The result as one or more parts, each under `limit` bytes when encoded.

    The first part carries proof, script and message; every part repeats the ids and a share of the transitions. A
    proof or a transition that is too large by itself makes the result an `error` that says so: it could never be
    delivered.
    """
    try:
        return [msgspec.structs.replace(result, part=0, parts=1)] if _size(result) <= limit else _parts(result, limit)
    except OversizedMessage as error:
        empty = msgspec.structs.replace(
            result, outcome="error", message=str(error), proof=None, script="", transitions=(), part=0, parts=1
        )
        return [empty]


def _parts(result: AttemptResult, limit: int) -> list[AttemptResult]:
    head = msgspec.structs.replace(result, transitions=())
    rest = msgspec.structs.replace(head, proof=None, script="", message="")
    shares = _shares(result.transitions, limit - _size(head) - HEADROOM, limit - _size(rest) - HEADROOM)
    return [
        msgspec.structs.replace(head if part == 0 else rest, transitions=tuple(share), part=part, parts=len(shares))
        for part, share in enumerate(shares)
    ]


def _shares(transitions: tuple[Transition, ...], first: int, other: int) -> list[list[Transition]]:
    """Transitions in order, filling `first` bytes and then `other` bytes at a time. Raises OversizedMessage."""
    if first < 0:
        raise OversizedMessage(f"the proof is {-first} bytes too large for a message")
    shares: list[list[Transition]] = [[]]
    room = first
    for transition in transitions:
        size = len(msgspec.msgpack.encode(transition))
        if size > other:
            raise OversizedMessage(f"one transition has {size} bytes; a message has room for {other}")
        if size > room:
            shares.append([])
            room = other
        shares[-1].append(transition)
        room -= size
    return shares


def _size(result: AttemptResult) -> int:
    """Encoded bytes, however many."""
    try:
        return len(encode(result))
    except OversizedMessage:
        return len(msgspec.msgpack.encode(result))
