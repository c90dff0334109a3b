"""Training stages before reinforcement learning: pretraining on text, midtraining on Lean, fine-tuning on transitions.

`__main__` is `proofmesh train`, `tokenizer_cli` is `proofmesh tokenizer`. From the data (`node.data`) to the step:
`documents` (tokens), `loader` (packed, deterministic, resumable), `objective` (losses), `trainer` (one rank), `stage`
(a run: checkpoints, metrics), `launch` (ranks), `recipe` (a chain of stages). The learner's trainer shares the step.
"""
