"""CPU credits of burstable instances: what each type earns, and what CloudWatch tells of nodes."""
