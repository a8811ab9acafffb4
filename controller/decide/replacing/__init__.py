"""Which nodes take the places of those that EC2 takes back: from the spot pools that are best by price and losses."""
