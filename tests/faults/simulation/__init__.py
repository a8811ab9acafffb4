"""Layer A: faults in the tests' simulated world. A run takes a tenth of a second, so that each point is tried."""
