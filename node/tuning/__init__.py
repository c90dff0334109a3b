"""Trainers of Hugging Face models: supervised fine-tuning and GRPO."""
