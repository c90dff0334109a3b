"""Types of settings and of parts of messages with their valid ranges. msgspec checks them: in files and, by
`common.config`, in flags; and when a message is decoded."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

LARGEST = 2**53 - 1
"""Integers up to this are exact in all number formats that are used (TOML, JSON, floats)."""

LONGEST = 1e9
"""Seconds: 30 years. Larger values and infinity overflow in timers. Settings without a limit are `none`."""

Natural = Annotated[int, Meta(ge=0, le=LARGEST)]
"""A count that may be 0."""
Positive = Annotated[int, Meta(ge=1, le=LARGEST)]
"""A count of at least one."""
Port = Annotated[int, Meta(ge=0, le=65535)]
"""A TCP port; 0 takes a free one."""
Megabytes = Annotated[int, Meta(ge=64, le=2**40)]
"""A memory limit in MiB. A Lean process needs more than 64 to start."""
Ratio = Annotated[float, Meta(gt=0.0, le=LONGEST)]
"""A finite factor that must be more than 0."""
Growth = Annotated[float, Meta(ge=1.0, le=1000.0)]
"""A factor that does not shrink what it multiplies."""
Temperature = Annotated[float, Meta(ge=0.0, le=100.0)]
"""Sampling temperature; 0 takes the most probable token."""
Nucleus = Annotated[float, Meta(gt=0.0, le=1.0)]
"""Top-p of nucleus sampling: the total probability of the tokens that are sampled from; 1 takes all tokens."""
MOST_STOPS = 3
StopTexts = Annotated[tuple[Annotated[str, Meta(min_length=1)], ...], Meta(max_length=MOST_STOPS)]
"""Texts that end a sample. Only a few, because each is searched for after every token."""
Discount = Annotated[float, Meta(gt=0.0, le=1.0)]
"""Discount of a value for each step until it is reached."""
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
"""A part of a whole, or a probability."""
Chance = Annotated[float, Meta(gt=0.0, lt=1.0)]
"""A probability strictly between 0 and 1."""
Factor = Annotated[float, Meta(ge=0.0, le=LONGEST)]
"""A finite weight, rate or ratio that may be 0."""
Loss = Annotated[float, Meta(ge=-LONGEST, le=0.0)]
"""A finite value of at most 0."""
Duration = Annotated[float, Meta(ge=0.0, le=LONGEST)]
"""Seconds (or minutes, where the field says so) that may be 0."""
Timeout = Annotated[float, Meta(gt=0.0, le=LONGEST)]
"""Seconds that must be more than 0."""

# ----------------------------------------------------------------------------------------------------------------------
# Bounds of what a message lists. Its bytes bound its texts, but half a million empty entries fit into these bytes, too.

MOST_CANDIDATES = 256
"""Most tactics of one request to Lean, several times what a search with all its sources proposes at a state. Their
outcomes must fit into one message."""

MOST_SAMPLES = 4096
"""Most samples of one request to a model; far more than fit into a reply."""

MOST_LISTED = 4096
"""Most entries of any other list: goals, steps, axioms, packages. No proof that was ever read here has a tenth."""

MOST_REPORTED = 1024
"""Most capacities, counters and problems that a node reports; ours report fewer than fifty."""

LONGEST_NAME = 1024
"""Most characters of a name: of a node, a theorem, a model, a key."""

Name = Annotated[str, Meta(max_length=LONGEST_NAME)]
"""A name."""
Samples = Annotated[int, Meta(ge=1, le=MOST_SAMPLES)]
"""Samples of one request."""
Listed = Annotated[int, Meta(ge=0, le=MOST_LISTED)]
"""How many entries a list may have."""
