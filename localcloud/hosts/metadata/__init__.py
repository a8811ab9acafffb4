"""The instance metadata service (IMDS), for hosts of every kind."""
