"""Types of settings that say which values make sense. msgspec checks them, in files and (`common.config`) in flags."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

LARGEST = 2**53 - 1
"""Whole numbers up to this are exact in every number format on the way (TOML, JSON, floats)."""

LONGEST = 1e9
"""Seconds: 30 years. Larger ones, infinity among them, overflow in timers; what has no end is `none`."""

Natural = Annotated[int, Meta(ge=0, le=LARGEST)]
"""A count that may be 0."""
Positive = Annotated[int, Meta(ge=1, le=LARGEST)]
"""A count of at least one."""
Port = Annotated[int, Meta(ge=0, le=65535)]
"""A TCP port; 0 takes a free one."""
Megabytes = Annotated[int, Meta(ge=64, le=2**40)]
"""A limit of memory, in MiB: a Lean process needs more than 64 to start."""
Ratio = Annotated[float, Meta(gt=0.0, le=LONGEST)]
"""A finite factor that must be more than 0."""
Growth = Annotated[float, Meta(ge=1.0, le=1000.0)]
"""A factor that does not shrink what it multiplies."""
Temperature = Annotated[float, Meta(ge=0.0, le=100.0)]
"""Of sampling; 0 takes the likeliest."""
Nucleus = Annotated[float, Meta(gt=0.0, le=1.0)]
"""Of sampling: the probability that the tokens sampled from have together; 1 takes all."""
MOST_STOPS = 3
StopTexts = Annotated[tuple[Annotated[str, Meta(min_length=1)], ...], Meta(max_length=MOST_STOPS)]
"""Texts that end a sample: few, because each is looked for behind every token."""
Discount = Annotated[float, Meta(gt=0.0, le=1.0)]
"""Of a value, for each step that it lies ahead."""
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
"""A part of a whole, or a probability."""
Chance = Annotated[float, Meta(gt=0.0, lt=1.0)]
"""A probability strictly between 0 and 1."""
Factor = Annotated[float, Meta(ge=0.0, le=LONGEST)]
"""A finite weight, rate or ratio that may be 0."""
Loss = Annotated[float, Meta(ge=-LONGEST, le=0.0)]
"""A finite value that is no gain."""
Duration = Annotated[float, Meta(ge=0.0, le=LONGEST)]
"""Seconds (or minutes, where it says so) that may be 0."""
Timeout = Annotated[float, Meta(gt=0.0, le=LONGEST)]
"""Seconds that must be more than 0: nothing is done in none."""
