"""One run at work: its directory, what its parts share, and what it tells the monitor."""
