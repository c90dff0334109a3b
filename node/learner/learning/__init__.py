"""When to train on what, and when new weights are published."""
