"""The launcher on the head node."""
