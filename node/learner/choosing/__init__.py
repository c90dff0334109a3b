"""What to try next: banks, the matchmaker, the curriculum."""
