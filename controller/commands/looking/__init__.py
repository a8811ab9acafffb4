"""The commands that show a run and change nothing."""
