"""How a review is shown: as Markdown in a pull request, as tables on a terminal."""
