"""What a request may do: AWS's policies, evaluated for the role or the user whose key has signed it."""
