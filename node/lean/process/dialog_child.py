"""The child's side of `dialog.py`: reads requests from standard input, writes replies to standard output."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeVar

import msgspec

Q = TypeVar("Q")


def answer(request: type[Q], handle: Callable[[Q], object]) -> None:
    """Answer requests until standard input ends. An exception of `handle` ends the process."""
    sys.set_int_max_str_digits(0)  # numbers are as long as the data; the time limit bounds the work
    decoder = msgspec.json.Decoder(request)
    replies = sys.stdout.buffer
    for line in sys.stdin.buffer:
        replies.write(msgspec.json.encode(handle(decoder.decode(line))) + b"\n")
        replies.flush()
