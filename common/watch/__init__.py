"""What watchers of a run see beside its records: logs, spans of attempts, answers of nodes about themselves."""
