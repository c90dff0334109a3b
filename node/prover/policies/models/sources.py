"""Where the networks and language models of a policy are. In a mesh, inference nodes serve them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from node.llm import served, templates
from node.llm.address import ModelAddress
from node.llm.models import as_run
from node.llm.sampling import Sampler
from node.llm.templates import Template, TemplateError
from node.prover.policies.models.errors import as_bad_policy, template_wanted
from node.prover.policies.models.mesh_sampler import MeshSampler
from node.prover.policies.names import INFERENCE, BadPolicy, PolicyName

if TYPE_CHECKING:
    from common.bus import Bus


@dataclass(frozen=True)
class SourceModel:
    """A language model that can be asked."""

    sampler: Sampler
    template: Template
    """Its prompt template, with the sampling settings that apply."""
    name: str = ""
    """Its name in results; empty: as in the policy."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Number of samples without a tactic or proof, by reason."""


class Sources(Protocol):
    """The networks and language models of policies."""

    @property
    def network(self) -> str:
        """The kind of network that a policy's name can have: OWN or INFERENCE."""

    def weights(self, name: PolicyName, weights: int | None) -> int | None:
        """The version to request from a network. `weights`: the attempt's; None: the latest. Raises BadPolicy."""

    def template(self, name: PolicyName) -> Template:
        """The prompt template of a language model. Raises BadPolicy."""

    def model(self, name: PolicyName) -> SourceModel:
        """A language model. Raises BadPolicy."""


def writes_proofs(name: PolicyName, template: Template | None) -> bool:
    """Whether a part of a policy writes whole proofs and proposes no tactics. `template`: that of a language model.
    False for networks, which may do both."""
    return template.mode == "whole-proof" if template is not None else name.is_proofs


def address_of(name: PolicyName) -> ModelAddress:
    """The address of the model that a part of a policy names in a mesh. Raises BadPolicy."""
    with as_bad_policy():
        return served.parse_served(f"{name.kind}:{name.where}")


def template_of(name: PolicyName) -> Template:
    """The prompt template of a model. Reads the template file if the name has one. Raises BadPolicy."""
    address = address_of(name)
    with template_wanted(name, address):
        return served.template_of(address)


def labels(names: Iterable[PolicyName]) -> dict[str, str]:
    """The models among the parts of a policy, each with the label of its template in results. Raises BadPolicy."""
    return {
        served.mesh_name(address_of(name)): templates.label_of(template_of(name)) for name in names if name.is_model
    }


class MeshSources:
    """The network and the language models that a prover can ask."""

    network = INFERENCE

    def __init__(
        self, bus: Bus, configured: Iterable[PolicyName], template_files: Collection[str], *, patience: float
    ) -> None:
        """`configured`: the parts of the prover's own policy. `template_files`: those that attempts may name, too.
        `patience`: see `MeshSampler`. Raises BadPolicy."""
        self._bus = bus
        self._patience = patience
        models = [name for name in configured if name.is_model]
        self._files = {address_of(name).template: template_of(name) for name in models} | _read(template_files)
        self._expected = {served.served_name(address_of(name)) for name in models}

    def weights(self, name: PolicyName, weights: int | None) -> int | None:
        """The attempt's version."""
        return weights

    def template(self, name: PolicyName) -> Template:
        """The prompt template of a model. Raises BadPolicy if there is none, or if it is a file that is not in this
        prover's configuration."""
        address = address_of(name)
        if not served.has_template_file(address):
            return template_of(name)
        # A message must not choose which files of this machine are read.
        if address.template not in self._files:
            raise BadPolicy(
                f"an attempt asks for `{name}`: no template {address.template!r}; a prover reads only the template "
                "files of its own configuration: add it to [prover] templates, or to policy"
            )
        return self._files[address.template]

    def model(self, name: PolicyName) -> SourceModel:
        """A model of the inference nodes, whether they serve it at the moment or not. Raises BadPolicy."""
        address = address_of(name)
        model = served.served_name(address)
        sampler = MeshSampler(self._bus, model, patience=self._patience, expected=model in self._expected)
        return SourceModel(sampler, as_run(address, self.template(name), None))


def _read(files: Collection[str]) -> dict[str, Template]:
    """The templates of these files, by the file's name in the configuration. Raises BadPolicy."""
    try:
        return {file: templates.load(str(Path(file))) for file in files}
    except TemplateError as error:
        raise BadPolicy(f"templates: {error}") from error
