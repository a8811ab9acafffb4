"""The instance metadata service, for hosts of every kind."""
