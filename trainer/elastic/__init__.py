"""The ranks that train together, and what they exchange."""
