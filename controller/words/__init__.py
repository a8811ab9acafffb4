"""How things are put into words for people: the only place that does it, for every log, view, page and table."""
