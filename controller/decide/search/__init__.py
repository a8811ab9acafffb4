"""The best fleet within the limits."""
