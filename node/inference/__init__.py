"""Inference: the generation engine (continuous batching; samples of a state share its prompt) and its service."""
