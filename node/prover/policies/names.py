"""Parses the names of policies: a network, a language model, `tactics`, `tactics:FILE`, `neighbours:RUN`, mixtures
joined by `+`, and policies that take turns, joined by `,` (`node.prover.search.turns`).

A single process loads its network from a file: `own:PATH`. A mesh has one network, that of its inference nodes:
`inference`. Language models run on servers, `openai:URL#MODEL`, or in transformers, `hf:ID_OR_FOLDER+ADAPTER`. In a
mesh the inference nodes know the servers, so the name is `openai:MODEL`. `proofs:FILE` has whole proofs from a file.
In a mixture, `*0.5` after a part is its share. A network with share 0 gives only its values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from common.output.command import UserError
from common.protocol.attempts import Method

OWN, INFERENCE, TACTICS, OPENAI, HF, PROOFS = "own", "inference", "tactics", "openai", "hf", "proofs"
NEIGHBOURS = "neighbours"

NETWORKS = (OWN, INFERENCE)

MODELS = (OPENAI, HF)
"""Language models, which have no learned values."""

KINDS = {
    OWN: "`own:PATH`, `openai:URL#MODEL`, `hf:ID_OR_FOLDER`, `tactics`, `tactics:FILE` and `neighbours:RUN`, mixtures "
    "such as `own:PATH+tactics`, policies that take turns such as `own:PATH,tactics`, and whole proofs from "
    "`proofs:FILE`",
    INFERENCE: "`inference`, `openai:MODEL`, `hf:ID_OR_FOLDER`, `tactics`, `tactics:FILE` and `neighbours:RUN`, "
    "mixtures such as `inference+tactics`, policies that take turns such as `inference,tactics`, and whole proofs from "
    "`proofs:FILE`",
}
"""All policies as text, by the kind of network that they can have."""

_ELSEWHERE = {
    OWN: "a mesh cannot use `own:PATH`: its network is `inference`; start a mesh that serves this network with "
    "`proofmesh up --policy own:PATH` or [inference] weights",
    INFERENCE: "`inference` is the network of a running mesh; name the mesh with --url, or a network with `own:PATH`",
}
"""What to do instead, by the kind of network that is not available there."""

_ALSO = {"fixed": TACTICS}

_NEEDS = {
    OWN: ("checkpoint", "own:PATH"),
    TACTICS: ("file", "tactics:PATH"),
    NEIGHBOURS: ("run or data with proofs", "neighbours:RUN"),
    OPENAI: ("server and model", "openai:URL#MODEL"),
    HF: ("model", "hf:ID_OR_FOLDER"),
    PROOFS: ("file", "proofs:FILE.jsonl"),
}
"""By kind: the thing named after the colon, and an example."""

_NEEDS_IN_A_MESH = {OPENAI: ("model", "openai:MODEL")}
"""The kinds for which this differs in a mesh."""

_BEGINS_A_PART = re.compile(r"([+,])(?=\s*\w+:|\s*(?:tactics|fixed|inference)(?:\*[^+*,]*)?(?:[+,]|$))")
_SHARE = re.compile(r"\*\s*(\d+\.?\d*|\.\d+)$")


class BadPolicy(UserError, ValueError):
    """A policy's name is invalid, or the policy cannot be used. The message has the reason, and what to do."""


@dataclass(frozen=True)
class PolicyName:
    """One part of a policy's name."""

    kind: str
    """`own`, `inference`, `openai`, `hf`, `tactics`, `neighbours` or `proofs`."""
    where: str = ""
    """The text after the colon: a path, or a server and its model."""
    share: float | None = field(default=None, compare=False)
    """Share of the prior mass, relative to the other parts' shares; None: the default of its kind."""
    turn: int = field(default=0, compare=False)
    """Index of its search, if several searches take turns."""

    @property
    def is_network(self) -> bool:
        return self.kind in NETWORKS

    @property
    def is_model(self) -> bool:
        """Whether it is a language model."""
        return self.kind in MODELS

    @property
    def is_proofs(self) -> bool:
        """Whether it is a file of whole proofs. It proposes no tactics."""
        return self.kind == PROOFS

    @property
    def source(self) -> str:
        """Its name in results, without the share."""
        return f"{self.kind}:{self.where}" if self.where else self.kind

    def __str__(self) -> str:
        share = "" if self.share is None else f"*{self.share:g}"
        return f"{self.kind}:{self.where}{share}" if self.where else f"{self.kind}{share}"


def parse(text: str, network: str) -> list[PolicyName]:
    """The parts of a policy's name, in order. `network`: the kind of network that is available, OWN or INFERENCE.
    Raises BadPolicy."""
    first, *more = _BEGINS_A_PART.split(text.strip())
    turns = [[_part(first.strip(), network)]]
    for joint, part in zip(more[::2], more[1::2], strict=True):
        if joint == ",":
            turns.append([])
        turns[-1].append(replace(_part(part.strip(), network), turn=len(turns) - 1))
    for names in turns:
        if len(names) != len(set(names)):
            raise BadPolicy(f"`{text}` names a part twice")
        if all(name.share == 0 for name in names):
            raise BadPolicy(f"`{text}`: with share 0 a network gives only its values; add a part that proposes tactics")
    if len(turns) != len(set(map(frozenset, turns))):
        raise BadPolicy(f"`{text}`: two searches that take turns have the same policy")
    return [name for names in turns for name in names]


def joined(names: Iterable[PolicyName]) -> str:
    """The policy's name, in the form that `parse` reads."""
    return ",".join("+".join(map(str, group)) for _, group in groupby(names, key=lambda name: name.turn))


def has_network(names: Iterable[PolicyName]) -> bool:
    """Whether a network is part of a policy."""
    return any(name.is_network for name in names)


def writers_of(names: Iterable[PolicyName], writes: Callable[[PolicyName], bool]) -> list[PolicyName]:
    """The parts of a policy that write whole proofs: those that only write proofs (`writes`), or else its networks,
    which may also propose tactics."""
    names = list(names)
    return [name for name in names if writes(name)] or [name for name in names if name.is_network]


def check_method(
    names: Sequence[PolicyName],
    method: str,
    then: str,
    correct: int,
    writes: Callable[[PolicyName], bool],
) -> None:
    """Check that a policy fits the method. A search needs tactics, whole-proof needs whole proofs, and whole-proof with
    `then` (the search after it) needs both. No network of proofmesh corrects its proofs (`correct`). `writes`: True for
    parts that write only whole proofs. Raises BadPolicy."""
    # 1. A search needs tactics, and whole-proof one writer of proofs.
    whole = method == Method.WHOLE_PROOF
    if not whole and (only := next(filter(writes, names), None)):
        raise BadPolicy(f"`{only}` gives whole proofs: they go with --method {Method.WHOLE_PROOF}")
    writers = writers_of(names, writes)
    if whole and len(writers) != 1:
        writing = f"has {len(writers)} parts that write whole proofs" if writers else "proposes tactics only"
        raise BadPolicy(
            f"`{joined(names)}` {writing}, and the method {method} needs one part that writes whole proofs: "
            "`proofs:FILE`, a model with such a template, or a network that was trained on proofs"
        )
    # 2. The search after whole proofs needs tactics, and without it they are of no use.
    if whole and then and len(names) == 1 and writes(names[0]):
        raise BadPolicy(
            f"`{joined(names)}` proposes no tactics, and the search {then} needs them: add a part that does, as in "
            f"`{joined(names)}+tactics`"
        )
    if whole and not then and (idle := next((name for name in names if name not in writers), None)):
        raise BadPolicy(
            f"`{idle}` proposes tactics, and the method {method} alone has no use for them: leave it out, or name "
            "the search that follows the whole proofs (--then)"
        )
    # 3. Corrections.
    for name in writers if correct and whole else ():
        if name.is_network:
            raise BadPolicy(f"`{name}`: a network of ours corrects nothing; leave --correct out")


def _part(part: str, network: str) -> PolicyName:
    """Raises BadPolicy."""
    shared = _SHARE.search(part)
    kind, colon, where = (piece.strip() for piece in part[: shared.start() if shared else None].partition(":"))
    kind = _ALSO.get(kind, kind)
    if kind in NETWORKS and kind != network:
        raise BadPolicy(_ELSEWHERE[kind])
    if kind not in (network, TACTICS, NEIGHBOURS, PROOFS, *MODELS):
        raise BadPolicy(f"there is no policy `{part}`; there are {KINDS[network]}")
    if kind == INFERENCE and colon:
        raise BadPolicy(f"`{part}`: a mesh has one network; write `{INFERENCE}`")
    if (colon or kind in (OWN, NEIGHBOURS, PROOFS, *MODELS)) and not where:
        missing, form = _NEEDS_IN_A_MESH.get(kind, _NEEDS[kind]) if network == INFERENCE else _NEEDS[kind]
        raise BadPolicy(f"`{part}` names no {missing}; write `{form}`")
    share = float(shared[1]) if shared else None
    if share == 0 and kind not in NETWORKS:
        raise BadPolicy(f"`{part}`: a part with share 0 proposes nothing, and has no learned values; leave it out")
    return PolicyName(kind, where, share)
