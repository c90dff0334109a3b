"""Errors that stop a learner."""

from __future__ import annotations


class LearnerError(RuntimeError):
    """Base of everything that stops a learner."""


class TrainerFailed(LearnerError):
    """The trainer group crashed, hung or reported an error."""

    def __init__(self, text: str, errno: int = 0) -> None:
        """`errno`: the file system's error number if a file could not be written. A restart cannot help then."""
        super().__init__(text)
        self.errno = errno


class DataError(LearnerError):
    """The banks or the checkpoint to start from are missing or damaged, or lack data that the plan needs. A restart
    cannot help: the user has to change the settings or the files."""
