"""`centavo logs`: the command, which lines it shows, and how it goes on with new ones."""
