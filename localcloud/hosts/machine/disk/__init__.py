"""The disk of a machine: a volume of its own over the image, and what is written there before the first boot."""
