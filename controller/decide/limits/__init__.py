"""Which fleets may be had."""
