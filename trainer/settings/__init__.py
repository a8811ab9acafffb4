"""training.yml as frozen, validated values."""
