"""What the facts of nodes say of their speed: windows of steps, a node's present level, and its CPU credits."""
