"""The one place where classes of moto are changed."""
