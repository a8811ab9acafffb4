"""One rank's training, from its preparation to its results."""
