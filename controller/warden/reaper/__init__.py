"""The reaper: it finds clusters by their tags, and ends those that have outlived their lease."""
