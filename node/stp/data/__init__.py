"""The data of self-play: statements and their keys, lemmas, the sources of data, and the initial data of a run."""
