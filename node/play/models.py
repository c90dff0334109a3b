"""The language models that a policy of this process names: address, template, identity, and whether they are there."""

from __future__ import annotations

from node.llm import models, templates
from node.llm.address import HubAddress, ModelAddress
from node.llm.hub import folders
from node.llm.models import check_library, parse_model
from node.llm.templates import Template
from node.prover.policies.names import PolicyName
from node.prover.policies.sources import as_bad_policy, template_wanted


def address_of(name: PolicyName) -> ModelAddress:
    """The address of the model in a policy's name. Raises BadPolicy."""
    with as_bad_policy():
        return parse_model(f"{name.kind}:{name.where}")


def template_of(address: ModelAddress) -> Template:
    """The prompt template of a model. Raises BadPolicy."""
    with template_wanted(address, address):
        return models.template_of(address)


def identity(name: PolicyName) -> tuple[str, str]:
    """The identity of a model in results: its name without servers, and its template with a digest. For a model in this
    process also its weights. Raises BadPolicy."""
    address = address_of(name)
    return address.identity, f"{templates.label_of(template_of(address))}{_weights(address)}"


def _weights(address: ModelAddress) -> str:
    """Raises BadPolicy."""
    if not isinstance(address, HubAddress):
        return ""
    with as_bad_policy():
        check_library(address)
        return f", weights {folders.weights_of(address)}"


def check_model(name: PolicyName) -> None:
    """Check, without opening it, that a model can be used. Raises BadPolicy."""
    address = address_of(name)
    template_of(address)
    with as_bad_policy():
        check_library(address)


def check_found(name: PolicyName) -> None:
    """`check_model`, and the hub is asked for a model that is not here. Raises BadPolicy."""
    check_model(name)
    address = address_of(name)
    with as_bad_policy():
        if isinstance(address, HubAddress):
            folders.check_found(address)
