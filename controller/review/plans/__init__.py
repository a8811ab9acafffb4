"""A plan and what it comes to: costs, the guard, the evidence, and the store of reviewed plans."""
