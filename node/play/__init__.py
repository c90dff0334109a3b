"""Plays attempts in this process or on a running mesh; whoever asks for them does not see the difference."""
