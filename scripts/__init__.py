"""Tools around the project: set-up, dataset builders, benchmarks, deployment recipes."""
