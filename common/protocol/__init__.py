"""What is said on the broker: subjects, messages, and the table of all channels."""
