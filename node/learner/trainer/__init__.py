"""Training in child processes: the group of ranks, its messages and its training steps."""
