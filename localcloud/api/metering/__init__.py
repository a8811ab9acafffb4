"""What the cloud measures while instances run: what they cost, and their CPU credits."""
