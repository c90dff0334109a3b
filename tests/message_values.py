"""Values of any message class, made from its types alone: a new message or field needs nothing here."""

import dataclasses
import enum
import importlib
import pkgutil
import types
import typing
from functools import cache
from typing import Any

import msgspec
from hypothesis import strategies as st

from common import protocol
from common.bus.signing import own_identity
from common.lean import ProofTree, Theorem
from common.protocol.attempts import Attempt
from common.protocol.messages import Heartbeat, Message, NodeInfo

for _module in pkgutil.iter_modules(protocol.__path__):
    importlib.import_module(f"{protocol.__name__}.{_module.name}")

ALL_MESSAGES: tuple[type[Message], ...] = tuple(sorted(Message.__subclasses__(), key=lambda kind: kind.__name__))
"""Every message class of `common/protocol`."""

CHARACTERS = st.characters(exclude_categories=["Cs"])
"""What UTF-8 can encode. By `codec="utf-8"`, the default, Hypothesis would first try a million characters."""

PROOF_TREES = st.recursive(
    st.builds(ProofTree, tactic=st.text(CHARACTERS, max_size=9)),
    lambda children: st.builds(
        ProofTree,
        tactic=st.text(CHARACTERS, max_size=9),
        layout=st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=2).map(tuple), max_size=2).map(tuple),
        children=st.lists(children, max_size=2).map(tuple),
    ),
    max_leaves=4,
)

PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(allow_nan=False),
    str: st.text(CHARACTERS, max_size=12),
    bool: st.booleans(),
    bytes: st.binary(max_size=12),
    ProofTree: PROOF_TREES,
}


def _bounded(kind: Any, meta: msgspec.Meta) -> st.SearchStrategy[Any]:
    """Values within the bounds of a field."""
    if typing.get_origin(kind) is tuple:
        least, most = meta.min_length or 0, min(meta.max_length or 2, 3)
        return st.lists(values_of(typing.get_args(kind)[0]), min_size=least, max_size=most).map(tuple)
    if typing.get_origin(kind) is dict or kind is bytes:
        return values_of(kind)
    if meta.pattern is not None:
        return st.from_regex(meta.pattern, alphabet=CHARACTERS)
    if kind is str:
        return st.text(CHARACTERS, min_size=meta.min_length or 0, max_size=12)
    if kind is int:
        most = meta.le if meta.lt is None else meta.lt - 1
        return st.integers(meta.ge, most)  # type: ignore[arg-type]
    return st.floats(meta.ge if meta.gt is None else meta.gt, meta.le, exclude_min=meta.gt is not None)


@cache
def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a message class, or of the type of a field."""
    if kind in PLAIN:
        return PLAIN[kind]
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return _bounded(*arguments)
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return st.lists(values_of(arguments[0]), max_size=2).map(tuple)
    if origin is typing.Literal:
        return st.sampled_from(arguments)
    if origin is dict:
        return st.dictionaries(values_of(arguments[0]), values_of(arguments[1]), max_size=2)
    if origin in (types.UnionType, typing.Union):
        return st.one_of(*map(values_of, arguments))
    if kind is type(None):
        return st.none()
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return st.sampled_from(kind)
    hints = typing.get_type_hints(kind, include_extras=True)
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else msgspec.structs.fields(kind)
    return st.builds(kind, **{field.name: values_of(hints[field.name]) for field in fields if field.name != "v"})


def named(beginning: str) -> str:
    """The name of a node of this process; it begins with its role."""
    return own_identity().name(beginning)


def node_info(node_id: str, role: str = "prover", **changes: Any) -> NodeInfo:
    """A node's entry in the registry."""
    plain = {"host": "h", "pid": 1, "version": "0", "started": 0.0}
    return NodeInfo(node_id=node_id, role=role, **plain | changes)


def heartbeat(node_id: str, role: str = "prover", time: float = 1.0, **values: float) -> Heartbeat:
    """A heartbeat of a node that runs, with these values."""
    return Heartbeat(node_id=node_id, role=role, time=time, state="running", values=values)


def attempt(attempt_id: str, purpose: str = "train", **changes: Any) -> Attempt:
    """An attempt of one simulation at `True`."""
    plain = {"attempt_id": attempt_id, "theorem_id": "t", "theorem": Theorem("t", "", "True"), "purpose": purpose}
    return Attempt(**{**plain, "simulations": 1, "seed": 1, **changes})


SHORTEST: dict[Any, Any] = {int: 1, float: 1.0, str: "x", bool: True, bytes: b"x"}


def example_of(kind: Any) -> Any:
    """The shortest message of a class, or value of a field: what is optional is left out."""
    if kind in SHORTEST:
        return SHORTEST[kind]
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return example_of(arguments[0])
    if origin in (tuple, dict):
        return origin()
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return next(iter(kind))
    hints = typing.get_type_hints(kind, include_extras=True)
    return kind(**{each.name: example_of(hints[each.name]) for each in msgspec.structs.fields(kind) if each.required})
