"""What a run remembers, and what it was set up with."""
