"""The tool that composes roles: the command line, `up`, `prove`, `verify`, `demo`."""
