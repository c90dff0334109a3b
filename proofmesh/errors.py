"""The two kinds of errors that calls raise; they correspond to exit codes 2 and 3 of the commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from common.output.command import Exit, UserError


class ProofmeshError(Exception):
    """A call failed. The text says what is wrong, where, and what to do."""


class BadInput(ProofmeshError, ValueError):
    """The input is wrong or missing: a setting, file, statement, policy or toolchain. Exit code 2 of commands."""


class MachineryFailed(ProofmeshError, RuntimeError):
    """Infrastructure failed: a broker, a server, or Lean did not start. The input may be correct. Exit code 3 of
    commands."""


@contextmanager
def public_errors() -> Iterator[None]:
    """Converts internal errors to `BadInput` and `MachineryFailed`."""
    from common.config import ConfigError

    try:
        yield
    except ConfigError as error:
        raise BadInput(str(error)) from error
    except UserError as error:
        kind = BadInput if error.exit_code == Exit.UNUSABLE else MachineryFailed
        raise kind(str(error)) from error
