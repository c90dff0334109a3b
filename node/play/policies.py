"""Checks the policies that a user names, for this process and for a mesh, and describes them in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from common.protocol.attempts import Method
from node.llm.templates import Template
from node.play.checkpoints import BadPolicy, weights_at
from node.prover.policies import names as policy_names
from node.prover.policies.fixed import read_tactics
from node.prover.policies.names import (
    HF,
    INFERENCE,
    OPENAI,
    OWN,
    PROOFS,
    TACTICS,
    PolicyName,
    check_corrections,
    check_method,
    writers_of,
)
from node.prover.policies.proofs import read_proofs
from node.prover.policies.sources import address_of, template_of, writes_proofs

KIND_WORDS = {
    PROOFS: "list of proofs",
    OWN: "network",
    INFERENCE: "network",
    OPENAI: "language model",
    HF: "language model",
    TACTICS: "list of tactics",
}
"""The parts of a policy in words."""

_ORDER = list(dict.fromkeys(KIND_WORDS.values()))


def parse(text: str) -> list[PolicyName]:
    """The parts of a policy of this process. Raises BadPolicy."""
    return policy_names.parse(text, OWN)


def check(
    text: str,
    method: str = Method.MCTS,
    then: str = "",
    correct: int = 0,
    note: Callable[[str], None] = lambda text: None,
) -> None:
    """Check, without loading a network, that a policy can be opened and fits the method.

    Raises BadPolicy.
    """
    names = parse(text)
    check_plays(names, method, then, correct)
    for name in names:
        if name.is_network:
            weights_at(Path(name.where), note)
        elif name.is_proofs:
            read_proofs(Path(name.where))
        elif name.is_model:
            from node.play.models import check_found

            check_found(name)
        elif name.where:
            read_tactics(Path(name.where))


def check_for_mesh(text: str, method: str = Method.MCTS, then: str = "", correct: int = 0) -> None:
    """Check, without asking the mesh, that an attempt may name this policy on a running mesh. Empty: the policy of its
    provers.

    Raises BadPolicy.
    """
    names = policy_names.parse(text, INFERENCE) if text else []
    for name in names:
        if name.where and not name.is_model:
            raise BadPolicy(
                f"`{name}` is a file of this machine, which a mesh does not read; `proofmesh up --policy {name}` "
                "starts a mesh that does"
            )
    models = [name for name in names if name.is_model]
    if not models:
        return
    from node.llm.models import has_template_file

    # Template files are on the provers' machines, so the provers check them.
    if not any(has_template_file(address_of(name)) for name in models):
        check_plays(names, method, then, correct, template_of)


def check_plays(
    names: Sequence[PolicyName],
    method: str,
    then: str = "",
    correct: int = 0,
    template: Callable[[PolicyName], Template] | None = None,
) -> None:
    """Check that a policy fits the method and its corrections. Networks of this process are not loaded. `template`:
    gives the template of a language model; None: the one for a model of this process.

    Raises BadPolicy.
    """
    template = template or _template

    def writes(name: PolicyName) -> bool:
        return writes_proofs(name, template(name) if name.is_model else None)

    check_method(names, method, then, writes=writes)
    check_corrections(names, method, correct, writes=writes)
    for name in writers_of(names, writes) if method == Method.WHOLE_PROOF else ():
        if name.kind == OWN:
            _check_writing(name)
    for name in names if correct else ():
        if name.is_proofs:
            raise BadPolicy(f"`{name}`: a file corrects nothing; leave --correct out")
        if name.is_model and writes(name) and not template(name).correction:
            raise BadPolicy(
                f"`{name}`: its template `{template(name).name}` has no form for corrections; leave --correct out"
            )


def _check_writing(name: PolicyName) -> None:
    """Check that a network was trained on whole proofs. Raises BadPolicy."""
    from node.model.trained import why_no_proofs

    if problem := why_no_proofs(weights_at(Path(name.where), lambda text: None)):
        raise BadPolicy(f"`{name}`: {problem}")


def _template(name: PolicyName) -> Template:
    """The template of a language model. Raises BadPolicy."""
    from node.play.models import address_of, template_of

    return template_of(address_of(name))


def label_of(names: Iterable[PolicyName]) -> str:
    """A policy in words."""
    kinds = list(dict.fromkeys(KIND_WORDS[name.kind] for name in names))
    if kinds == [KIND_WORDS[TACTICS]]:
        return kinds[0]
    return " and ".join("list" if kind == KIND_WORDS[TACTICS] else kind for kind in sorted(kinds, key=_ORDER.index))
