"""The commands `up`, `status` and `down`: one module each."""
