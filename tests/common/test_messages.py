"""Every message can be encoded and decoded, plain msgpack can read it, and invalid payloads get a reason."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import enum
import json
import re
import types
import typing
from pathlib import Path
from typing import Any

import msgpack
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.lean import ProofTree, Theorem
from common.protocol import attempts, messages
from common.protocol.messages import (
    MAX_MESSAGE_BYTES,
    SCHEMA_VERSION,
    Busy,
    Failure,
    LogRecord,
    MalformedMessage,
    Message,
    OversizedMessage,
    PauseHold,
    UnknownVersion,
    decode,
    encode,
)
from common.protocol.subjects import all_messages

MODULES = (messages, attempts)

ALL_MESSAGES = sorted(Message.__subclasses__(), key=lambda cls: cls.__name__)

PAGE = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text(encoding="utf-8")


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

ON_THE_WIRE: dict[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int": (int,),
    "float": (float, int),
    "str": (str,),
    "bytes": (bytes,),
    "nil": (type(None),),
}


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
        return value in section
    return (
        type(value) is dict
        and set(value) == set(section)
        and all(conforms(value[name], parsed(kind)) for name, kind in section.items())
    )


def parsed(kind: str) -> ast.expr:
    return ast.parse(kind.replace("∣", "|"), mode="eval").body


PROOF_TREES = st.recursive(
    st.builds(ProofTree, tactic=st.text(max_size=9)),
    lambda children: st.builds(
        ProofTree,
        tactic=st.text(max_size=9),
        layout=st.lists(st.lists(st.integers(0, 3), max_size=2).map(tuple), max_size=2).map(tuple),
        children=st.lists(children, max_size=2).map(tuple),
    ),
    max_leaves=4,
)

PLAIN = {
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(allow_nan=False),
    str: st.text(max_size=12),
    bool: st.booleans(),
    bytes: st.binary(max_size=12),
    ProofTree: PROOF_TREES,
}


def bounded(kind: Any, meta: msgspec.Meta) -> st.SearchStrategy[Any]:
    """Values within the bounds of a field."""
    if typing.get_origin(kind) is tuple:
        return st.lists(strategy(typing.get_args(kind)[0]), max_size=meta.max_length).map(tuple)
    if meta.pattern is not None:
        return st.from_regex(meta.pattern)
    if kind is str:
        return st.text(min_size=meta.min_length or 0, max_size=12)
    if kind is int:
        most = meta.le if meta.lt is None else meta.lt - 1
        return st.integers(meta.ge, most)  # type: ignore[arg-type]
    return st.floats(meta.ge if meta.gt is None else meta.gt, meta.le, exclude_min=meta.gt is not None)


def strategy(kind: Any) -> st.SearchStrategy[Any]:
    """Values of the type of a message field."""
    if kind in PLAIN:
        return PLAIN[kind]
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return bounded(*arguments)
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return st.lists(strategy(arguments[0]), max_size=2).map(tuple)
    if origin is typing.Literal:
        return st.sampled_from(arguments)
    if origin is dict:
        return st.dictionaries(strategy(arguments[0]), strategy(arguments[1]), max_size=2)
    if origin in (types.UnionType, typing.Union):
        return st.one_of(*map(strategy, arguments))
    if kind is type(None):
        return st.none()
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return st.sampled_from(kind)
    hints = typing.get_type_hints(kind, include_extras=True)
    names = [
        f.name for f in (dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else msgspec.structs.fields(kind))
    ]
    fields = {name: strategy(hints[name]) for name in names if name != "v"}
    return st.builds(kind, **fields)


@pytest.mark.parametrize("cls", ALL_MESSAGES, ids=lambda cls: cls.__name__)
def test_a_message_survives_the_wire(cls: type[Message]) -> None:
    @settings(max_examples=25, deadline=None, derandomize=True)
    @given(strategy(cls))
    def check(message: Message) -> None:
        payload = encode(message)
        assert decode(payload, cls) == message
        assert decode(payload, Busy, cls) == message if cls is not Busy else True

    check()


def in_binary(written: dict[str, Any], cls: type[Message]) -> dict[str, Any]:
    """The values with those of type `bytes` as such: JSON has only texts."""
    return {
        name: value.encode() if DOCUMENTED[cls.__name__][name] == "bytes" else value for name, value in written.items()
    }


@pytest.mark.parametrize("cls", all_messages(), ids=lambda cls: cls.__name__)
def test_an_independent_msgpack_reads_and_writes_a_message_as_the_page_describes_it(cls: type[Message]) -> None:
    @settings(max_examples=25, deadline=None, derandomize=True)
    @given(strategy(cls))
    def check(message: Message) -> None:
        plain = msgpack.unpackb(encode(message))
        assert (plain["type"], plain["v"]) == (cls.__name__, SCHEMA_VERSION)
        fields = {name: value for name, value in plain.items() if name not in ("type", "v")}
        assert as_documented(fields, DOCUMENTED[cls.__name__]), fields
        assert decode(msgpack.packb(plain), cls) == message
        optional = {field.name for field in msgspec.structs.fields(cls) if not field.required} - {"v"}
        shortest = {name: value for name, value in plain.items() if name not in optional}
        missing = decode(msgpack.packb(shortest | {"of a newer version": [1]}), cls)
        told = {row[0].strip("`"): row[2].strip("`") for row in ROWS[cls.__name__] if row[2]}
        assert set(told) == optional
        written = {name: None if text == "nil" else json.loads(text) for name, text in told.items()}
        assert decode(msgpack.packb(shortest | in_binary(written, cls)), cls) == missing

    check()


def test_every_message_of_the_modules_is_tested() -> None:
    values = [value for module in MODULES for value in vars(module).values()]
    structs = [value for value in values if isinstance(value, type) and issubclass(value, Message)]
    assert set(structs) - {Message} == set(ALL_MESSAGES)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.binary(max_size=200))
def test_random_bytes_are_refused_with_a_message_error(payload: bytes) -> None:
    with pytest.raises(messages.MessageError):
        decode(payload, PauseHold, LogRecord)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.integers(0, 200), st.integers(0, 255))
def test_a_damaged_byte_never_raises_anything_else(position: int, value: int) -> None:
    payload = bytearray(
        encode(LogRecord(node_id="n", role="prover", time=1.5, level="info", event="e", fields={"a": "b"}))
    )
    payload[position % len(payload)] = value
    with contextlib.suppress(messages.MessageError):
        decode(bytes(payload), LogRecord)


def test_a_message_of_another_type_is_malformed_and_both_are_named() -> None:
    with pytest.raises(MalformedMessage, match="PauseHold"):
        decode(encode(PauseHold(epoch=1, seconds=2.0)), LogRecord)


def test_a_wrong_field_is_named() -> None:
    payload = msgpack.packb({"type": "PauseHold", "v": SCHEMA_VERSION, "epoch": "one", "seconds": 2.0})
    with pytest.raises(MalformedMessage, match=r"epoch"):
        decode(payload, PauseHold)


def test_a_missing_field_is_named() -> None:
    with pytest.raises(MalformedMessage, match="seconds"):
        decode(msgpack.packb({"type": "PauseHold", "v": SCHEMA_VERSION, "epoch": 1}), PauseHold)


def test_an_unknown_field_of_a_newer_node_is_passed_over() -> None:
    payload = msgpack.packb({"type": "PauseHold", "v": SCHEMA_VERSION, "epoch": 1, "seconds": 2.0, "new": [1, 2]})
    assert decode(payload, PauseHold) == PauseHold(epoch=1, seconds=2.0)


@pytest.mark.parametrize("extra", [{"epoch": 1, "seconds": 2.0}, {"something": "else"}])
def test_an_unknown_version_is_told_from_a_malformed_message(extra: dict[str, Any]) -> None:
    with pytest.raises(UnknownVersion, match="version 99"):
        decode(msgpack.packb({"type": "PauseHold", "v": 99, **extra}), PauseHold)


def test_oversized_messages_are_refused_on_both_sides() -> None:
    with pytest.raises(OversizedMessage, match=str(MAX_MESSAGE_BYTES)):
        encode(Failure(reason="x" * (MAX_MESSAGE_BYTES + 1)))
    with pytest.raises(OversizedMessage):
        decode(b"x" * (MAX_MESSAGE_BYTES + 1), Failure)


def test_deep_nesting_is_malformed_and_not_a_crash() -> None:
    deep = b"\x91" * 100_000 + b"\xc0"
    with pytest.raises(MalformedMessage):
        decode(deep, PauseHold)
    nested = msgpack.packb({"type": "PauseHold", "v": SCHEMA_VERSION, "epoch": 1, "seconds": 2.0})[:-9] + deep
    with pytest.raises(messages.MessageError):
        decode(nested, PauseHold)


def test_an_attempt_from_before_policies_asks_for_what_it_asked_for_then() -> None:
    attempt = attempts.Attempt(
        attempt_id="a", theorem_id="t", theorem=Theorem("t", "", "True"), purpose="eval", simulations=8, seed=1
    )
    before = msgpack.unpackb(encode(attempt))
    assert (before.pop("policy"), before.pop("verify")) == ("", False)
    old = decode(msgpack.packb(before), attempts.Attempt)
    assert (old.policy, old.verify) == ("", False) and old == attempt
    named = msgspec.structs.replace(attempt, policy="inference+tactics", verify=True)
    assert decode(encode(named), attempts.Attempt) == named
