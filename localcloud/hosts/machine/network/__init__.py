"""The network of machines: blackhole routes first, then bridges, namespaces and cables."""
