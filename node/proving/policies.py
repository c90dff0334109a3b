"""What proposes tactics, as a person names it: `own:PATH`, `tactics`, `tactics:FILE`, mixtures `own:PATH+tactics`. And
what writes whole proofs: `proofs:FILE`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from common.messages import Method
from common.sampling import PLAIN, Sampling
from node.prover import policy_names
from node.prover.attempt_policy import LIST_SHARE, combined, proofs_of, tactics_policy
from node.prover.drafts import ProofSource
from node.prover.fixed_policy import CLOSING
from node.prover.mixture import Part
from node.prover.parameters import SearchParameters
from node.prover.policy import Policy
from node.prover.policy_names import INFERENCE, OWN, PolicyName, check_method, has_network
from node.prover.proof_list import read_proofs
from node.prover.tactic_list import read_tactics
from node.proving.checkpoints import BadPolicy, weights_at


@dataclass(frozen=True)
class OpenedPolicy:
    """A policy that answers, and the search that goes with it."""

    policy: Policy
    parameters: SearchParameters
    network: bool
    """Whether a network is part of it."""
    label: str
    """What it is, in words."""
    proofs: ProofSource | None = None
    """What writes whole proofs; None: it proposes tactics alone."""


def parse(text: str) -> list[PolicyName]:
    """The parts of a policy of this process. Raises BadPolicy."""
    return policy_names.parse(text, OWN)


def check(
    text: str,
    method: str = Method.MCTS,
    then: str = "",
    note: Callable[[str], None] = lambda text: None,
) -> None:
    """Whether a policy can be opened and goes with a method, as far as that can be seen without loading a network.

    Raises BadPolicy.
    """
    names = parse(text)
    check_method(names, method, then)
    for name in names:
        if name.is_network:
            weights_at(Path(name.where), note)
        elif name.is_proofs:
            read_proofs(Path(name.where))
        elif name.where:
            read_tactics(Path(name.where))


def check_for_mesh(text: str) -> None:
    """Whether an attempt can ask a running mesh for a policy; empty: for the one that its provers have.

    Raises BadPolicy.
    """
    for name in policy_names.parse(text, INFERENCE) if text else []:
        if name.where:
            raise BadPolicy(
                f"`{name}` is a file of this machine, which a mesh does not read; `proofmesh up --policy {name}` "
                "starts one that tries these tactics"
            )


@asynccontextmanager
async def open_policy(
    names: Sequence[PolicyName],
    *,
    threads: int = 1,
    closing: Sequence[str] = CLOSING,
    sampling: Sampling = PLAIN,
    strict: bool = False,
    note: Callable[[str], None] = lambda text: None,
) -> AsyncIterator[OpenedPolicy]:
    """The policy, for as long as the block lasts. `threads`: of a network's forward passes; `closing`: what the fixed
    list tries first; `sampling`: how networks draw tactics; `strict`: see MixturePolicy. Raises BadPolicy."""
    parts: list[Part] = []
    proofs: ProofSource | None = None
    async with AsyncExitStack() as stack:
        for name in names:
            if name.is_network:
                weights = weights_at(Path(name.where), note)
                parts.append(Part(await _network(stack, weights, threads, sampling), has_values=True))
            elif name.is_proofs:
                proofs = proofs_of(name)
            else:
                parts.append(Part(tactics_policy(name, closing), LIST_SHARE))
        network = has_network(names)
        parameters = SearchParameters().beside(network=network)
        policy = combined(parts, strict=strict)
        label = "list of tactics" if not network else "network" if len(parts) == 1 else "network and list"
        if proofs is not None:
            label = f"list of proofs, then {label}" if parts else "list of proofs"
        yield OpenedPolicy(policy, parameters, network, label, proofs)


async def _network(stack: AsyncExitStack, weights: Path, threads: int, sampling: Sampling) -> Policy:
    """Raises BadPolicy."""
    from node.model.checkpoint_folders import CheckpointError
    from node.model.weights import WeightsError
    from node.proving.own_policy import own_policy

    try:
        return await stack.enter_async_context(own_policy(weights, threads=threads, sampling=sampling))
    except (WeightsError, CheckpointError, OSError) as error:
        raise BadPolicy(f"cannot use the network {weights}: {error}") from error
