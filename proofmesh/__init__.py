"""proofmesh for notebooks and scripts: the commands as functions that return results. See docs/python.md.

    import proofmesh

    answer = proofmesh.prove("theorem t (p q : Prop) : p ∧ q → q ∧ p", seconds=5)
    print(answer.outcome, answer.proof)

    with proofmesh.Session() as session:              # calls that share Lean's workers
        session.prove("theorem t : 2 + 2 = 4")
        session.verify(text="theorem t : 2 + 2 = 4 := rfl").accepted

Keyword arguments are the flags of the command with the same name, without hyphens. Importing this package is fast: each
part is loaded at its first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from proofmesh import rewards, train
    from proofmesh.errors import BadInput, MachineryFailed, ProofmeshError
    from proofmesh.results import Answer, FilledFile, FilledGap, Fills, Traces, Verdict, Verification
    from proofmesh.session import Session, fill, prove, prove_many, trace, verify

__all__ = [
    "Answer",
    "BadInput",
    "FilledFile",
    "FilledGap",
    "Fills",
    "MachineryFailed",
    "ProofmeshError",
    "Session",
    "Traces",
    "Verdict",
    "Verification",
    "__version__",
    "fill",
    "prove",
    "prove_many",
    "rewards",
    "trace",
    "train",
    "verify",
]

_MODULES = {
    "errors": ("BadInput", "MachineryFailed", "ProofmeshError"),
    "results": ("Answer", "FilledFile", "FilledGap", "Fills", "Traces", "Verdict", "Verification"),
    "session": ("Session", "fill", "prove", "prove_many", "trace", "verify"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from common.machine import own_version

        return own_version()
    if name in ("rewards", "train"):
        return importlib.import_module(f"proofmesh.{name}")
    if name in _HOME:
        return getattr(importlib.import_module(f"proofmesh.{_HOME[name]}"), name)
    raise AttributeError(f"module 'proofmesh' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
