"""Models in Hugging Face's format that are made here."""
