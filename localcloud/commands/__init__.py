"""The commands `up`, `env`, `status`, `fault` and `down`: one module each."""
