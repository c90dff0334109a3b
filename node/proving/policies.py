"""Opens the policies that a user names for one process: `own:PATH`, `openai:URL#MODEL`, `hf:ID_OR_FOLDER`,
`tactics:FILE` and mixtures, and sources of whole proofs: `proofs:FILE`, models with a template for whole proofs, and
networks that were trained on them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from common.protocol.attempts import Method
from common.sampling import PLAIN, Sampling
from node.llm.settings import ModelSettings
from node.llm.templates import Template
from node.prover.methods.turns import ByTurns
from node.prover.policies import names as policy_names
from node.prover.policies.attempt_policy import combined, part_of, proofs_of, tactics_policy
from node.prover.policies.fixed.policy import CLOSING
from node.prover.policies.fixed.tactic_list import read_tactics
from node.prover.policies.guided import Guide, with_guide
from node.prover.policies.mixture import Part
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
    has_network,
    writers_of,
)
from node.prover.policies.policy import Policy
from node.prover.policies.proofs.drafts import ProofSource
from node.prover.policies.proofs.proof_list import read_proofs
from node.prover.policies.retrieved import with_retrieved
from node.prover.search.parameters import SearchParameters
from node.proving.checkpoints import BadPolicy, weights_at
from node.retrieval.errors import RetrievalError

if TYPE_CHECKING:
    from common.lean import Theorem
    from node.proving.own_policy import OwnNetwork
    from node.retrieval.source import PremiseSource

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


@dataclass(frozen=True)
class OpenedPolicy:
    """An open policy, and the search parameters for it."""

    policy: Policy | ByTurns
    parameters: SearchParameters
    network: bool
    """Whether a network is part of it."""
    label: str
    """Its description in words."""
    proofs: ProofSource | None = None
    """The source of whole proofs; None: there is none. A network fails at the first request if it cannot write them."""
    trouble: Callable[[], str] = lambda: ""
    """The current problem with its servers; empty: none."""
    premises: PremiseSource | None = None
    """The index of premises; None: none."""
    guide: Guide | None = None
    """The progress model; None: none."""

    def policy_for(self, theorem: Theorem) -> Policy | ByTurns:
        """The policy for one theorem, with its premises and with predicted steps."""
        policy = with_retrieved(self.policy, theorem, self.premises, has_values=self.network)
        return with_guide(policy, self.guide)


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
            from node.proving.models import check_found

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
    from node.llm.served import has_template_file
    from node.prover.policies.models.mesh_models import address_of, template_of

    # Template files are on the provers' machines, so the provers check them.
    if not any(has_template_file(address_of(name)) for name in models):
        check_plays(names, method, then, correct, template_of)


@asynccontextmanager
async def open_policy(
    names: Sequence[PolicyName],
    *,
    threads: int = 1,
    closing: Sequence[str] = CLOSING,
    sampling: Sampling = PLAIN,
    models: ModelSettings | None = None,
    strict: bool = False,
    premises: PremiseSource | None = None,
    guide: Guide | None = None,
    note: Callable[[str], None] = lambda text: None,
) -> AsyncIterator[OpenedPolicy]:
    """Open a policy for the block. `threads`: number of threads for forward passes; `closing`: first tactics of the
    fixed list; `sampling`: how networks sample tactics; `models`: settings of language models; `strict`: see
    MixturePolicy; `premises`: index of premises; `guide`: progress model.

    Raises BadPolicy, and ProvingFailed if no server replies."""
    parts: list[Part] = []
    proofs: ProofSource | None = None
    troubles: list[Callable[[], str]] = []
    async with AsyncExitStack() as stack:
        if premises is not None:
            await _open_premises(premises)
        if guide is not None:
            await guide.open()
        for name in names:
            if name.is_network:
                from node.proving.own_policy import OwnPolicy, OwnProofs

                network = await _network(stack, weights_at(Path(name.where), note), threads)
                parts.append(part_of(name, OwnPolicy(network, sampling)))
                if [name] == writers_of(names, writes_proofs):
                    proofs = OwnProofs(network, sampling)
            elif name.is_proofs:
                proofs = proofs_of(name)
            elif name.is_model and writes_proofs(name):
                from node.proving.models import model_proofs

                writing = model_proofs(name, settings=models, sampling=sampling, note=note)
                proofs, trouble = await stack.enter_async_context(writing)
                troubles.append(trouble)
            elif name.is_model:
                from node.proving.models import address_of, model_policy

                opening = model_policy(name, settings=models, sampling=sampling, note=note)
                policy, trouble = await stack.enter_async_context(opening)
                parts.append(part_of(name, policy, address_of(name).identity))
                troubles.append(trouble)
            else:
                parts.append(part_of(name, tactics_policy(name, closing)))
        learned = has_network(names)
        parameters = SearchParameters().beside(network=learned)
        yield OpenedPolicy(
            combined(parts, strict=strict),
            parameters,
            learned,
            label_of(names),
            proofs,
            lambda: "; ".join(filter(None, (trouble() for trouble in troubles))),
            premises,
            guide,
        )


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
        return writes_proofs(name, template)

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


def writes_proofs(name: PolicyName, template: Callable[[PolicyName], Template] | None = None) -> bool:
    """Whether a part of a policy writes only whole proofs. False for networks, which may do both. Raises BadPolicy."""
    return (template or _template)(name).mode == "whole-proof" if name.is_model else name.is_proofs


def _check_writing(name: PolicyName) -> None:
    """Check that a network was trained on whole proofs. Raises BadPolicy."""
    from node.model.trained import why_no_proofs

    if problem := why_no_proofs(weights_at(Path(name.where), lambda text: None)):
        raise BadPolicy(f"`{name}`: {problem}")


def _template(name: PolicyName) -> Template:
    """The template of a language model. Raises BadPolicy."""
    from node.proving.models import address_of, template_of

    return template_of(address_of(name))


def label_of(names: Iterable[PolicyName]) -> str:
    """A policy in words."""
    kinds = list(dict.fromkeys(KIND_WORDS[name.kind] for name in names))
    if kinds == [KIND_WORDS[TACTICS]]:
        return kinds[0]
    return " and ".join("list" if kind == KIND_WORDS[TACTICS] else kind for kind in sorted(kinds, key=_ORDER.index))


async def _open_premises(source: PremiseSource) -> None:
    """Raises BadPolicy."""
    try:
        await source.open()
    except RetrievalError as error:
        raise BadPolicy(f"premises: {error}") from error
    except ModuleNotFoundError as error:
        raise BadPolicy(f"premises: needs {error.name}: pip install 'proofmesh[trainers]'") from error


async def _network(stack: AsyncExitStack, weights: Path, threads: int) -> OwnNetwork:
    """Raises BadPolicy."""
    from node.model.checkpoint_folders import CheckpointError
    from node.model.weights import WeightsError
    from node.proving.own_policy import own_network

    try:
        return await stack.enter_async_context(own_network(weights, threads=threads))
    except (WeightsError, CheckpointError, OSError) as error:
        raise BadPolicy(f"cannot use the network {weights}: {error}") from error
