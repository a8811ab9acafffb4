"""How nodes are reached over SSH: options, the way through Systems Manager, and what may be dialled at all."""
