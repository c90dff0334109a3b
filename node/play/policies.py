"""The policies that a user names, for this process and for a mesh: checks them, describes them in words, and finds
their checkpoints and language models, without importing torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from common.protocol.attempts import Method
from node.llm import models, templates
from node.llm.address import HubAddress, ModelAddress
from node.llm.hub import folders
from node.llm.models import check_library, has_template_file, parse_model
from node.llm.templates import Template
from node.model import checkpoint_folders
from node.model.checkpoint_folders import CheckpointError, why_no_proofs
from node.prover.policies import names as policy_names
from node.prover.policies.fixed import contents
from node.prover.policies.names import (
    HF,
    INFERENCE,
    NEIGHBOURS,
    OPENAI,
    OWN,
    PROOFS,
    TACTICS,
    BadPolicy,
    PolicyName,
    check_method,
    writers_of,
)
from node.prover.policies.proofs import read_proofs
from node.prover.policies.sources import address_of, as_bad_policy, template_of, template_wanted, writes_proofs

KIND_WORDS = {
    PROOFS: "list of proofs",
    OWN: "network",
    INFERENCE: "network",
    OPENAI: "language model",
    HF: "language model",
    TACTICS: "list of tactics",
    NEIGHBOURS: "tactics of similar proofs",
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
            check_found(name)
        elif name.where:
            contents(name)


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

    check_method(names, method, then, correct, writes)
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

    if problem := why_no_proofs(weights_at(Path(name.where), lambda text: None)):
        raise BadPolicy(f"`{name}`: {problem}")


def _template(name: PolicyName) -> Template:
    """The template of a language model. Raises BadPolicy."""
    return template_here(address_here(name))


def label_of(names: Iterable[PolicyName]) -> str:
    """A policy in words."""
    kinds = list(dict.fromkeys(KIND_WORDS[name.kind] for name in names))
    if kinds == [KIND_WORDS[TACTICS]]:
        return kinds[0]
    return " and ".join("list" if kind == KIND_WORDS[TACTICS] else kind for kind in sorted(kinds, key=_ORDER.index))


# ----------------------------------------------------------------------------------------------------------------------
# Finds the checkpoint that a policy names, without importing torch. Turns errors into BadPolicy.


DEMO_RUN = Path("runs/demo")
"""The run whose checkpoint is used if no policy is named."""


def weights_at(path: Path, note: Callable[[str], None]) -> Path:
    """The weights file or checkpoint folder for a path. `note` is called for damaged checkpoints, which are skipped.

    Raises BadPolicy.
    """
    try:
        return checkpoint_folders.weights_at(path, note)
    except CheckpointError as error:
        raise BadPolicy(str(error)) from error


def of_the_demo(note: Callable[[str], None]) -> Path | None:
    """The newest intact checkpoint of the demo's run, or None. `note` is called for damaged ones."""
    try:
        return checkpoint_folders.newest(DEMO_RUN / "checkpoints", note)
    except CheckpointError as error:
        note(f"warning: {error}")
        return None


# ----------------------------------------------------------------------------------------------------------------------
# The language models that a policy of this process names: address, template, identity, and whether they are there.


def address_here(name: PolicyName) -> ModelAddress:
    """The address of the model in a policy's name. Raises BadPolicy."""
    with as_bad_policy():
        return parse_model(f"{name.kind}:{name.where}")


def template_here(address: ModelAddress) -> Template:
    """The prompt template of a model. Raises BadPolicy."""
    with template_wanted(address, address):
        return models.template_of(address)


def identity(name: PolicyName) -> tuple[str, str]:
    """The identity of a model in results: its name without servers, and its template with a digest. For a model in this
    process also its weights. Raises BadPolicy."""
    address = address_here(name)
    return address.identity, f"{templates.label_of(template_here(address))}{_weights(address)}"


def _weights(address: ModelAddress) -> str:
    """Raises BadPolicy."""
    if not isinstance(address, HubAddress):
        return ""
    with as_bad_policy():
        check_library(address)
        return f", weights {folders.weights_of(address)}"


def check_model(name: PolicyName) -> None:
    """Check, without opening it, that a model can be used. Raises BadPolicy."""
    address = address_here(name)
    template_here(address)
    with as_bad_policy():
        check_library(address)


def check_found(name: PolicyName) -> None:
    """`check_model`, and the hub is asked for a model that is not here. Raises BadPolicy."""
    check_model(name)
    address = address_here(name)
    with as_bad_policy():
        if isinstance(address, HubAddress):
            folders.check_found(address)
