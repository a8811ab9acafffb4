"""What things cost: instances, and what stands beside them."""
