"""The commands of `centavo`, by what a person wants: to do something, to look, to review."""
