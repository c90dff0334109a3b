"""Errors of the agent."""

from __future__ import annotations


class AgentError(RuntimeError):
    """The agent cannot run with these settings. The text says why and what to do. Exit code 2."""


class Interrupted(RuntimeError):
    """The user pressed Ctrl-C. All finished work is recorded."""
