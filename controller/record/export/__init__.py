"""What other programs read of a run."""
