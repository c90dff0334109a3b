"""Tools of the project: set-up, dataset builders, benchmarks, studies, generated documentation, recipes."""
