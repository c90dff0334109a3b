"""Training in child processes: the group of ranks, their messages, their steps."""
