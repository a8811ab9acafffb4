"""How far a training is, and what it notes about its steps."""
