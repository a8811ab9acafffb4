"""What a plan would change and what it costs, for a person to approve: review, guard, reviewed plans, proposals."""
