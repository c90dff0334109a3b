"""Training stages before reinforcement learning: pretraining on text, midtraining on Lean, fine-tuning on transitions.

`cli` is `proofmesh train`, `tokenizer_cli` is `proofmesh tokenizer`. From the data to the step: `sources` (rows from
files, the hub, the bank), `rows` (their formats), `augment`, `documents` (tokens), `packing`, `loader` (deterministic,
resumable), `objective` (losses), `trainer` (one rank), `stage` (a run: checkpoints, metrics), `launch` (ranks),
`recipe` (a chain of stages). The learner's trainer shares the training step.
"""
