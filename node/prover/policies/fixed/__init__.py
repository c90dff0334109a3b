"""A fixed list of tactics, and what it makes of names and numbers in a goal."""
