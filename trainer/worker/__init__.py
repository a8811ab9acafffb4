"""The processes on a node that become a rank of a training."""
