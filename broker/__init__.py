"""The broker: finds, configures and runs nats-server, and creates the streams of a run."""
