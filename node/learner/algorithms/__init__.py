"""Learning algorithms: each decides what to attempt, how, and what to learn from it. Each is a file, and a row here.

`docs/training.md` (Write an algorithm) says how to add one.
"""

ALGORITHMS = {
    "alphaproof": "node.learner.algorithms.alphaproof:AlphaProof",
    "expert-iteration": "node.learner.algorithms.expert_iteration:ExpertIteration",
    "hard-proofs": "node.learner.algorithms.hard_proofs:HardProofs",
}
"""By the name in `[learner] algorithm`, the module and its class, which is imported when a learner starts."""
