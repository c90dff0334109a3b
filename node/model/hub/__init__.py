"""Networks of ours in Hugging Face's format, and back."""
