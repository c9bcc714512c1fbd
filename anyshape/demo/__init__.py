"""Main job: a small language model trained on paragraphs of their natural lengths, from one trace."""
