"""What can go wrong in a learner, in words for the person who reads them."""

from __future__ import annotations


class LearnerError(RuntimeError):
    """Base of everything that stops a learner."""


class RunDirectoryError(LearnerError):
    """The run directory cannot be used: held by another process, full, read-only, or of another schema."""


class TrainerFailed(LearnerError):
    """The trainer group died, hung or reported an error; the text says which."""

    def __init__(self, text: str, errno: int = 0) -> None:
        """`errno`: the file system's error number when a file could not be written; starting again cannot help."""
        super().__init__(text)
        self.errno = errno


class DataError(LearnerError):
    """The bank's files cannot be used as they are."""
