"""What this process serves within a machine's namespace: metadata, a name server, the way to the API."""
