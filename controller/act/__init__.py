"""How a decision becomes a fleet: the capacity file, the guard on the plan, and the state machine of a move."""
