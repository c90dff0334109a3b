"""Errors of the agent."""

from __future__ import annotations

from common.output.command import UserError


class AgentError(UserError, RuntimeError):
    """The agent cannot run with these settings. The text says why and what to do. Exit code 2."""


class Interrupted(RuntimeError):
    """The user pressed Ctrl-C. All finished work is recorded."""
