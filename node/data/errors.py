"""Errors of training."""

from __future__ import annotations

from common.output.command import Exit, UserError


class TrainingError(UserError, RuntimeError):
    """Training cannot continue. The message says why and what to do. Exit code 1."""

    exit_code = Exit.FAILED


class InputError(TrainingError):
    """Data, files or settings are wrong, and the user can correct them. Exit code 2."""

    exit_code = Exit.UNUSABLE


class NotFinite(TrainingError):
    """The loss or the gradient is not finite; the step was not taken."""
