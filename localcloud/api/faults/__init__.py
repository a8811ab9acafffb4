"""What goes wrong in this cloud: its limits, and the faults that a person or a test injects."""
