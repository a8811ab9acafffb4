"""Booting a machine, limiting it, and ending it."""
