"""Attempts on their way: dispatched, collected, evaluated."""
