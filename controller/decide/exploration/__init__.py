"""Whether measuring another flavor is worth its cost."""
