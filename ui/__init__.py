"""The web monitor: reads telemetry and serves one page. The mesh does not depend on it."""
