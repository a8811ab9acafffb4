"""What is seen of a training: instances, the facts of ranks, and how far they are."""
