"""A node's life: connection, registry, health, logs, metrics, processes."""
