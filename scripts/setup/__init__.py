"""Sets up the environment `.venv`, using only the standard library: `python -m scripts.setup`."""
