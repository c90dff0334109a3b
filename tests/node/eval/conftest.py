"""Matplotlib is imported before any test runs: the first time on a machine it starts a program that finds the fonts,
and unit tests start none."""

import matplotlib.font_manager  # noqa: F401
