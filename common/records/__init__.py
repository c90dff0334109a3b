"""The records of a run in SQLite: schema, store and readers."""
