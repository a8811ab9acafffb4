"""What flavors and the head cost: asked of AWS or listed in a file, and kept as they change."""
