"""Compiles long texts above a gap to modules, once, so that workers import them instead of elaborating them."""
