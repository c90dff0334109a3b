"""One run: its directory, the state that the learner's parts share, and its telemetry."""
