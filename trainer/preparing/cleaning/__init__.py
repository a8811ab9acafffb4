"""Normalising sentence pairs and filtering them, one chunk at a time and in any process."""
