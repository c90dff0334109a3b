"""`proofmesh up --policy`: a mesh without a learner that serves one policy to clients such as `prove --url`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from common.config import ConfigError
from node.prover.policies.fixed import read_tactics
from node.prover.policies.names import INFERENCE, OWN, BadPolicy, PolicyName, joined, parse
from node.prover.policies.proofs import read_proofs

if TYPE_CHECKING:
    from node.llm.address import ModelAddress


@dataclass(frozen=True)
class ServedPolicy:
    """Settings of the nodes of a mesh that serves a policy."""

    provers: str
    """[prover] policy of the provers."""
    weights: Path | None
    """[inference] weights of the inference nodes: a weights file or one checkpoint, so that a restarted node serves the
    same one. None: no network is needed."""
    models: tuple[str, ...] = ()
    """Addresses of language models, servers included. Each gets its own inference node."""


def served_policy(text: str, note: Callable[[str], None] = lambda text: None) -> ServedPolicy:
    """The settings for a `--policy`. Checks that all files that it names exist and are complete. `note` gets messages
    about damaged checkpoints that are skipped. Raises ConfigError."""
    from node.play.policies import weights_at

    try:
        names = parse(text, OWN)
        networks = [name for name in names if name.is_network]
        if len(networks) > 1:
            raise BadPolicy(f"a mesh has one network, not `{joined(networks)}`: name one of them")
        for name in names:
            if name.is_model:
                _check_model(name)
            elif name.is_proofs:
                read_proofs(Path(name.where))
            elif name.where and not name.is_network:
                read_tactics(Path(name.where))
        models = models_of([f"{name.kind}:{name.where}" for name in names if name.is_model])
        mesh_names = joined(map(_of_the_mesh, names))
        parse(mesh_names, INFERENCE)  # a model on two servers is one model in a mesh
        weights = weights_at(Path(networks[0].where), note).absolute() if networks else None
        if weights is not None and weights.is_file():
            _check_weights_file(weights)
    except BadPolicy as error:
        raise ConfigError(f"[up] policy: {error}") from error
    return ServedPolicy(mesh_names, weights, models)


def _check_model(name: PolicyName) -> None:
    """Check a model's name and settings, as far as possible without loading it. Raises BadPolicy."""
    from node.play.policies import check_model

    check_model(name)


def models_of(texts: Iterable[str]) -> tuple[str, ...]:
    """Addresses of language models for inference nodes: each model once, whatever its template. Raises BadPolicy."""
    from node.llm.address import BadModel
    from node.llm.models import parse_model, served_name

    addresses: dict[str, ModelAddress] = {}
    for text in texts:
        try:
            address = parse_model(text)
        except BadModel as error:
            raise BadPolicy(str(error)) from error
        before = addresses.setdefault(served_name(address), address)
        if replace(before, template="") != replace(address, template=""):
            raise BadPolicy(f"`{address}` and `{before}` are one model: write its servers as one address, with `|`")
    return tuple(map(str, addresses.values()))


def _check_weights_file(file: Path) -> None:
    """Check the header of a weights file, without torch. Raises BadPolicy."""
    import safetensors

    try:
        with safetensors.safe_open(file, framework="numpy") as opened:
            ours = "proofmesh" in (opened.metadata() or {})
    except (OSError, safetensors.SafetensorError) as error:
        raise BadPolicy(f"{file}: not a complete safetensors file ({error})") from error
    if not ours:
        raise BadPolicy(f"{file}: not a weights file of proofmesh")


def _of_the_mesh(name: PolicyName) -> PolicyName:
    """A part of the policy, under the name that provers use."""
    if name.is_network:
        return PolicyName(INFERENCE, share=name.share, turn=name.turn)
    if name.is_model:
        return _model_of_the_mesh(name)
    return replace(name, where=str(Path(name.where).absolute())) if name.where else name


def _model_of_the_mesh(name: PolicyName) -> PolicyName:
    """A language model, under the name that provers use. It includes the template from the model's folder, since
    provers do not read that folder.

    Raises BadPolicy.
    """
    from node.llm.models import has_template_file, mesh_name, template_of_name
    from node.llm.templates import TemplateError
    from node.play.policies import address_here, template_here

    address = address_here(name)
    if not address.template:
        here = template_here(address)
        try:
            same_template = template_of_name(address) == here
        except TemplateError:
            same_template = False
        if not same_template:
            address = replace(address, template=here.name)
            if has_template_file(address):
                raise BadPolicy(
                    f"`{name}`: its folder names a template file, which provers do not read: write {name}@FILE"
                )
    return replace(name, where=mesh_name(address).partition(":")[2])
