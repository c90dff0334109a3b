"""Trains small models in Hugging Face format."""
