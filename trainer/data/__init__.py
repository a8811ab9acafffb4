"""The way from parallel text to one rank's batches."""
