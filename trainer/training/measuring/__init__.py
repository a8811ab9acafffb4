"""Measuring the model on a split of the corpus, by all ranks together."""
