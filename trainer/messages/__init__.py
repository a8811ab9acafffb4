"""How the launcher and the workers talk."""
