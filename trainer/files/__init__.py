"""How the trainer writes files."""
