"""The broker: nats-server, found or installed, configured, launched; the streams of a run."""
