"""What EC2 does and moto does not: the states of instances, their addresses, launches, quotas and placement groups."""
