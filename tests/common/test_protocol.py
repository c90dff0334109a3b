"""Every message: it survives the wire, plain msgpack reads it as the page says, what is wrong is refused in one line.

The messages, their fields and their values are found in the classes, so a new message is tested without a line here.
"""

import ast
import json
import re
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgpack
import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from common.protocol import messages
from common.protocol.messages import MAX_MESSAGE_BYTES, MalformedMessage, Message, OversizedMessage, decode, encode
from common.protocol.subjects import all_messages
from tests.hostile import HOSTILE, harmless
from tests.message_values import ALL_MESSAGES, example_of, values_of

PAGE = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text(encoding="utf-8")

few = settings(max_examples=5, deadline=None, derandomize=True, database=None)

of_every_message = pytest.mark.parametrize("cls", ALL_MESSAGES, ids=lambda cls: cls.__name__)

ROWS = {
    section[1]: [
        [cell.strip(" ") for cell in line.replace("\\|", "∣").split("|")[1:-1]]
        for line in section[2].splitlines()
        if line.startswith("| `")
    ]
    for section in re.finditer(r"^### (\w+)\n(.*?)(?=^##|\Z)", PAGE, re.DOTALL | re.MULTILINE)
}
"""The tables in the sections of messages, structs and enumerations."""

DOCUMENTED = {
    name: {row[0].strip("`"): row[1].split("`")[1] if len(row) == 4 else "" for row in rows}
    for name, rows in ROWS.items()
}

ON_THE_WIRE: dict[str, tuple[type, ...]] = {kind.__name__: (kind,) for kind in (bool, int, str, bytes)}
ON_THE_WIRE |= {"float": (float, int), "nil": (type(None),)}


def conforms(value: Any, kind: ast.expr) -> bool:
    """Whether a plain value has a type of docs/protocol.md."""
    match kind:
        case ast.BinOp(left=left, right=right):
            return conforms(value, left) or conforms(value, right)
        case ast.Constant(value=literal):
            return bool(value == literal)
        case ast.Subscript(value=ast.Name(id="array"), slice=item):
            return type(value) is list and all(conforms(each, item) for each in value)
        case ast.Subscript(value=ast.Name(id="map"), slice=ast.Tuple(elts=[key, item])):
            pairs = value.items() if type(value) is dict else [(None, None)]
            return all(conforms(name, key) and conforms(each, item) for name, each in pairs)
        case ast.Name(id=name) if name in ON_THE_WIRE:
            return type(value) in ON_THE_WIRE[name]
        case ast.Name(id=name):
            return as_documented(value, DOCUMENTED[name])
    raise AssertionError(f"docs/protocol.md does not explain {ast.unparse(kind)}")


def as_documented(value: Any, section: dict[str, str]) -> bool:
    """Whether a plain value is a struct or a member of an enumeration as its section describes it."""
    if not any(section.values()):
        return type(value) is str and value in section
    same = type(value) is dict and set(value) == set(section)
    return same and all(conforms(value[name], parsed(kind)) for name, kind in section.items())


def parsed(kind: str) -> ast.expr:
    return ast.parse(kind.replace("∣", "|"), mode="eval").body


def in_binary(written: dict[str, Any], cls: type[Message]) -> dict[str, Any]:
    """The values with those of type `bytes` as such: JSON has only texts."""
    kinds = DOCUMENTED[cls.__name__]
    return {name: value.encode() if kinds[name] == "bytes" else value for name, value in written.items()}


def test_every_message_is_on_some_channel() -> None:
    assert set(ALL_MESSAGES) == set(all_messages())


@of_every_message
def test_a_message_survives_the_wire_and_plain_msgpack_reads_and_writes_it_as_on_the_page(cls: type[Message]) -> None:
    other = next(each for each in ALL_MESSAGES if each is not cls)
    optional = {field.name for field in msgspec.structs.fields(cls) if not field.required} - {"v"}
    told = {row[0].strip("`"): row[2].strip("`") for row in ROWS[cls.__name__] if row[2]}
    assert set(told) == optional
    defaults = in_binary({name: None if text == "nil" else json.loads(text) for name, text in told.items()}, cls)

    @few
    @given(values_of(cls))
    def check(message: Message) -> None:
        payload = encode(message)
        assert decode(payload, cls) == decode(payload, other, cls) == message
        plain = msgpack.unpackb(payload)
        assert (plain["type"], plain["v"]) == (cls.__name__, messages.SCHEMA_VERSION)
        fields = {name: value for name, value in plain.items() if name not in ("type", "v")}
        assert as_documented(fields, DOCUMENTED[cls.__name__]), fields
        assert decode(msgpack.packb(plain), cls) == message
        shortest = {name: value for name, value in plain.items() if name not in optional}
        missing = decode(msgpack.packb(shortest | {"of a newer version": [1]}), cls)
        assert decode(msgpack.packb(shortest | defaults), cls) == missing

    check()


def test_fields_that_an_older_node_still_sends_inside_a_message_are_passed_over() -> None:
    request = messages.TacticRequest(state="⊢ p", samples=2, seed=1)
    plain = msgpack.unpackb(encode(request))
    plain["sampling"]["distinct"] = False
    assert decode(msgpack.packb(plain), messages.TacticRequest) == request
    reply = messages.TacticReply(tactics=(messages.SampledTactic("simp", -1.0),), value=-1.0, weights=1)
    plain = msgpack.unpackb(encode(reply))
    plain["tactics"][0]["sampled"] = -2.0
    assert decode(msgpack.packb(plain), messages.TacticReply) == reply


class Wrong(NamedTuple):
    """A payload that is no message of its class, and how it is refused."""

    payload: bytes
    error: type[messages.MessageError]
    words: str = ""
    """What the refusal names."""


VALUES = (None, True, -1.5, -1, 2**64 - 1, "no such", HOSTILE, b"\xff", [[]], {1: HOSTILE})
"""Of these, the values that a field does not have by the page are refused."""

DEEP = b"\x91" * 100_000 + b"\xc0"
"""An array in an array in an array, for ever."""


def wrong(cls: type[Message]) -> Iterator[Wrong]:
    """A message of this class with one thing wrong, in every way that there is."""
    message = example_of(cls)
    payload, plain = encode(message), msgpack.unpackb(encode(message))
    # 1. Bytes that are cut off, that go on, that are another type's, that nest without end.
    yield from (Wrong(payload[:length], MalformedMessage) for length in range(0, len(payload), 3))
    yield Wrong(payload + b"\x00", MalformedMessage)
    other = next(each for each in ALL_MESSAGES if each is not cls)
    yield Wrong(encode(example_of(other)), MalformedMessage, other.__name__)
    yield Wrong(msgpack.packb(plain | {"type": HOSTILE * 1000}), MalformedMessage)
    opened = bytes([payload[0] + 1]) if payload[0] < 0x8F else b"\xde" + (len(plain) + 1).to_bytes(2, "big")
    yield Wrong(opened + payload[1 if payload[0] < 0x90 else 3 :] + b"\xa1x" + DEEP, MalformedMessage)
    # 2. Versions that nobody knows: of a message like ours, and of one that is all different.
    for version in (messages.SCHEMA_VERSION + 1, -1, 2**63):
        for sent in (plain | {"v": version}, {"type": cls.__name__, "v": version, "x": [[]]}):
            yield Wrong(msgpack.packb(sent), messages.UnknownVersion, str(version))
    # 3. A field that is missing, and a field with a value that it cannot have.
    for field in msgspec.structs.fields(cls):
        if field.name == "v":
            continue
        if field.required:
            without = {name: value for name, value in plain.items() if name != field.name}
            yield Wrong(msgpack.packb(without), MalformedMessage, field.name)
        kind = parsed(DOCUMENTED[cls.__name__][field.name])
        for value in VALUES:
            if not conforms(value, kind):
                yield Wrong(msgpack.packb(plain | {field.name: value}), MalformedMessage, field.name)
    # 4. Too large, though all of it is right.
    yield Wrong(msgpack.packb(plain | {"of a newer version": "x" * MAX_MESSAGE_BYTES}), OversizedMessage)


@of_every_message
def test_what_is_wrong_with_a_message_is_said_in_one_short_line(cls: type[Message]) -> None:
    for payload, error, words in wrong(cls):
        with pytest.raises(error) as refused:
            decode(payload, cls)
        said = str(refused.value)
        assert type(refused.value) is error and words in said, (payload[:100], said)
        assert harmless(said) and "\n" not in said and len(said) <= messages.LONGEST_REASON


LISTS: dict[str, Any] = {
    "LeanRunRequest.tactics": [""],
    "LeanRunRequest.path": [{"tactic": ""}],
    "LeanRunReply.outcomes": [{"kind": "error"}],
    "TacticReply.tactics": [{"tactic": "", "log_probability": 0.0}],
    "TacticRequest.samples": 0,
    "SampleRequest.count": 0,
    "Attempt.samples": 0,
    "AttemptResult.proof": [[]],
    "SampleReply.samples": [{"text": ""}],
}
"""What once asked for half a million of something: its one entry, or a number."""


@pytest.mark.parametrize("place", LISTS)
def test_half_a_million_of_anything_is_refused_when_it_is_decoded(place: str) -> None:
    kind, field = place.split(".")
    (cls,) = [each for each in ALL_MESSAGES if each.__name__ == kind]
    entry = LISTS[place]
    size = len(msgpack.packb(entry))
    many = entry * ((MAX_MESSAGE_BYTES - 2000) // size) if entry else 500_000
    value = {"tactic": "", "layout": many} if field == "proof" else many
    plain = msgpack.unpackb(encode(example_of(cls))) | {field: value}
    with pytest.raises(MalformedMessage, match=field):
        decode(msgpack.packb(plain), cls)


def unbounded(kind: Any, bounded: bool, seen: set[Any], place: str) -> Iterator[str]:
    """Lists without a greatest length in a type, at any depth."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (tuple, dict) and not bounded:
        yield place
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind not in seen:
        seen.add(kind)
        for name, hint in typing.get_type_hints(kind, include_extras=True).items():
            yield from unbounded(hint, False, seen, f"{kind.__name__}.{name}")
    limits = [part for part in parts if isinstance(part, msgspec.Meta) and part.max_length is not None]
    for part in parts:
        yield from unbounded(part, origin is typing.Annotated and bool(limits), seen, place)


def test_every_list_of_every_message_has_a_greatest_length() -> None:
    assert [place for cls in ALL_MESSAGES for place in unbounded(cls, False, set(), "")] == []


@of_every_message
def test_damaged_bytes_are_a_message_or_a_message_error(cls: type[Message]) -> None:
    payload = encode(example_of(cls))
    places = st.lists(st.tuples(st.integers(0, len(payload) - 1), st.integers(0, 255)), max_size=4)

    @few
    @given(st.one_of(places.map(lambda changes: damaged(payload, changes)), st.binary(max_size=60)))
    def check(received: bytes) -> None:
        try:
            assert isinstance(decode(received, cls), cls)
        except messages.MessageError as error:
            assert "\n" not in str(error)

    check()


def damaged(payload: bytes, changes: list[tuple[int, int]]) -> bytes:
    changed = bytearray(payload)
    for place, value in changes:
        changed[place] = value
    return bytes(changed)


def test_a_message_that_is_too_large_is_not_sent() -> None:
    with pytest.raises(OversizedMessage, match=str(MAX_MESSAGE_BYTES)):
        encode(msgspec.structs.replace(example_of(messages.PauseHold), seconds="x" * MAX_MESSAGE_BYTES))
