"""The campaign of faults: each is put into a run, and nine invariants are checked. `make faults` runs it."""
