"""Configuration of a lean-proxy."""

from __future__ import annotations

from dataclasses import dataclass

from node.lean.settings import LeanProcessSettings


@dataclass
class LeanProxySettings(LeanProcessSettings):
    """A lean-proxy runs tactics on its Lean processes. With a key it also verifies proofs in fresh ones."""

    key: str = ""
    """File of the private key (Ed25519, PEM) that signs this lean-proxy's verdicts on proofs; it is made if there is
    none. Askers count only verdicts of keys that they know ([bus] verifiers), so give a key only to machines that you
    trust with the truth. Empty: it verifies no proofs; but `proofmesh up` gives one to the lean-proxies beside a
    broker, a learner or a served policy."""
