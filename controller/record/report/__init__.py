"""The report of a run: JSON for machines, a page and tables for people."""
