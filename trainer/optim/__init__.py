"""What turns gradients into an update of the parameters."""
