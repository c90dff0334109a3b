"""Inference: the generation engine (continuous batching, samples of a state share its prefix) and its service."""
