"""Language models served by the mesh, as policies that propose tactics and as sources of whole proofs. Each combination
of name and sampling is created once and cached."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from node.llm import served, templates
from node.llm.address import ModelAddress
from node.llm.models import as_run
from node.llm.templates import Template, TemplateError
from node.prover.policies.models.errors import as_bad_policy, template_wanted
from node.prover.policies.models.language_model import LanguageModelPolicy, decoding_of
from node.prover.policies.models.mesh_sampler import MeshSampler
from node.prover.policies.names import BadPolicy, PolicyName
from node.prover.policies.proofs.sampled_proofs import SampledProofs

if TYPE_CHECKING:
    from common.bus import Bus
    from common.sampling import Sampling
    from node.prover.settings import ProverSettings

MOST_OPEN = 64
"""Size of the cache of policies, and of the cache of proof sources. Attempts may name any model with any template."""


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


class MeshModels:
    """The language models that a prover can ask."""

    def __init__(self, bus: Bus, settings: ProverSettings, configured: Iterable[PolicyName]) -> None:
        """`configured`: the parts of the prover's own policy. Reads the template files that they name. Raises
        BadPolicy."""
        self._bus = bus
        self._settings = settings
        models = [name for name in configured if name.is_model]
        self._files = {address_of(name).template: template_of(name) for name in models} | _read(settings.templates)
        self._expected = {served.served_name(address_of(name)) for name in models}
        self._policy = lru_cache(MOST_OPEN)(self._opened_policy)
        self._proofs = lru_cache(MOST_OPEN)(self._opened_proofs)

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

    def writes(self, name: PolicyName) -> bool:
        """Whether a part of a policy writes whole proofs and proposes no tactics. Raises BadPolicy."""
        return self.template(name).mode == "whole-proof" if name.is_model else name.is_proofs

    def policy(self, name: PolicyName, sampling: Sampling | None = None) -> LanguageModelPolicy:
        """The model's tactics. `sampling`: None for the prover's own. Raises BadPolicy."""
        return self._policy(name, sampling or self._settings.sampling)

    def proofs(self, name: PolicyName, sampling: Sampling | None = None) -> SampledProofs:
        """The model's whole proofs. `sampling`: None for the prover's own. Raises BadPolicy."""
        return self._proofs(name, sampling or self._settings.sampling)

    def _opened_policy(self, name: PolicyName, sampling: Sampling) -> LanguageModelPolicy:
        template = as_run(address_of(name), self.template(name), None)
        return LanguageModelPolicy(self._sampler(name), template, sampling=sampling)

    def _opened_proofs(self, name: PolicyName, sampling: Sampling) -> SampledProofs:
        template = as_run(address_of(name), self.template(name), None)
        decoding = decoding_of(template, sampling)
        return SampledProofs(self._sampler(name), template, decoding=decoding)

    def _sampler(self, name: PolicyName) -> MeshSampler:
        model = served.served_name(address_of(name))
        patience = self._settings.policy_patience
        return MeshSampler(self._bus, model, patience=patience, expected=model in self._expected)


def _read(files: Collection[str]) -> dict[str, Template]:
    """The templates of these files, by the file's name in the configuration. Raises BadPolicy."""
    try:
        return {file: templates.load(str(Path(file))) for file in files}
    except TemplateError as error:
        raise BadPolicy(f"templates: {error}") from error
