"""Set-up of a working environment in `.venv`, with the standard library alone: `python -m scripts.setup`."""
