"""Training data of all trainers: the grammar that names sources, typed rows, and their readers."""
