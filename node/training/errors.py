"""What can go wrong in training, for the person who reads it."""

from __future__ import annotations


class TrainingError(RuntimeError):
    """Training cannot go on; the text says why and what to do. Exit code 1."""

    code = 1


class InputError(TrainingError):
    """Data, files or settings that the person who typed the command can put right. Exit code 2."""

    code = 2


class NotFinite(TrainingError):
    """The loss or the gradient is not a number any more: the step was not taken."""
