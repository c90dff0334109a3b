"""Rewards from Lean for trainers: `LeanReward` in TRL's form, and a taskset for `verifiers`.

    from proofmesh.rewards import LeanReward

    reward = LeanReward(kind="proofs", where="http://localhost:8000")    # proofmesh serve; "here" for this process
    reward(completions=["..."], theorem=["theorem t : 2 + 2 = 4"])       # [1.0]; None if Lean did not answer
    trl.GRPOTrainer(model, reward_funcs=[reward], ...)

`LeanTaskset` is imported from `proofmesh_verifiers`, which needs the package `verifiers`.

docs/rewards.md explains the rewards, docs/cheats.md which cheats get none.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from node.rewards.lean_reward import LeanReward, RewardValues
    from proofmesh_verifiers import LeanTaskset

__all__ = ["LeanReward", "LeanTaskset", "RewardValues"]

_HOME = {"LeanTaskset": "proofmesh_verifiers"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'proofmesh.rewards' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME.get(name, "node.rewards.lean_reward")), name)


def __dir__() -> list[str]:
    return sorted(__all__)
