"""What a plan would change and what it costs, for a person to approve: review, guard, sealed plans, proposals."""
