"""Translating with a trained model, and scoring the translations."""
