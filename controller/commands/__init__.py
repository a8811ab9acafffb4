"""The commands of `centavo`, one file each, and what several of them share."""
