"""Runs language models in Hugging Face's format in this process with transformers. Needs the extra `models`.

One thread owns the model (`sampler`). Each sample is a row, and rows run in groups (`group`). Each turn runs
transformers' `generate` for a few tokens. Between turns, finished rows leave and waiting rows join.
"""
