"""Real traces of spot capacity, played against the policies of `controller/decide/deadlines/`."""
