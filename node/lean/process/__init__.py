"""Starts child processes with limits: confined, watched, killed with their process group."""
