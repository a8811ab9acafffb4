"""What is checked before an apply buys anything."""
