"""What a rank knows of its node, and what the node's users read from it."""
