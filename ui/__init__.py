"""The web monitor: reads telemetry, serves one page, takes no part in the work; nothing is lost when it is down."""
