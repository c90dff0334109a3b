"""Errors of training."""

from __future__ import annotations


class TrainingError(RuntimeError):
    """Training cannot continue. The message says why and what to do. Exit code 1."""

    code = 1


class InputError(TrainingError):
    """Data, files or settings are wrong, and the user can correct them. Exit code 2."""

    code = 2


class NotFinite(TrainingError):
    """The loss or the gradient is not finite; the step was not taken."""
