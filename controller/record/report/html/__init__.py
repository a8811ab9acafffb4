"""The report as one self-contained page, for a run and for two runs side by side."""
