"""Messages of the language server protocol, cut out of a byte stream."""

import msgspec
import pytest

from node.lean.worker import process


def frame(message: object) -> bytes:
    body = msgspec.json.encode(message)
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def test_messages_come_whole_however_the_stream_is_cut():
    stream = (
        frame({"method": "a", "params": {"text": "∀ ∃"}}) + frame({"id": 7, "result": None}) + frame({"method": "b"})
    )
    for size in (1, 2, 3, 7, 1000):
        decoder = process.Decoder()
        parts = [stream[start : start + size] for start in range(0, len(stream), size)]
        messages = [message for part in parts for message in decoder.feed(part)]
        assert [(message.method, message.id) for message in messages] == [("a", None), ("", 7), ("b", None)]
        assert msgspec.json.decode(messages[0].params) == {"text": "∀ ∃"}


@pytest.mark.parametrize(
    "data",
    [
        b"no header at all" * 1000,
        b"Content-Length: x\r\n\r\n{}",
        b"Content-Length: 999999999999\r\n\r\n",
        b"Content-Length: 3\r\n\r\nxyz",
        b"Something: 3\r\n\r\nxyz",
    ],
)
def test_what_is_not_the_protocol_raises(data):
    with pytest.raises(process.FramingError):
        list(process.Decoder().feed(data))
